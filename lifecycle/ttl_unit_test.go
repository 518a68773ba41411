package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// Parcel expires by a count of seconds that a caller may give.
type Parcel struct {
	_    entity.Key    `name:"Parcel" pk:"$#{id}" sk:"$"`
	_    lifecycle.TTL `attr:"ends" after:"1d"`
	ID   string        `dynamodbav:"id"`
	Ends int64         `dynamodbav:"ends,omitempty"`
	Note string        `dynamodbav:"note,omitempty"`
}

// Mislabelled says that it counts seconds.
type Mislabelled struct {
	_    entity.Key    `name:"Mislabelled" pk:"$#{id}" sk:"$"`
	_    lifecycle.TTL `attr:"ends" from:"seen" after:"1d"`
	ID   string        `dynamodbav:"id"`
	Seen int64         `dynamodbav:"seen,omitempty" entity:"time=unix"`
}

// requireUnit checks that nothing was sent because of the unit.
func requireUnit(t *testing.T, h *hourglass, field, verb string, err error) {
	t.Helper()
	var bad *entity.InputError
	require.ErrorAs(t, err, &bad, verb)
	require.Equal(t, "EDD-9118", bad.Code, verb)
	require.Equal(t, field, bad.Field, verb)
	require.Empty(t, h.sent(), verb)
}

func TestTTL_MillisecondsAreNoSeconds(t *testing.T) {
	t.Parallel()
	h, s := turn[Parcel](t)
	p, ms := entity.Fields[Parcel](), hour0.UnixMilli()
	v := Parcel{ID: "p", Ends: ms}
	_, err := s.Create(t.Context(), v)
	requireUnit(t, h, "Ends", "create", err)
	_, err = s.Put(t.Context(), v)
	requireUnit(t, h, "Ends", "put", err)
	_, _, err = s.Upsert(t.Context(), v)
	requireUnit(t, h, "Ends", "upsert", err)
	_, err = s.PutMany(t.Context(), []Parcel{v}, entity.Unconditional())
	requireUnit(t, h, "Ends", "batch", err)
	_, err = s.Update(t.Context(), v, entity.Set(&p.Ends, ms))
	requireUnit(t, h, "Ends", "update", err)
	_, err = s.Update(t.Context(), v, entity.SetIfNotExists(&p.Ends, -ms))
	requireUnit(t, h, "Ends", "update once", err)
	requireUnit(t, h, "Ends", "transact", h.db.Transact(t.Context(), s.Op().Create(v)))

	v.Ends = 99_999_999_999
	_, err = s.Create(t.Context(), v)
	require.NoError(t, err, "the last count of seconds")
	_, err = s.Modify(t.Context(), v, func(p *Parcel) error { p.Ends = 100_000_000_000; return nil })
	var bad *entity.InputError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "EDD-9118", bad.Code)
	got, err := s.Get(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, v.Ends, got.Ends)
}

func TestTTL_FromOfAnotherUnitThanItsTagSays(t *testing.T) {
	t.Parallel()
	h, s := turn[Mislabelled](t)
	m, ms := entity.Fields[Mislabelled](), hour0.UnixMilli()
	_, err := s.Create(t.Context(), Mislabelled{ID: "m", Seen: ms})
	requireUnit(t, h, "Seen", "create", err)
	_, err = s.Update(t.Context(), Mislabelled{ID: "m"}, entity.Set(&m.Seen, ms))
	requireUnit(t, h, "Seen", "update", err)
	_, err = s.Create(t.Context(), Mislabelled{ID: "m", Seen: hour0.Add(time.Hour).Unix()})
	require.NoError(t, err)
}
