package main

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Ticket is a question of a customer. Each state is kept for a year, a deleted ticket for 30 days.
type Ticket struct {
	_ entity.Key           `name:"Ticket" pk:"$#{tenantId}#{ticketId}" sk:"$"`
	_ entity.GSI           `name:"queue" index:"gsi1" pk:"$#{tenantId}" sk:"$#{dueAt}#{ticketId}" when:"status=open|assigned" shards:"4"`
	_ versioned.Retain     `ttl:"365d"`
	_ lifecycle.SoftDelete `ttl:"30d"`

	TenantID  string    `dynamodbav:"tenantId"`
	TicketID  string    `dynamodbav:"ticketId" entity:"id=ulid"`
	Subject   string    `dynamodbav:"subject" entity:"required"`
	Status    string    `dynamodbav:"status" entity:"default=open"`
	Assignee  string    `dynamodbav:"assignee,omitempty"`
	DueAt     time.Time `dynamodbav:"dueAt" entity:"time=s"`
	Note      string    `dynamodbav:"note,omitempty"` // why it was deleted or restored
	By        string    `dynamodbav:"by" entity:"context=actor,required"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// Reminder is about a ticket that is due. A ticket has one until it is closed or the reminder was sent.
type Reminder struct {
	_ entity.Key `name:"Reminder" pk:"$#{ticketId}" sk:"$"`

	TicketID string    `dynamodbav:"ticketId"`
	At       time.Time `dynamodbav:"at" entity:"time=s"`
}

// Agent answers tickets. No two agents of a tenant have the same address, whatever its case.
type Agent struct {
	_ entity.Key        `name:"Agent" pk:"$#{tenantId}" sk:"$#{agentId}"`
	_ unique.Constraint `name:"email" fields:"tenantId,{email|lower}"`

	TenantID string `dynamodbav:"tenantId"`
	AgentID  string `dynamodbav:"agentId"`
	Email    string `dynamodbav:"email" entity:"required"`
}
