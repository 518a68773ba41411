// Package calls_test holds tests of calls that do many things, or the wrong thing: writes of many requests that are cut off,
// transactions that are repeated under one token, tables made by several programs at once, handles that were not opened.
package calls_test

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

type Plain struct {
	_ entity.Key `name:"Plain" pk:"$#{id}" sk:"$"`

	ID    string `dynamodbav:"id"`
	Count int    `dynamodbav:"count"`
}

// Kept leaves copies, snapshots and sentinels behind.
type Kept struct {
	_ entity.Key `name:"Kept" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`

	ID      string `dynamodbav:"id"`
	Email   string `dynamodbav:"email"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// lab is one table, seen through a client that fails on demand and through one that does not.
type lab struct {
	t      *testing.T
	faults *faults.Transport
	client *dynamodb.Client // without faults
	table  string
	db     *entity.DB
	quiet  *entity.DB
}

func newLab(t *testing.T, cfg entity.Config) *lab {
	t.Helper()
	l := &lab{t: t, faults: faults.New(nil)}
	client, table := localdb.Test(t, func(o *dynamodb.Options) { o.HTTPClient = l.faults })
	l.client = dynamodb.New(client.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{} })
	l.table, cfg.Table = table, table
	l.db, l.quiet = entity.Must(entity.Open(client, cfg)), entity.Must(entity.Open(l.client, cfg))
	return l
}

// store declares T on both databases and creates the table.
func store[T any](l *lab) (faulty, quiet *entity.Store[T]) {
	l.t.Helper()
	faulty, quiet = entity.Must(entity.New[T](l.db)), entity.Must(entity.New[T](l.quiet))
	require.NoError(l.t, l.quiet.CreateTables(l.t.Context()))
	return faulty, quiet
}
