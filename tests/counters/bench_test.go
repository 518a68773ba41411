// Package counters_test is about changes beside whole values, changes at paths, and the item before a write.
package counters_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// page is counted, in one request.
type page struct {
	_       entity.Key    `name:"Page" pk:"$#{id}" sk:"$"`
	_       lifecycle.TTL `attr:"ends" after:"1h"`
	ID      string        `dynamodbav:"id"`
	Title   string        `dynamodbav:"title,omitempty"`
	Hits    int           `dynamodbav:"hits"`
	Log     []string      `dynamodbav:"log,omitempty"`
	First   string        `dynamodbav:"first,omitempty"`
	Tags    []string      `dynamodbav:"tags,omitempty,stringset"`
	By      map[string]int
	Devices map[string]device `dynamodbav:"devices,omitempty"`
	Rows    []device          `dynamodbav:"rows,omitempty"`
	Ends    time.Time         `dynamodbav:"ends,omitempty" entity:"time=unix"`
	Made    time.Time         `dynamodbav:"made" entity:"created_at"`
}

type device struct {
	Name  string         `dynamodbav:"name,omitempty"`
	Ports []int          `dynamodbav:"ports"`
	Marks []string       `dynamodbav:"marks,omitempty,stringset"`
	Sums  map[string]int `dynamodbav:"sums"`
}

// rank is an entity whose every write is planned from the stored item.
type rank struct {
	_       entity.Key        `name:"Rank" pk:"$#{id}" sk:"$"`
	_       entity.GSI        `name:"byScore" index:"gsi1" pk:"$#{board}" sk:"$#{score}"`
	_       versioned.Retain  `ttl:"1h"`
	_       unique.Constraint `name:"nick" fields:"nick"`
	ID      string            `dynamodbav:"id"`
	Board   string            `dynamodbav:"board,omitempty"`
	Nick    string            `dynamodbav:"nick,omitempty"`
	Score   int               `dynamodbav:"score,omitempty"`
	Log     []string          `dynamodbav:"log,omitempty"`
	Version int64             `dynamodbav:"version" entity:"version"`
}

type av = types.AttributeValue

func str(v string) av { return &types.AttributeValueMemberS{Value: v} }
func num(v string) av { return &types.AttributeValueMemberN{Value: v} }

// bench is a table for T, with the requests that its store sends.
type bench[T any] struct {
	*entity.Store[T]
	db    *entity.DB
	wire  *faults.Transport
	raw   *dynamodb.Client
	table string
	now   time.Time
}

func open[T any](t *testing.T) *bench[T] {
	t.Helper()
	t.Parallel()
	b := &bench[T]{now: time.Date(2126, 3, 1, 0, 0, 0, 0, time.UTC)} // the database itself removes what has expired
	b.raw, b.table = localdb.Test(t)
	b.wire = faults.New(b.raw.Options().HTTPClient)
	client := dynamodb.New(b.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = b.wire })
	b.db = entity.Must(entity.Open(client, entity.Config{Table: b.table, Clock: func() time.Time { return b.now }}))
	b.Store = entity.Must(entity.New[T](b.db))
	require.NoError(t, b.db.CreateTables(t.Context()))
	b.wire.Reset()
	return b
}

// sent are the operations since the last call.
func (b *bench[T]) sent() (names []string) {
	for _, r := range b.wire.Requests() {
		names = append(names, r.Operation)
	}
	b.wire.Reset()
	return names
}

// stored is the one item in the table that is a current one of its entity.
func (b *bench[T]) stored(t *testing.T) map[string]av {
	t.Helper()
	out, err := b.raw.Scan(t.Context(), &dynamodb.ScanInput{TableName: &b.table, ConsistentRead: aws.Bool(true), FilterExpression: aws.String("attribute_exists(id) AND attribute_not_exists(#k)"),
		ExpressionAttributeNames: map[string]string{"#k": "_k"}})
	require.NoError(t, err)
	if len(out.Items) == 0 {
		return nil
	}
	require.Len(t, out.Items, 1)
	return out.Items[0]
}

// overwrite gives the stored item attributes behind the library's back.
func (b *bench[T]) overwrite(t *testing.T, attrs map[string]av) {
	t.Helper()
	it := b.stored(t)
	for name, v := range attrs {
		it[name] = v
	}
	_, err := b.raw.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.table, Item: it})
	require.NoError(t, err)
}
