package stream

import (
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// RecordError is a record that cannot be used, whatever the store: its JSON is not that of a DynamoDB stream, or
// something is missing that every record has. Problem never quotes a value.
type RecordError struct {
	EventID        string // "" when it could not be read
	SequenceNumber string // "" when it could not be read
	Problem        string
}

func (e *RecordError) Error() string {
	text := "the stream record"
	if e.EventID != "" {
		text += " " + e.EventID
	}
	return text + " cannot be used: " + e.Problem
}

// ImageError is a record that lacks an image, because the view of the stream leaves it out: without the image the kind of
// the change is unknown, or there is no item to give. The package documentation has the views that each kind needs.
type ImageError struct {
	Entity    string
	Operation streamtypes.OperationType
	View      streamtypes.StreamViewType // "" when the record does not say
	Needs     string                     // NewImage, OldImage, or "NewImage or OldImage"
}

func (e *ImageError) Error() string {
	view := string(e.View)
	if view == "" {
		view = "of an unknown view"
	}
	return "the " + string(e.Operation) + " record of " + e.Entity + " (" + view + ") has no " + e.Needs + ", which is needed here"
}
