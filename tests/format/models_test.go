package format_test

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// The declarations of the stored tables. They never change: a program that was written for a release keeps its own.

type address struct {
	Street string            `dynamodbav:"street"`
	Since  time.Time         `dynamodbav:"since"`
	Codes  map[string]int    `dynamodbav:"codes,omitempty"`
	Notes  []string          `dynamodbav:"notes,omitempty"`
	Extra  map[string]string `dynamodbav:"extra"`
}

// Person has every feature, role and kind of attribute.
type Person struct {
	_ entity.Key           `name:"Person" pk:"$#{tenant}" sk:"$#{number:06}"`
	_ entity.GSI           `name:"byTeam" index:"gsi1" pk:"$#{tenant}#{team|lower}" sk:"$#{joined}"`
	_ entity.GSI           `name:"active" index:"gsi2" pk:"$#{tenant}" sk:"$#{name}" when:"state=active|new" shards:"3"`
	_ entity.GSI           `name:"gone" index:"gsi3" pk:"$#{tenant}" sk:"$#{deletedAt}"`
	_ versioned.Retain     `ttl:"3650d"`
	_ lifecycle.SoftDelete `ttl:"3650d"`
	_ unique.Constraint    `name:"email" fields:"tenant,{email|lower}"`

	Tenant  string             `dynamodbav:"tenant"`
	Number  int                `dynamodbav:"number"`
	Name    string             `dynamodbav:"name" entity:"required"`
	Email   string             `dynamodbav:"email,omitempty"`
	Team    string             `dynamodbav:"team,omitempty" entity:"default=core"`
	State   string             `dynamodbav:"state" entity:"default=new"`
	Token   string             `dynamodbav:"token,omitempty" entity:"secret"`
	Origin  string             `dynamodbav:"origin,omitempty" entity:"immutable"`
	First   string             `dynamodbav:"first,omitempty" entity:"set_once"`
	Joined  time.Time          `dynamodbav:"joined" entity:"time=s"`
	Seen    time.Time          `dynamodbav:"seen,omitempty" entity:"time=unixms"`
	Tags    []string           `dynamodbav:"tags,omitempty,stringset"`
	Ranks   []int              `dynamodbav:"ranks,omitempty,numberset"`
	Photo   []byte             `dynamodbav:"photo,omitempty"`
	Score   float64            `dynamodbav:"score"`
	Big     uint64             `dynamodbav:"big"`
	On      *bool              `dynamodbav:"on"`
	Home    address            `dynamodbav:"home"`
	Places  map[string]address `dynamodbav:"places,omitempty"`
	By      string             `dynamodbav:"by" entity:"context=actor"`
	Version int64              `dynamodbav:"version" entity:"version"`
	Created time.Time          `dynamodbav:"created" entity:"created_at"`
	Updated time.Time          `dynamodbav:"updated" entity:"updated_at,time=us"`
	Deleted time.Time          `dynamodbav:"deletedAt,omitempty" entity:"deleted_at,time=ms"`
}

// Reading is a series with a current item, Pulse one without, over several partitions.
type Reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Level  *int      `dynamodbav:"level,omitempty" entity:"append"`
	Owner  string    `dynamodbav:"owner,omitempty"`
}

type Pulse struct {
	_ entity.Key        `name:"Pulse" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"seq" current:"none" shards:"2"`

	Device string `dynamodbav:"device"`
	Seq    int64  `dynamodbav:"seq"`
	Beats  int    `dynamodbav:"beats" entity:"append"`
}

// Note is in the table under keys of its own, and expires.
type Note struct {
	_ entity.Key        `name:"Note" pk:"pk=NOTE#{tenant}" sk:"sk=N#{id}" kind:"type=note"`
	_ lifecycle.TTL     `attr:"_ttl" after:"3650d"`
	_ unique.Constraint `name:"title" fields:"tenant,title"`

	Tenant string `dynamodbav:"tenant"`
	ID     string `dynamodbav:"id"`
	Title  string `dynamodbav:"title"`
}
