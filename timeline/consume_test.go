package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeline"
)

// failing returns the views of devices by partition and of sites, whose handlers fail for readings of minute 3 until it is mended.
func failing(l *lab) (_ []timeline.Projection[string, totals], mend func()) {
	broken := errors.New("broken")
	handler := func(s *totals, e timeline.Event[reading]) error {
		if e.Payload.Value == 30 && broken != nil {
			return broken
		}
		return sum(s, e)
	}
	devices, sites := l.devices(), l.sites()
	devices.Handlers = []timeline.Handler[string, totals]{timeline.On("reading.appended", byDevice, handler)}
	sites.Handlers = []timeline.Handler[string, totals]{timeline.On("reading.appended", bySite, handler)}
	return []timeline.Projection[string, totals]{devices, sites}, func() { broken = nil }
}

// deliveries returns the records of the readings of a device at these minutes, in that order.
func (l *lab) deliveries(device string, minutes ...float64) (e stream.Event) {
	l.T.Helper()
	for _, m := range minutes {
		for _, it := range l.Items() {
			r := l.record(it, int(1000+m*10))
			if c, ok, err := stream.Of(l.readings, r); err == nil && ok && c.Kind == stream.Appended && c.New.Device == device && c.New.At.Equal(at(m)) {
				e.Records = append(e.Records, r)
			}
		}
	}
	require.Len(l.T, e.Records, len(minutes))
	return e
}

// Of the events of a group those before the one that fails are applied, and those after it wait. The response names the one that fails. Once that was
// put aside, or its handler was mended, the others follow.
func TestConsume_OneEventThatFailsLeavesTheOthersOfItsGroup(t *testing.T) {
	t.Parallel()
	for _, mended := range []bool{false, true} {
		for i, name := range []string{"by partition", "sorted"} {
			t.Run(fmt.Sprint(name, mended), func(t *testing.T) {
				t.Parallel()
				l := newLab(t)
				all, mend := failing(l)
				v := view(l, all[i])
				rebuild(l, v)
				group := []string{"d-1", "north"}[i]
				for m := 1; m <= 5; m++ {
					l.append("d-1", "north", float64(m))
				}
				e := l.deliveries("d-1", 1, 2, 3, 4, 5)
				resp, done, err := v.Consume(l.Ctx, e)
				require.NoError(t, err)
				assert.Equal(t, []stream.BatchItemFailure{{ItemIdentifier: "1030"}}, resp.BatchItemFailures)
				assert.Equal(t, 2, done.Applied)
				assert.Equal(t, []int{10, 20}, rows(l, v)[group].State.Order)
				rest, want := e.Records[3:], []int{10, 20, 40, 50}
				if mended {
					mend()
					rest, want = e.Records[2:], []int{10, 20, 30, 40, 50}
				}
				resp, _, err = v.Consume(l.Ctx, stream.Event{Records: rest})
				require.NoError(t, err)
				assert.Empty(t, resp.BatchItemFailures)
				assert.Equal(t, want, rows(l, v)[group].State.Order)
				resp, done, err = v.Consume(l.Ctx, stream.Event{Records: slices.Concat(e.Records[:2], rest)})
				require.NoError(t, err)
				assert.Empty(t, resp.BatchItemFailures)
				assert.Equal(t, len(want), done.Duplicates)
			})
		}
	}
}

// Events are delivered in another order than they are folded in, a late one among them, and any of them fails. The response names that one, what was
// delivered before it is in the row, and in the end the row is that of the history.
func TestConsume_TheOneThatFailsIsNamedInAnyOrder(t *testing.T) {
	t.Parallel()
	seed := testsize.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for round := range testsize.Pick(12, 100) {
		l := newLab(t)
		all, mend := failing(l)
		v := view(l, all[0])
		l.append("d-1", "north", 2.5)
		rebuild(l, v)
		l.append("d-1", "north", 1, 2, 3, 4, 5, 6)
		minutes := []float64{1, 2, 3, 4, 5, 6}
		rnd.Shuffle(len(minutes), func(i, j int) { minutes[i], minutes[j] = minutes[j], minutes[i] })
		bad := slices.Index(minutes, 3)
		e := l.deliveries("d-1", minutes...)
		resp, _, err := v.Consume(l.Ctx, e)
		require.NoError(t, err)
		require.Equal(t, []stream.BatchItemFailure{{ItemIdentifier: "1030"}}, resp.BatchItemFailures, "seed %d, round %d: %v", seed, round, minutes)
		want := []int{25}
		for _, m := range minutes[:bad] {
			want = append(want, int(m*10))
		}
		slices.Sort(want)
		require.Equal(t, want, rows(l, v)["d-1"].State.Order, "seed %d, round %d: %v", seed, round, minutes)
		mend()
		resp, _, err = v.Consume(l.Ctx, stream.Event{Records: e.Records[bad:]})
		require.NoError(t, err)
		require.Empty(t, resp.BatchItemFailures)
		replayed(l, v, fmt.Sprint(minutes))
	}
}

