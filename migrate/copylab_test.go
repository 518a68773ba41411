package migrate_test

import (
	"errors"
	"testing"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// ticket is an item of the old side.
type ticket struct {
	_ entity.Key `name:"Ticket" pk:"$#{id}" sk:"$"`

	ID      string    `dynamodbav:"id"`
	Owner   string    `dynamodbav:"owner"`
	Code    string    `dynamodbav:"code,omitempty"`
	Uses    int       `dynamodbav:"uses"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// pass is the same on the new side: under its owner, with an index, a unique value and a history.
type pass struct {
	_ entity.Key           `name:"Pass" pk:"$#{owner}" sk:"$#{id}"`
	_ entity.GSI           `name:"byID" index:"gsi1" pk:"$#{id}" sk:"$"`
	_ unique.Constraint    `name:"code" fields:"code"`
	_ versioned.Retain     ``
	_ lifecycle.SoftDelete ``

	ID      string    `dynamodbav:"id"`
	Owner   string    `dynamodbav:"owner"`
	Code    string    `dynamodbav:"code,omitempty"`
	Rides   int       `dynamodbav:"rides"`
	Class   string    `dynamodbav:"class" entity:"default=second"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Created time.Time `dynamodbav:"created,omitempty" entity:"created_at"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

var errSpoilt = errors.New("a spoilt ticket")

// toPass is the function of the tests.
func toPass(t ticket) (pass, error) {
	switch t.Owner {
	case "nobody":
		return pass{}, migrate.Skip
	case "spoilt":
		return pass{}, errSpoilt
	}
	return pass{ID: t.ID, Owner: t.Owner, Code: t.Code, Rides: t.Uses, Version: t.Version, Updated: t.Updated}, nil
}

// station is a table with both sides.
type station struct {
	*dbtest.Bench
	tickets *entity.Store[ticket]
	passes  *entity.Store[pass]
	copy    *migrate.Copier[ticket, pass]
	first   dbtest.Item // a stored ticket that comes back
}

func newStation(t testing.TB) *station {
	t.Helper()
	b := dbtest.Open(t, dbtest.Attempts(4))
	raw := b.Open(b.Raw)
	s := &station{Bench: b, tickets: dbtest.Declare[ticket](t, raw), passes: dbtest.Declare[pass](t, raw)}
	s.copy = s.copier(b.DB)
	b.CreateTables()
	return s
}

// copier returns the copier of another program.
func (s *station) copier(db *entity.DB) *migrate.Copier[ticket, pass] {
	s.T.Helper()
	c, err := migrate.Copy("passes", dbtest.Declare[ticket](s.T, db), dbtest.Declare[pass](s.T, db), toPass)
	require.NoError(s.T, err)
	return c
}

// quick is the copier of a program that nothing holds up.
func (s *station) quick() *migrate.Copier[ticket, pass] { return s.copier(s.Open(s.Raw)) }

// quickly applies changes in such a program.
func (s *station) quickly(changes ...stream.Change[ticket]) {
	s.T.Helper()
	s.OK(s.quick().Apply(s.Ctx, changes...))
}

// stored returns the item of a ticket, nil for an absent one.
func (s *station) stored(id string) dbtest.Item {
	s.T.Helper()
	return s.Item("$app#v1#ticket#"+id, "$app#v1#ticket")
}

// change does something to a ticket, and returns the change that a stream would bring.
func (s *station) change(id string, write func() error) stream.Change[ticket] {
	s.T.Helper()
	before := s.stored(id)
	require.NoError(s.T, write())
	return s.between(id, before, s.stored(id))
}

// between returns the change from one stored item to another.
func (s *station) between(id string, before, after dbtest.Item) stream.Change[ticket] {
	s.T.Helper()
	r := stream.Record{EventID: "e", SequenceNumber: "1", Operation: streamtypes.OperationTypeModify, Keys: s.Key("$app#v1#ticket#"+id, "$app#v1#ticket"), Old: before, New: after}
	switch {
	case before == nil:
		r.Operation = streamtypes.OperationTypeInsert
	case after == nil:
		r.Operation = streamtypes.OperationTypeRemove
	}
	c, ok, err := stream.Of(s.tickets, r)
	require.NoError(s.T, err)
	require.True(s.T, ok)
	return c
}

// put makes the old program put a ticket.
func (s *station) put(t ticket) stream.Change[ticket] {
	s.T.Helper()
	s.Clock.Move(time.Second)
	return s.change(t.ID, func() error { _, err := s.tickets.Put(s.Ctx, t); return err })
}

// remove makes the old program delete a ticket.
func (s *station) remove(id string) stream.Change[ticket] {
	s.T.Helper()
	return s.change(id, func() error { return s.tickets.Delete(s.Ctx, ticket{ID: id}) })
}

// apply applies changes and requires that it succeeds without problems.
func (s *station) apply(changes ...stream.Change[ticket]) migrate.Report {
	s.T.Helper()
	r, err := s.copy.Apply(s.Ctx, changes...)
	require.NoError(s.T, err)
	return r
}

// run runs the copy and requires that it succeeds.
func (s *station) run(opts ...migrate.CopyOption) migrate.Report {
	s.T.Helper()
	r, err := s.copy.Run(s.Ctx, opts...)
	require.NoError(s.T, err)
	return r
}

// requireEqual requires that the new side is what the function makes of the old one.
func (s *station) requireEqual(words ...any) {
	s.T.Helper()
	want := map[string]pass{}
	old, err := s.tickets.Scan(entity.Consistent()).Collect(s.Ctx)
	require.NoError(s.T, err)
	for _, t := range old {
		if p, err := toPass(t); err == nil {
			p.Class = "second"
			want[t.ID] = p
		}
	}
	is := map[string]pass{}
	found, err := s.passes.Scan(entity.Consistent()).Collect(s.Ctx)
	require.NoError(s.T, err)
	for _, p := range found {
		require.NotContains(s.T, is, p.ID, "two copies")
		is[p.ID] = p
	}
	require.Equal(s.T, want, is, words...)
	claims, err := migrate.VerifyUnique(s.Ctx, entity.Must(unique.Of(s.passes, "code")))
	require.NoError(s.T, err)
	require.Empty(s.T, claims.Findings, words...)
}
