package entity_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// Ledger has a role of every kind that a rewrite must respect.
type Ledger struct {
	_         entity.Key        `name:"Ledger" pk:"$#{id}" sk:"$"`
	_         entity.GSI        `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{kind}#{id}"`
	ID        string            `dynamodbav:"id"`
	Owner     string            `dynamodbav:"owner,omitempty"`
	Kind      string            `dynamodbav:"kind,omitempty"`
	Title     string            `dynamodbav:"title" entity:"required"`
	Tenant    string            `dynamodbav:"tenant,omitempty" entity:"immutable"`
	First     string            `dynamodbav:"first,omitempty" entity:"set_once"`
	Balance   int               `dynamodbav:"balance"`
	Labels    map[string]string `dynamodbav:"labels,omitempty"`
	SeenAt    time.Time         `dynamodbav:"seenAt,omitempty"`
	Version   int64             `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time         `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time         `dynamodbav:"updatedAt" entity:"updated_at"`
}

// ledgers is a lab with a store of ledgers, and what its last call cost.
type ledgers struct {
	*lab
	*entity.Store[Ledger]
	cost *entity.Report
}

func newLedgers(t *testing.T) ledgers {
	cost := new(entity.Report)
	l, s := open[Ledger](t, func(c *entity.Config) { c.Tracer = dbtest.Observer(func(r entity.Report) { *cost = r }) })
	return ledgers{l, s, cost}
}

// Calls without options share their settings.
func TestModify_ANilFunctionIsTheMistakeOfThatCallAlone(t *testing.T) {
	l, ctx := newLedgers(t), t.Context()
	l.OK(l.Create(ctx, Ledger{ID: "a", Title: "t"}))
	var input *entity.InputError
	require.ErrorAs(t, dbtest.ErrorOf(l.Modify(ctx, Ledger{ID: "a"}, nil)), &input)
	require.ErrorAs(t, l.DB.TransactFunc(ctx, nil), &input)
	require.NoError(t, l.Delete(ctx, Ledger{ID: "a"}))
}

func TestModify_WithoutAChangeWritesNothing(t *testing.T) {
	l, ctx, f := newLedgers(t), t.Context(), entity.Fields[Ledger]()
	before := entity.Must(l.Create(ctx, Ledger{ID: "a", Title: "t"}))
	require.Equal(t, before, entity.Must(l.Modify(ctx, Ledger{ID: "a"}, func(*Ledger) error { return nil })))
	require.Equal(t, 1, l.cost.Requests)
	_, err := l.Modify(ctx, Ledger{ID: "a"}, func(*Ledger) error { return nil }, entity.If(entity.Eq(&f.Title, "other")))
	require.ErrorIs(t, err, entity.ErrConditionFailed, "a condition is checked all the same")
	l.OK(l.Modify(ctx, Ledger{ID: "a"}, func(*Ledger) error { return nil }, entity.If(entity.Eq(&f.Title, "t"))))
}

func TestModify_RefusesWhatItMayNotChange(t *testing.T) {
	l, ctx := newLedgers(t), t.Context()
	before := entity.Must(l.Create(ctx, Ledger{ID: "a", Title: "t", Tenant: "x", First: "f"}))
	var input *entity.InputError
	for field, change := range map[string]func(*Ledger){
		"ID":        func(v *Ledger) { v.ID = "b" },
		"Version":   func(v *Ledger) { v.Version = 9 },
		"CreatedAt": func(v *Ledger) { v.CreatedAt = time.Now() },
		"First":     func(v *Ledger) { v.First = "g" },
		"Title":     func(v *Ledger) { v.Title = "" },
	} {
		require.ErrorAs(t, dbtest.ErrorOf(l.Modify(ctx, Ledger{ID: "a"}, func(v *Ledger) error { change(v); return nil })), &input, field)
		require.Equal(t, field, input.Field)
	}
	_, err := l.Modify(ctx, Ledger{ID: "a"}, func(v *Ledger) error { v.Tenant = "y"; return nil })
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	mine := errors.New("mine")
	require.ErrorIs(t, dbtest.ErrorOf(l.Modify(ctx, Ledger{ID: "a"}, func(v *Ledger) error { v.Balance = 1; return mine })), mine)
	require.ErrorIs(t, dbtest.ErrorOf(l.Modify(ctx, Ledger{ID: "none"}, func(v *Ledger) error { return nil })), entity.ErrNotFound)
	require.Equal(t, before, entity.Must(l.Get(ctx, Ledger{ID: "a"}, entity.Consistent())))
}

