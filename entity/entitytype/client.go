package entitytype

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Client is the part of *dynamodb.Client that this module calls. It turns off the client's own retries.
type Client interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
}

// ScanProgress is the progress of a scan. It has no share of the whole, because DynamoDB does not say how much is left.
type ScanProgress struct {
	Evaluated    int     // items read and charged, of any entity
	Found        int     // items of the scanned entity that passed the filter
	Pages        int     // answers of DynamoDB
	Segments     int     // segments read in parallel; 1 without entity.Segments
	SegmentsDone int     // segments read to their end
	ReadUnits    float64 // read capacity units consumed
}

// RewriteProgress is the progress of a rewrite, of all its runs.
type RewriteProgress struct {
	Evaluated    int     // items read and charged, of any entity
	Items        int     // of them items of the entity
	Rewritten    int     // items written, or with a dry run to be written
	Skipped      int     // items that cannot be rewritten
	Segments     int     // parts of the table
	SegmentsDone int     // parts rewritten to their end
	ReadUnits    float64 // read capacity units consumed
	WriteUnits   float64 // write capacity units consumed
}

// Page is a part of the result of a query.
type Page[T any] struct {
	Items []T    `json:"items"`          // can be empty on the last page
	Next  string `json:"next,omitempty"` // cursor of the next page, "" after the last one
	Prev  string `json:"prev,omitempty"` // cursor of the previous page, "" before the first one and where there is no way back
}
