package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/stream"
)

// batch is an event of records of things: "+1" inserts thing 1, "-1" removes it, "!1" cannot be decoded, "?" belongs to no store,
// "x" is no record at all.
func batch(t testing.TB, list ...string) stream.Event {
	t.Helper()
	var records []string
	for i, x := range list {
		op, image, id := "INSERT", "NewImage", x[1:]
		value := `{"S":"` + id + `"}`
		name := "Thing"
		switch x[0] {
		case '-':
			op, image = "REMOVE", "OldImage"
		case '!':
			value = `{"L":[]}`
		case '?':
			name = "Other"
		case 'x':
			value = `{"N":"x"}`
		}
		records = append(records, fmt.Sprintf(`{"eventID":"e%d","eventName":%q,"dynamodb":{"Keys":{"pk":{"S":"$app#v1#thing#%s"},"sk":{"S":"$app#v1#thing"}},`+
			`%q:{"__edd_e__":{"S":%q},"id":%s},"SequenceNumber":"%d"}}`, i, op, id, image, name, value, 100+i))
	}
	return parse(t, `{"Records":[`+strings.Join(records, ",")+`]}`)
}

// log notes what a route is called with.
func log(to *[]string, fail func(stream.Change[Thing]) error) func(context.Context, stream.Change[Thing]) error {
	return func(_ context.Context, c stream.Change[Thing]) error {
		v, err := c.Item()
		*to = append(*to, string(c.Kind)+" "+v.ID)
		return errors.Join(err, fail(c))
	}
}

func always(stream.Change[Thing]) error { return nil }

var errBoom = errors.New("boom")

func boom(id string) func(stream.Change[Thing]) error {
	return func(c stream.Change[Thing]) error {
		if c.New != nil && c.New.ID == id {
			return errBoom
		}
		return nil
	}
}

func TestHandle_GivesEachRecordInOrderAndReportsNothing(t *testing.T) {
	t.Parallel()
	var got []string
	resp := entity.Must(stream.Handle(t.Context(), batch(t, "+1", "?9", "-1", "+2"), stream.On(things(t), log(&got, always))))
	require.Equal(t, []string{"created 1", "deleted 1", "created 2"}, got)
	require.Equal(t, stream.Response{BatchItemFailures: []stream.BatchItemFailure{}, Handled: 3, Ignored: 1}, resp)
	require.NoError(t, resp.Err())
	text := entity.Must(json.Marshal(resp))
	require.JSONEq(t, `{"batchItemFailures":[]}`, string(text))
}

func TestHandle_StopsAtTheFirstFailureAndReportsItAlone(t *testing.T) {
	t.Parallel()
	var got []string
	resp, err := stream.Handle(t.Context(), batch(t, "+1", "+2", "+3"), stream.On(things(t), log(&got, boom("2"))))
	require.NoError(t, err, "an error would make Lambda repeat the first record too")
	require.Equal(t, []string{"created 1", "created 2"}, got, "what follows must not overtake the failed one")
	text := entity.Must(json.Marshal(resp))
	require.JSONEq(t, `{"batchItemFailures":[{"itemIdentifier":"101"}]}`, string(text))
	require.ErrorIs(t, resp.Err(), errBoom)
	require.Equal(t, "e1", resp.Failure.Record.EventID)
	require.Equal(t, 1, resp.Handled)
}

func TestHandle_CallsEveryRouteOfAStoreInOrder(t *testing.T) {
	t.Parallel()
	s := things(t)
	var got []string
	second := func(c stream.Change[Thing]) error { got = append(got, "second"); return boom("2")(c) }
	third := func(stream.Change[Thing]) error { got = append(got, "third"); return nil }
	resp := entity.Must(stream.Handle(t.Context(), batch(t, "+1", "+2"), stream.On(s, log(&got, always)), stream.On(s, func(_ context.Context, c stream.Change[Thing]) error { return second(c) }), stream.On(s, func(_ context.Context, c stream.Change[Thing]) error { return third(c) })))
	require.Equal(t, []string{"created 1", "second", "third", "created 2", "second"}, got)
	require.Equal(t, 1, resp.Handled)
	require.Equal(t, []stream.BatchItemFailure{{"101"}}, resp.BatchItemFailures)
}

func TestHandle_GivesARouteTheKindsThatItAskedFor(t *testing.T) {
	t.Parallel()
	var got []string
	resp, err := stream.Handle(t.Context(), batch(t, "+1", "-1", "?2", "+3"), stream.On(things(t), log(&got, always), stream.Deleted, stream.Expired), stream.OnUnrouted(func(_ context.Context, r stream.Record) error {
		got = append(got, "unrouted "+r.EventID)
		return nil
	}))
	require.NoError(t, err)
	require.Equal(t, []string{"deleted 1", "unrouted e2"}, got, "a record that a store knows is not unrouted")
	require.Equal(t, 1, resp.Handled)
	require.Equal(t, 3, resp.Ignored)
}

func TestHandle_DoesNotDecodeUnwantedKinds(t *testing.T) {
	t.Parallel()
	var got []string
	resp := entity.Must(stream.Handle(t.Context(), batch(t, "!1", "-2"), stream.On(things(t), log(&got, always), stream.Deleted)))
	require.Equal(t, []string{"deleted 2"}, got)
	require.Nil(t, resp.Failure)
}