// A reader parks the record that fails, and none of the healthy ones before and after it.
func TestConsume_OnAReaderParksOnlyWhatFails(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	_, err := dbtest.OpenStream(l.Ctx, l.Raw, l.Table, types.StreamViewTypeNewAndOldImages)
	require.NoError(t, err)
	all, _ := failing(l)
	v := view(l, all[0])
	rebuild(l, v)
	for m := 1; m <= 6; m++ {
		l.append("d-1", "north", float64(m))
		l.append("d-2", "south", float64(m+10))
	}
	o := l.Raw.Options()
	streams := dynamodbstreams.New(dynamodbstreams.Options{Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials, HTTPClient: o.HTTPClient})
	ctx, stop := context.WithCancel(l.Ctx)
	var parked []string
	r := stream.NewReader(streams, l.DB, stream.ReaderOptions{Name: "rows", Attempts: 2, Poll: time.Millisecond, OnLost: func(context.Context, *stream.LostError) error { return nil }, Park: func(_ context.Context, f stream.Failure) error {
		parked = append(parked, dbtest.Text(f.Record.New["device"])+" "+f.Record.New["value"].(*types.AttributeValueMemberN).Value)
		return nil
	}})
	done := make(chan error, 1)
	go func() {
		done <- r.Consume(ctx, func(ctx context.Context, e stream.Event) (stream.Response, error) {
			resp, _, err := v.Consume(ctx, e)
			return resp, err
		})
	}()
	want := map[string][]int{"d-1": {10, 20, 40, 50, 60}, "d-2": {110, 120, 130, 140, 150, 160}}
	require.Eventually(t, func() bool {
		got := rows(l, v)
		return slices.Equal(got["d-1"].State.Order, want["d-1"]) && slices.Equal(got["d-2"].State.Order, want["d-2"])
	}, 2*time.Minute, 5*time.Millisecond)
	stop()
	require.NoError(t, <-done)
	require.Equal(t, []string{"d-1 30"}, parked)
}

// Of an item with states, those before the one that cannot be used are applied, and those after it wait until it was put aside.
func TestConsume_OneStateThatFailsLeavesTheOthersOfItsItem(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := timeline.Projection[string, totals]{Name: "texts", Version: 1, Source: timeline.Versions(l.past)}
	for _, h := range []string{"created", "updated"} {
		p.Handlers = append(p.Handlers, timeline.On("message."+h, func(m message) string { return m.Channel }, func(s *totals, e timeline.Event[message]) error {
			if e.Version == 3 {
				return errors.New("broken")
			}
			s.Count++
			s.Order = append(s.Order, int(e.Version))
			return nil
		}))
	}
	v := view(l, p)
	rebuild(l, v)
	l.OK(l.messages.Create(l.Ctx, message{ID: "m", User: "u", Channel: "c"}))
	var e stream.Event
	for n := 1; n <= 5; n++ {
		if n > 1 {
			l.OK(l.messages.Update(l.Ctx, message{ID: "m"}, entity.Set(&entity.Fields[message]().Text, strconv.Itoa(n))))
		}
		for _, it := range l.Items() {
			if kind := it["_k"]; dbtest.Text(it["__edd_e__"]) == "Message" && kind == nil {
				e.Records = append(e.Records, l.record(it, n))
			}
		}
	}
	require.Len(t, e.Records, 5)
	resp, _, err := v.Consume(l.Ctx, e)
	require.NoError(t, err)
	assert.Equal(t, []stream.BatchItemFailure{{ItemIdentifier: "3"}}, resp.BatchItemFailures)
	assert.Equal(t, []int{1, 2}, rows(l, v)["c"].State.Order)
	resp, _, err = v.Consume(l.Ctx, stream.Event{Records: e.Records[3:]})
	require.NoError(t, err)
	assert.Empty(t, resp.BatchItemFailures)
	assert.Equal(t, []int{1, 2, 4, 5}, rows(l, v)["c"].State.Order)
}