func TestTouch_WritesAtMostOncePerInterval(t *testing.T) {
	l, ctx, f := newLedgers(t), t.Context(), entity.Fields[Ledger]()
	before := entity.Must(l.Create(ctx, Ledger{ID: "a", Title: "t"}))
	touch := func(after time.Duration) bool {
		l.Clock.Move(after)
		due := entity.Must(l.Touch(ctx, Ledger{ID: "a"}, &f.SeenAt, time.Minute))
		require.Equal(t, 1, l.cost.Requests)
		return due
	}
	require.True(t, touch(time.Hour), "it was never touched")
	require.False(t, touch(time.Minute-1))
	require.True(t, touch(1))
	got := entity.Must(l.Get(ctx, Ledger{ID: "a"}, entity.Consistent()))
	require.Equal(t, l.Clock.Now(), got.SeenAt)
	require.Equal(t, before.Version, got.Version)
	require.Equal(t, before.UpdatedAt, got.UpdatedAt)
	_, err := l.Touch(ctx, Ledger{ID: "none"}, &f.SeenAt, 0)
	require.ErrorIs(t, err, entity.ErrNotFound)
	var input *entity.InputError
	for _, field := range []*time.Time{&f.UpdatedAt, &f.CreatedAt, nil, new(time.Time)} {
		_, err = l.Touch(ctx, Ledger{ID: "a"}, field, 0)
		require.ErrorAs(t, err, &input)
	}
	require.ErrorAs(t, dbtest.ErrorOf(l.Touch(ctx, Ledger{ID: "a"}, &f.SeenAt, -1)), &input)
}

func TestKeepImage_SavesTheReadOfAWriteThatIsPlannedFromTheItem(t *testing.T) {
	l, s := opened(t, Profile{ID: "a", Team: "red", Rank: 1})
	at := keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")
	l.patch(at, "unknown", &types.AttributeValueMemberS{Value: "stays"})
	l.Sent()

	var h entity.Image
	l.OK(s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(&h), entity.Consistent()))
	f := entity.Fields[Profile]()
	got := entity.Must(s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&f.Rank, 2), entity.FromImage(&h)))
	require.Equal(t, 2, got.Rank)
	require.Equal(t, []string{"GetItem", "PutItem"}, l.Operations(), "the Get was the caller's")
	require.Equal(t, `S"stays"`, l.stored(at)["unknown"], "the handle has what the struct does not know")

	got = entity.Must(s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&f.Rank, 3), entity.FromImage(&h)))
	require.Equal(t, 3, got.Rank)
	require.Equal(t, []string{"PutItem", "GetItem", "PutItem"}, l.Operations(), "a stale handle is as none")

	l.OK(s.Modify(t.Context(), Profile{ID: "a"}, func(p *Profile) error { p.Note += "!"; return nil }, entity.FromImage(&h)))
	stored := entity.Must(s.Get(t.Context(), Profile{ID: "a"}, entity.Consistent()))
	require.Equal(t, 3, stored.Rank, "what came after the handle was filled is kept")

	l.OK(s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(&h)))
	l.Sent()
	require.NoError(t, l.DB.Transact(t.Context(), s.Op().Update(Profile{ID: "a"}, entity.Set(&f.Rank, 4), entity.FromImage(&h)), s.Op().CheckNotExists(Profile{ID: "b"})))
	require.Equal(t, []string{"TransactWriteItems"}, l.Operations())
	require.NoError(t, l.DB.Transact(t.Context(), s.Op().Update(Profile{ID: "a"}, entity.Set(&f.Rank, 5), entity.FromImage(&h)), s.Op().CheckNotExists(Profile{ID: "b"})))
	require.Equal(t, []string{"TransactWriteItems", "GetItem", "TransactWriteItems"}, l.Operations())
}

func TestKeepImage_UnusableImagesAreRefusedBeforeAnyRequest(t *testing.T) {
	l, s := opened(t, Profile{ID: "a"})
	var h, empty entity.Image
	l.OK(s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(&h)))
	l.Sent()
	set := func(p *Profile) error { p.Rank++; return nil }
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Modify(t.Context(), Profile{ID: "a"}, set, entity.FromImage(&empty))), "EDD-9108", "")
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Modify(t.Context(), Profile{ID: "b"}, set, entity.FromImage(&h))), "EDD-9108", "")
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Modify(t.Context(), Profile{ID: "a"}, set, entity.FromImage((*entity.Image)(nil)))), "EDD-9108", "")
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(nil))), "EDD-9108", "")
	require.Empty(t, l.Operations())

	require.ErrorIs(t, dbtest.ErrorOf(s.Get(t.Context(), Profile{ID: "none"}, entity.KeepImage(&h))), entity.ErrNotFound)
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Modify(t.Context(), Profile{ID: "a"}, set, entity.FromImage(&h))), "EDD-9108", "")
}

func TestKeepImage_StaleImageIsReadAgain(t *testing.T) {
	l, s := opened(t, Profile{ID: "a", Team: "red", Rank: 1})
	f := entity.Fields[Profile]()
	var h entity.Image
	l.OK(s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(&h)))
	l.OK(s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&f.Note, "theirs")))
	same := func(p *Profile) error { p.Note = ""; return nil } // as the handle has it: nothing to write
	require.Empty(t, entity.Must(s.Modify(t.Context(), Profile{ID: "a"}, same, entity.FromImage(&h))).Note)
	stored := entity.Must(s.Get(t.Context(), Profile{ID: "a"}, entity.Consistent()))
	require.Empty(t, stored.Note, "what another program has written since is changed, too")
}