func TestHandle_ARecordThatCannotBeDecodedFails(t *testing.T) {
	t.Parallel()
	var misfit *entity.DecodeError
	var bad *stream.RecordError
	for poison, as := range map[string]any{"!2": &misfit, "x2": &bad} {
		var got []string
		resp := entity.Must(stream.Handle(t.Context(), batch(t, "+1", poison, "+3"), stream.On(things(t), log(&got, always))))
		require.Equal(t, []string{"created 1"}, got)
		require.Equal(t, []stream.BatchItemFailure{{"101"}}, resp.BatchItemFailures)
		require.ErrorAs(t, resp.Err(), as)
	}
}

func TestHandle_OnUndecodableSkipsRecords(t *testing.T) {
	t.Parallel()
	s := things(t)
	var got, aside []string
	put := func(_ context.Context, r stream.Record, err error) error {
		require.Error(t, err)
		aside = append(aside, r.EventID)
		return nil
	}
	resp := entity.Must(stream.Handle(t.Context(), batch(t, "+1", "!2", "x3", "+4"), stream.On(s, log(&got, always)), stream.On(s, func(context.Context, stream.Change[Thing]) error { return nil }), stream.OnUndecodable(put)))
	require.Equal(t, []string{"created 1", "created 4"}, got)
	require.Equal(t, []string{"e1", "e1", "e2"}, aside, "once for each route that cannot classify it, once for a malformed record")
	require.Equal(t, stream.Response{BatchItemFailures: []stream.BatchItemFailure{}, Handled: 2, Skipped: 2}, resp)

	resp = entity.Must(stream.Handle(t.Context(), batch(t, "+1", "!2", "+4"), stream.On(s, log(&got, always)), stream.OnUndecodable(func(context.Context, stream.Record, error) error { return errBoom })))
	require.Equal(t, []stream.BatchItemFailure{{"101"}}, resp.BatchItemFailures, "it could not be put aside")
	require.ErrorIs(t, resp.Err(), errBoom)

	resp = entity.Must(stream.Handle(t.Context(), batch(t, "+1", "+2"), stream.On(s, log(&got, boom("2"))), stream.OnUndecodable(put)))
	require.ErrorIs(t, resp.Err(), errBoom, "what a function fails with is no poison")
}

func TestHandle_UnroutedCanFail(t *testing.T) {
	t.Parallel()
	resp := entity.Must(stream.Handle(t.Context(), batch(t, "+1", "?2"), stream.On(things(t), func(context.Context, stream.Change[Thing]) error { return nil }), stream.OnUnrouted(func(context.Context, stream.Record) error { return errBoom })))
	require.Equal(t, []stream.BatchItemFailure{{"101"}}, resp.BatchItemFailures)
}

func TestHandle_ReportsTheFirstRecordAfterCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var got []string
	resp, err := stream.Handle(ctx, batch(t, "+1", "+2", "+3"), stream.On(things(t), log(&got, func(c stream.Change[Thing]) error {
		if c.New.ID == "2" {
			cancel()
		}
		return nil
	})))
	require.NoError(t, err)
	require.Equal(t, []string{"created 1", "created 2"}, got)
	require.Equal(t, []stream.BatchItemFailure{{"102"}}, resp.BatchItemFailures, "the second was done all the same")
	require.ErrorIs(t, resp.Err(), context.Canceled)
}

func TestHandle_DoesNotCatchAPanic(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "mine", func() {
		_, _ = stream.Handle(t.Context(), batch(t, "+1"), stream.On(things(t), func(context.Context, stream.Change[Thing]) error { panic("mine") }))
	})
}

func TestHandle_AFailedRecordWithoutSequenceNumberFailsTheBatch(t *testing.T) {
	t.Parallel()
	e := batch(t, "+1", "+2")
	e.Records[1].SequenceNumber = ""
	resp, err := stream.Handle(t.Context(), e, stream.On(things(t), func(context.Context, stream.Change[Thing]) error { return nil }))
	var bad *stream.RecordError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "e1", bad.EventID)
	require.Empty(t, resp.BatchItemFailures)
}

func TestHandle_MistakesInRoutesAreFoundBeforeAnyRecord(t *testing.T) {
	t.Parallel()
	s := things(t)
	called := false
	on := stream.On(s, func(context.Context, stream.Change[Thing]) error { called = true; return nil })
	for name, routes := range map[string][]stream.Route{
		"none":              nil,
		"no store":          {stream.OnUnrouted(func(context.Context, stream.Record) error { return nil })},
		"no function":       {on, stream.On[Thing](s, nil)},
		"nothing unrouted":  {on, stream.OnUnrouted(nil)},
		"nothing aside":     {on, stream.OnUndecodable(nil)},
		"an unknown kind":   {on, stream.On(s, func(context.Context, stream.Change[Thing]) error { return nil }, "exploded")},
		"not of this world": {on, {}},
		"twice":             {on, stream.OnUnrouted(func(context.Context, stream.Record) error { return nil }), stream.OnUnrouted(func(context.Context, stream.Record) error { return nil })},
	} {
		resp, err := stream.Handle(t.Context(), batch(t, "+1"), routes...)
		require.Equal(t, "EDD-9123", dbtest.InputCode(err), name)
		require.Nil(t, resp.Failure, name)
	}
	require.False(t, called)
}
