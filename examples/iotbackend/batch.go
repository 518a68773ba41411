package main

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// ProcessedBatch is an item of the table processed_batches: the proof that a batch has been stored. It is written in one
// transaction with the reading.
type ProcessedBatch struct {
	_ entity.Key    `name:"ProcessedBatch" table:"processed_batches" pk:"batch_id"`
	_ lifecycle.TTL `attr:"expiration_time" after:"30d"`

	BatchID        BatchID   `dynamodbav:"batch_id" validate:"batch_id"`
	HardwareID     MAC       `dynamodbav:"hardware_id" validate:"hardware_id"`
	ReceivedAt     time.Time `dynamodbav:"received_at" entity:"created_at,time=s"`
	ExpirationTime int64     `dynamodbav:"expiration_time,omitempty" validate:"seconds"` // the library's
}

// BatchID is the name that a device gives a batch. It means nothing to the service. Any printable ASCII is valid: the
// schema's words allow letters, digits, underscores and hyphens only, but all of its examples have colons.
type BatchID string
