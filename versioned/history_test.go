package versioned_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

type page struct {
	_         entity.Key `name:"Page" pk:"$#{id}" sk:"$"`
	_         versioned.Retain
	ID        string    `dynamodbav:"id"`
	Text      string    `dynamodbav:"text"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// pages is a store in a database of its own, whose clock moves on by an hour with each reading.
func pages(t *testing.T, configure ...func(*entity.Config)) (*dbtest.Bench, *entity.Store[page]) {
	t.Helper()
	b, s := dbtest.OpenStore[page](t, configure...)
	b.Clock.Set(dbtest.Start, time.Hour)
	return b, s
}

func TestAt_AMissingStateIsErrVersionExpiredAndNotAnOlderOne(t *testing.T) {
	t.Parallel()
	b, s := pages(t)
	h := entity.Must(versioned.Of(s))
	f := entity.Fields[page]()
	entity.Must(s.Create(t.Context(), page{ID: "p"}))
	var written []time.Time
	for i := range 3 {
		v := entity.Must(s.Update(t.Context(), page{ID: "p"}, entity.Set(&f.Text, fmt.Sprint(i))))
		written = append(written, v.UpdatedAt)
	}
	b.RemoveItem(b.Key("$app#v1#page#p", "$app#v1#page#v#0000002"))
	_, err := h.At(t.Context(), page{ID: "p"}, written[0])
	require.ErrorIs(t, err, versioned.ErrVersionExpired)
	got := entity.Must(h.At(t.Context(), page{ID: "p"}, written[1]))
	require.EqualValues(t, 3, got.Number)
	_, err = h.At(t.Context(), page{ID: "p"}, dbtest.Start)
	require.ErrorIs(t, err, entity.ErrNotFound)
}

func TestGet_OfAnItemWhoseKeyDiffersInCaseIsRefused(t *testing.T) {
	t.Parallel()
	_, s := pages(t, func(c *entity.Config) { c.Namespace.Casing = entity.LowerCase })
	entity.Must(s.Create(t.Context(), page{ID: "C-1"}))
	_, err := entity.Must(versioned.Of(s)).Get(t.Context(), page{ID: "c-1"}, 1)
	require.ErrorIs(t, err, entity.ErrKeyCase)
}
