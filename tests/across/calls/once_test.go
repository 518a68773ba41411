package calls_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Stamped has times, so that its writes differ from call to call.
type Stamped struct {
	_ entity.Key `name:"Stamped" pk:"$#{id}" sk:"$"`

	ID      string    `dynamodbav:"id"`
	Count   int       `dynamodbav:"count"`
	Created time.Time `dynamodbav:"created" entity:"created_at"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// Verbatim has no attributes of the library's.
type Verbatim struct {
	_ entity.Key `name:"Verbatim" pk:"pk=V#{id}" sk:"sk=V"`

	ID      string    `dynamodbav:"id"`
	Count   int       `dynamodbav:"count"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

type Ticks struct {
	_ entity.Key        `name:"Ticks" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" ttl:"7d" maxAhead:"1h"`

	ID    string    `dynamodbav:"id"`
	At    time.Time `dynamodbav:"at"`
	Value *int      `dynamodbav:"value,omitempty" entity:"append"`
}

// ticks gives a DB a clock that never shows the same time twice.
func ticks(c *entity.Config) {
	clock := &dbtest.Clock{}
	clock.Set(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 3*time.Second)
	c.Clock = clock.Now
}

// newToken has an id as clients give: longer than DynamoDB takes.
func newToken() entity.Token {
	return entity.Token{ID: "request " + rand.Text() + strings.Repeat("/x", 100)}
}

// Another program has changed the item of an earlier call under its write id. The result is what is stored, so it can fail
// to decode.
func TestTransactWithToken_ReportsAStoredItemThatDoesNotFit(t *testing.T) {
	t.Parallel()
	l := open(t, ticks)
	s, _ := store[Stamped](l)
	ctx, id, create := t.Context(), newToken(), s.Op().Create(Stamped{ID: "a", Count: 1})
	require.NoError(t, l.DB.TransactWithToken(ctx, id, create))
	require.Equal(t, 1, create.Result().Count)
	it := l.Items()[0]
	it["count"] = &types.AttributeValueMemberS{Value: "many"}
	l.PutItem(it)
	var misfit *entity.DecodeError
	require.ErrorAs(t, l.DB.TransactWithToken(ctx, id, create), &misfit)
	require.Equal(t, "count", misfit.Attr)
}

func TestTransactWithToken_OtherOpsUnderTheSameIDAreRefused(t *testing.T) {
	t.Parallel()
	l := open(t, ticks)
	s, quiet := store[Stamped](l)
	ctx, f := t.Context(), entity.Fields[Stamped]()
	l.OK(quiet.Create(ctx, Stamped{ID: "a"}))
	id := newToken()
	add := func(n int, more ...entity.Op) error {
		return l.DB.TransactWithToken(ctx, id, append(more, s.Op().Update(Stamped{ID: "a"}, entity.Add(&f.Count, n)))...)
	}
	require.NoError(t, add(10))
	err := add(20)
	require.ErrorIs(t, err, entity.ErrTokenReused)
	require.False(t, entity.IsAmbiguous(err), "the item shows which ops were applied")
	err = add(10, s.Op().Create(Stamped{ID: "b"}))
	require.ErrorIs(t, err, entity.ErrTokenReused)
	require.True(t, entity.IsAmbiguous(err), "the ops are about other items")
	a := entity.Must(quiet.Get(ctx, Stamped{ID: "a"}, entity.Consistent()))
	require.Equal(t, 10, a.Count)
}

func TestTransactWithToken_WhatOthersHaveOverwrittenIsAmbiguous(t *testing.T) {
	t.Parallel()
	l := open(t, ticks)
	s, quiet := store[Stamped](l)
	ctx, f := t.Context(), entity.Fields[Stamped]()
	for _, id := range []string{"a", "b"} {
		l.OK(quiet.Create(ctx, Stamped{ID: id}))
	}
	id := newToken()
	call := func() error {
		return l.DB.TransactWithToken(ctx, id, s.Op().Update(Stamped{ID: "a"}, entity.Add(&f.Count, 1)), s.Op().Update(Stamped{ID: "b"}, entity.Add(&f.Count, 1)))
	}
	require.NoError(t, call())
	l.OK(quiet.Update(ctx, Stamped{ID: "a"}, entity.Add(&f.Count, 100)))
	require.NoError(t, call(), "one item is enough")
	require.NoError(t, quiet.Delete(ctx, Stamped{ID: "b"}))
	err := call()
	require.ErrorIs(t, err, entity.ErrTokenReused)
	require.True(t, entity.IsAmbiguous(err))
	a := entity.Must(quiet.Get(ctx, Stamped{ID: "a"}, entity.Consistent()))
	require.Equal(t, 101, a.Count)
}

func TestTransactWithToken_WithoutProofInTheItemsIsAmbiguous(t *testing.T) {
	t.Parallel()
	l := open(t, ticks)
	v, _ := store[Verbatim](l)
	id, op := newToken(), v.Op().Create(Verbatim{ID: "a"})
	require.NoError(t, l.DB.TransactWithToken(t.Context(), id, op))
	err := l.DB.TransactWithToken(t.Context(), id, op)
	require.ErrorIs(t, err, entity.ErrTokenReused)
	require.True(t, entity.IsAmbiguous(err))

	id = newToken()
	id.At = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	op = v.Op().Create(Verbatim{ID: "b"})
	for range 2 {
		require.NoError(t, l.DB.TransactWithToken(t.Context(), id, op), "the same time gives the same bytes")
	}
}

// Appends are distinguished by what they carry, also where the clock would refuse them at another time.
func TestTransactWithToken_OfAppends(t *testing.T) {
	t.Parallel()
	l := open(t, ticks)
	s := entity.Must(timeseries.New[Ticks](l.DB))
	require.NoError(t, tables.Create(t.Context(), l.DB))
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	one, two := 1, 2
	id := newToken()
	for range 2 {
		require.NoError(t, l.DB.TransactWithToken(t.Context(), id, s.Op().Append(Ticks{ID: "a", At: at, Value: &one}), s.Op().Append(Ticks{ID: "a", At: at.Add(1), Value: &one})))
	}
	err := l.DB.TransactWithToken(t.Context(), id, s.Op().Append(Ticks{ID: "a", At: at, Value: &one}), s.Op().Append(Ticks{ID: "a", At: at.Add(1), Value: &two}))
	require.ErrorIs(t, err, entity.ErrTokenReused)
	require.False(t, entity.IsAmbiguous(err))
}

// DynamoDB forgets a token after ten minutes.
func TestTransactWithToken_RepeatedAfterTheTokenWasForgotten(t *testing.T) {
	t.Parallel()
	l := open(t, ticks)
	s, _ := store[Stamped](l)
	id, op := newToken(), s.Op().Create(Stamped{ID: "a", Count: 3})
	require.NoError(t, l.DB.TransactWithToken(t.Context(), id, op))
	first := op.Result()
	db := l.Open(forgetful{l.Raw}, ticks)
	op = entity.Must(entity.New[Stamped](db)).Op().Create(Stamped{ID: "a", Count: 3})
	require.NoError(t, db.TransactWithToken(t.Context(), id, op), "the item that stands in the way is this call's own")
	require.Equal(t, first, op.Result())
	require.ErrorIs(t, db.TransactWithToken(t.Context(), newToken(), op), entity.ErrExists)
}

// forgetful is a client whose database never remembers a token.
type forgetful struct{ *dynamodb.Client }

func (c forgetful) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	in.ClientRequestToken = ref(rand.Text())
	return c.Client.TransactWriteItems(ctx, in, o...)
}
