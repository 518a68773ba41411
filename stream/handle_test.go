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
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// batch is an event of records of things: "+1" inserts thing 1, "-1" removes it, "!1" cannot be decoded, "?" belongs to no store,
// "x" is no record at all.
func batch(t testing.TB, list ...string) stream.Event {
	t.Helper()
	var records []string
	for i, x := range list {
		op, image, id := "INSERT", "NewImage", x[1:]
		value, name := `{"S":"`+id+`"}`, "Thing"
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

var errBoom = errors.New("boom")

// calls notes what routes are called with.
type calls []string

// on returns a route that notes changes behind a name, and fails at the thing with the id failing.
func (n *calls) on(s *entity.Store[Thing], name, failing string, kinds ...stream.Kind) stream.Route {
	return stream.On(s, func(_ context.Context, c stream.Change[Thing]) error {
		v, err := c.Item()
		*n = append(*n, name+string(c.Kind)+" "+v.ID)
		if v.ID == failing {
			return errBoom
		}
		return err
	}, kinds...)
}

func (n *calls) unrouted(fails error) stream.Route {
	return stream.OnUnrouted(func(_ context.Context, r stream.Record) error { *n = append(*n, "unrouted "+r.EventID); return fails })
}

func (n *calls) undecodable(fails error) stream.Route {
	return stream.OnUndecodable(func(_ context.Context, r stream.Record, err error) error {
		if err != nil {
			*n = append(*n, "aside "+r.EventID)
		}
		return fails
	})
}

// ignore does nothing with a change.
func ignore(context.Context, stream.Change[Thing]) error { return nil }

func TestHandle_Batches(t *testing.T) {
	t.Parallel()
	type (
		store  = *entity.Store[Thing]
		routes = []stream.Route
	)
	plain := func(n *calls, s store) routes { return routes{n.on(s, "", "")} }
	failing := func(n *calls, s store) routes { return routes{n.on(s, "", "2")} }
	for name, c := range map[string]struct {
		batch    []string
		routes   func(*calls, store) routes
		calls    calls
		response stream.Response // its numbers
		failure  any             // of the second record: an error, or a pointer for one of a type; nil if none failed
	}{
		"each record in order":                        {[]string{"+1", "?9", "-1", "+2"}, plain, calls{"created 1", "deleted 1", "created 2"}, stream.Response{Handled: 3, Ignored: 1}, nil},
		"what follows a failure must not overtake it": {[]string{"+1", "+2", "+3"}, failing, calls{"created 1", "created 2"}, stream.Response{Handled: 1}, errBoom},
		"every route of a store in order": {
			[]string{"+1", "+2"}, func(n *calls, s store) routes {
				return routes{n.on(s, "", ""), n.on(s, "second ", "2"), n.on(s, "third ", "")}
			},
			calls{"created 1", "second created 1", "third created 1", "created 2", "second created 2"}, stream.Response{Handled: 1}, errBoom,
		},
		"the kinds that a route asked for; what a store knows is not unrouted": {
			[]string{"+1", "-1", "?2", "+3"}, func(n *calls, s store) routes {
				return routes{n.on(s, "", "", stream.Deleted, stream.Expired), n.unrouted(nil)}
			},
			calls{"deleted 1", "unrouted e2"}, stream.Response{Handled: 1, Ignored: 3}, nil,
		},
		"other kinds are not decoded": {
			[]string{"!1", "-2"}, func(n *calls, s store) routes { return routes{n.on(s, "", "", stream.Deleted)} },
			calls{"deleted 2"}, stream.Response{Handled: 1, Ignored: 1}, nil,
		},
		"an item that cannot be decoded": {[]string{"+1", "!2", "+3"}, plain, calls{"created 1"}, stream.Response{Handled: 1}, new(*entity.DecodeError)},
		"a record that cannot be read":   {[]string{"+1", "x2", "+3"}, plain, calls{"created 1"}, stream.Response{Handled: 1}, new(*stream.RecordError)},
		"undecodable ones are put aside: once for each route, a malformed record once": {
			[]string{"+1", "!2", "x3", "+4"}, func(n *calls, s store) routes {
				return routes{n.on(s, "", ""), stream.On(s, ignore), n.undecodable(nil)}
			},
			calls{"created 1", "aside e1", "aside e1", "aside e2", "created 4"}, stream.Response{Handled: 2, Skipped: 2}, nil,
		},
		"an undecodable one that cannot be put aside": {
			[]string{"+1", "!2", "+4"}, func(n *calls, s store) routes { return routes{n.on(s, "", ""), n.undecodable(errBoom)} },
			calls{"created 1", "aside e1"}, stream.Response{Handled: 1}, errBoom,
		},
		"what a function fails with does not make a record undecodable": {
			[]string{"+1", "+2"}, func(n *calls, s store) routes { return routes{n.on(s, "", "2"), n.undecodable(nil)} },
			calls{"created 1", "created 2"}, stream.Response{Handled: 1}, errBoom,
		},
		"an unrouted record whose function fails": {
			[]string{"+1", "?2"}, func(n *calls, s store) routes { return routes{stream.On(s, ignore), n.unrouted(errBoom)} },
			calls{"unrouted e1"}, stream.Response{Handled: 1}, errBoom,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got calls
			resp, err := stream.Handle(t.Context(), batch(t, c.batch...), c.routes(&got, things(t))...)
			require.NoError(t, err, "an error would make Lambda repeat the first record too")
			require.Equal(t, c.calls, got)
			require.Equal(t, []int{c.response.Handled, c.response.Ignored, c.response.Skipped}, []int{resp.Handled, resp.Ignored, resp.Skipped})
			report := `{"batchItemFailures":[{"itemIdentifier":"101"}]}`
			switch want := c.failure.(type) {
			case nil:
				require.NoError(t, resp.Err())
				report = `{"batchItemFailures":[]}`
			case error:
				require.ErrorIs(t, resp.Err(), want)
			default:
				require.ErrorAs(t, resp.Err(), want)
			}
			if c.failure != nil {
				require.Equal(t, "e1", resp.Failure.Record.EventID)
			}
			require.JSONEq(t, report, string(entity.Must(json.Marshal(resp))))
		})
	}
}

func TestHandle_ReportsTheFirstRecordAfterCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	resp := entity.Must(stream.Handle(ctx, batch(t, "+1", "+2", "+3"), stream.On(things(t), func(_ context.Context, c stream.Change[Thing]) error {
		if c.New.ID == "2" {
			cancel()
		}
		return nil
	})))
	require.Equal(t, 2, resp.Handled)
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
	resp, err := stream.Handle(t.Context(), e, stream.On(things(t), ignore))
	require.Equal(t, "e1", dbtest.As[*stream.RecordError](t, err).EventID)
	require.Empty(t, resp.BatchItemFailures)
}

