// Package conditions_test is about what conditions say of absent attributes, ranges with two ends, and items that an index
// would leave out.
package conditions_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

type av = types.AttributeValue

type bench struct {
	db    *entity.DB
	wire  *faults.Transport
	raw   *dynamodb.Client
	table string
	now   time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	b.raw, b.table = localdb.Test(t)
	b.wire = faults.New(b.raw.Options().HTTPClient)
	client := dynamodb.New(b.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = b.wire })
	b.db = entity.Must(entity.Open(client, entity.Config{Table: b.table, Clock: func() time.Time { return b.now }}))
	return b
}

func declare[T any](t *testing.T, b *bench) *entity.Store[T] {
	t.Helper()
	s := entity.Must(entity.New[T](b.db))
	require.NoError(t, b.db.CreateTables(t.Context()))
	b.wire.Reset()
	return s
}

// sent is how many requests went out since the last call.
func (b *bench) sent() int {
	n := len(b.wire.Requests())
	b.wire.Reset()
	return n
}

func requireInput(t *testing.T, err error, code, field string, parts ...string) {
	t.Helper()
	var input *entity.InputError
	require.ErrorAs(t, err, &input)
	require.Equal(t, code, input.Code, input.Problem)
	require.Equal(t, field, input.Field, input.Problem)
	for _, p := range parts {
		require.Contains(t, input.Problem, p)
	}
}
