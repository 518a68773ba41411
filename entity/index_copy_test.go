package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// A copy is kept in step by every verb, and costs no read.
func TestIndexHalf_VerbatimCopyIsKeptInStep(t *testing.T) {
	t.Parallel()
	l, s := open[Batch](t)
	b := entity.Fields[Batch]()
	key := Batch{DeviceID: "d", Timestamp: 5, BatchID: "b"}
	half := func() raw {
		it := l.everything(t)[`S"d" S"0000000000005#b"`]
		return raw{"gsi1pk": it["gsi1pk"], "gsi1sk": it["gsi1sk"], "last_seen_at": it["last_seen_at"]}
	}
	_, err := s.Create(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, raw{"gsi1pk": `S"devices"`, "gsi1sk": "", "last_seen_at": ""}, half(), "the constant half is there, the copy is not")

	l.sent()
	at := dawn.Truncate(time.Millisecond)
	_, err = s.Update(t.Context(), key, entity.Set(&b.LastSeenAt, at))
	require.NoError(t, err)
	require.Equal(t, []string{"UpdateItem"}, l.sent())
	text := `S"2024-05-06T07:08:09.123Z"`
	require.Equal(t, raw{"gsi1pk": `S"devices"`, "gsi1sk": text, "last_seen_at": text}, half())

	seen := key
	seen.LastSeenAt = at.Add(time.Hour)
	_, _, err = s.Upsert(t.Context(), seen)
	require.NoError(t, err)
	text = `S"2024-05-06T08:08:09.123Z"`
	require.Equal(t, raw{"gsi1pk": `S"devices"`, "gsi1sk": text, "last_seen_at": text}, half())

	_, _, err = s.Upsert(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, raw{"gsi1pk": `S"devices"`, "gsi1sk": text, "last_seen_at": text}, half(), "an upsert without the field leaves both")

	_, err = s.Update(t.Context(), key, entity.Set(&b.LastSeenAt, time.Time{}))
	require.NoError(t, err)
	require.Equal(t, raw{"gsi1pk": `S"devices"`, "gsi1sk": "", "last_seen_at": ""}, half(), "a zero time is absent, and so is its copy")
}

func TestIndexHalf_CopyOfCreatedAtStaysThatOfTheFirstWrite(t *testing.T) {
	t.Parallel()
	l, s := open[Batch](t)
	b := entity.Fields[Batch]()
	key := Batch{DeviceID: "d", Timestamp: 5, BatchID: "b"}
	const born = `S"2024-05-06T07:08:09.123Z"`
	check := func() {
		t.Helper()
		it := l.everything(t)[`S"d" S"0000000000005#b"`]
		require.Equal(t, []string{born, born}, []string{it["created_at"], it["gsi2sk"]})
		require.Equal(t, `S"d"`, it["gsi2pk"])
	}
	_, _, err := s.Upsert(t.Context(), key)
	require.NoError(t, err)
	check()
	require.Equal(t, []string{"UpdateItem"}, l.sent(), "a copy of created_at needs no read")
	l.clock.move(time.Hour)
	_, _, err = s.Upsert(t.Context(), key)
	require.NoError(t, err)
	check()
	_, err = s.Update(t.Context(), key, entity.Set(&b.State, "x"))
	require.NoError(t, err)
	check()
}

func TestIndexHalf_EmptiedNativeIndexAttributeIsAbsent(t *testing.T) {
	t.Parallel()
	l, s := open[Order](t)
	o := entity.Fields[Order]()
	key := Order{Customer: "c", Number: 1}
	_, err := s.Create(t.Context(), Order{Customer: "c", Number: 1, Placed: 3, Amount: 4}) // status is the empty string
	require.NoError(t, err)
	at := `S"c" N1`
	require.Equal(t, raw{"customer": `S"c"`, "number": "N1", "placed": "N3", "amount": "N4"}, l.everything(t)[at])
	require.Empty(t, l.indexed(t, "status-index"))

	_, err = s.Update(t.Context(), key, entity.Set(&o.Status, "open"))
	require.NoError(t, err)
	require.Equal(t, `S"open"`, l.everything(t)[at]["status"])
	require.Len(t, l.indexed(t, "status-index"), 1)

	l.sent()
	_, err = s.Update(t.Context(), key, entity.Set(&o.Status, ""))
	require.NoError(t, err)
	require.NotContains(t, l.everything(t)[at], "status")
	require.Empty(t, l.indexed(t, "status-index"))
	require.Equal(t, []string{"UpdateItem"}, l.sent())

	_, err = s.Update(t.Context(), key, entity.Set(&o.Status, "open"))
	require.NoError(t, err)
	_, _, err = s.Upsert(t.Context(), Order{Customer: "c", Number: 1, Amount: 9}) // status is given, and empty
	require.NoError(t, err)
	require.Equal(t, raw{"customer": `S"c"`, "number": "N1", "placed": "N3", "amount": "N9"}, l.everything(t)[at])
	_, created, err := s.Upsert(t.Context(), Order{Customer: "c", Number: 2})
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, raw{"customer": `S"c"`, "number": "N2"}, l.everything(t)[`S"c" N2`])
}