func TestHandle_MistakesInRoutesAreFoundBeforeAnyRecord(t *testing.T) {
	t.Parallel()
	s, called := things(t), false
	on := stream.On(s, func(context.Context, stream.Change[Thing]) error { called = true; return nil })
	aside := func(context.Context, stream.Record, error) error { return nil }
	for name, routes := range map[string][]stream.Route{
		"none":              nil,
		"no store":          {stream.OnUnrouted(func(context.Context, stream.Record) error { return nil })},
		"no function":       {on, stream.On[Thing](s, nil)},
		"nothing unrouted":  {on, stream.OnUnrouted(nil)},
		"nothing aside":     {on, stream.OnUndecodable(nil)},
		"an unknown kind":   {on, stream.On(s, ignore, "exploded")},
		"not of this world": {on, {}},
		"aside twice":       {on, stream.OnUndecodable(aside), stream.OnUndecodable(aside)},
		"twice":             {on, stream.OnUnrouted(func(context.Context, stream.Record) error { return nil }), stream.OnUnrouted(func(context.Context, stream.Record) error { return nil })},
	} {
		resp, err := stream.Handle(t.Context(), batch(t, "+1"), routes...)
		require.Equal(t, "EDD-9123", dbtest.InputCode(err), name)
		require.Nil(t, resp.Failure, name)
	}
	require.False(t, called)
}
