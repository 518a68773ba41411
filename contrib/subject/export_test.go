package subject_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/subject"
)

func TestExport_WritesWhatEraseWouldTakeAndLeave(t *testing.T) {
	l := newLab(t)
	l.live(l.Ctx)
	_, err := l.Totals.Ensure(l.Ctx)
	require.NoError(t, err)
	before := l.Items()
	x := l.subjects(subject.Options{Keep: []subject.Keep{{Entity: "Person", Reason: "law"}}, Segments: 3})
	lines, r := l.lines(x, subject.Request{ID: ada})
	assert.Equal(t, before, l.Items())
	assert.True(t, r.Done)
	dry, err := l.subjects(subject.Options{}).Erase(l.Ctx, subject.Request{ID: ada, DryRun: true})
	require.NoError(t, err)
	got := map[string]counts{}
	for _, line := range lines {
		if got[line.Entity] == nil {
			got[line.Entity] = counts{}
		}
		got[line.Entity][line.Kind]++
	}
	assert.Equal(t, counts{"row": 1}, got["totals"])
	for _, e := range dry.Entities {
		want := counts{}
		for _, m := range []counts{e.Erased, e.Emptied} {
			for k, n := range m {
				want[k] += n
			}
		}
		for _, left := range e.Left {
			want[left.Kind] += left.Count
		}
		assert.Equal(t, want, got[e.Entity], e.Entity)
		assert.Equal(t, want, entityOf(t, r, e.Entity).Exported, e.Entity)
	}
	again, _ := l.lines(x, subject.Request{ID: ada})
	assert.Equal(t, lines, again, "in the same order")
}

func TestExport_LeavesOutSecretsUnlessAsked(t *testing.T) {
	l := newLab(t)
	l.live(l.Ctx)
	x := l.subjects(subject.Options{})
	find := func(lines []subject.Line, id string) subject.Line {
		at := slices.IndexFunc(lines, func(x subject.Line) bool { return x.Kind == subject.Current && x.Value["orderId"] == id })
		require.GreaterOrEqual(t, at, 0)
		return lines[at]
	}
	lines, r := l.lines(x, subject.Request{ID: ada})
	assert.Equal(t, []string{"Order.note", "Person.phone"}, r.Secrets)
	it := find(lines, "o-"+ada)
	assert.Equal(t, map[string]any{"pk": "$app#v1#order#o-" + ada, "sk": "$app#v1#order"}, it.Key)
	delete(it.Value, "updatedAt")
	assert.Equal(t, map[string]any{"orderId": "o-" + ada, "customer": ada, "number": "n-" + ada, "amount": 5.0, "version": 1.0}, it.Value)
	lines, r = l.lines(x, subject.Request{ID: ada, Secrets: true})
	assert.Empty(t, r.Secrets)
	assert.Equal(t, "n", find(lines, "o-"+ada).Value["note"])
}

var errFull = errors.New("full")

// full fails at its first Write, after a part of it.
type full struct{ bytes.Buffer }

func (f *full) Write(p []byte) (int, error) { _, _ = f.Buffer.Write(p[:1]); return 1, errFull }

func TestExport_GoesOnAfterAnErrorOfTheWriter(t *testing.T) {
	l := newLab(t)
	l.live(l.Ctx)
	x := l.subjects(subject.Options{})
	want, _ := l.lines(x, subject.Request{ID: ada})
	r, err := x.Export(l.Ctx, subject.Request{ID: ada}, &full{})
	require.ErrorIs(t, err, errFull)
	assert.False(t, r.Done)
	assert.Equal(t, "export: 0 items exported, not done", r.String())
	require.NotEmpty(t, r.Cursor)
	got, r := l.lines(x, subject.Request{ID: ada, Cursor: r.Cursor})
	assert.Equal(t, want, got)
	assert.Equal(t, 2, r.Runs)
	assert.Empty(t, r.Cursor)
}
