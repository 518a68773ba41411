package stream_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/timeseries"
)

// seen is what a view shows of a change: its kind, or "?" where that cannot be told, with + for the new image and - for
// the old one.
func seen[T any](t *testing.T, s stream.Source[T], records []stream.Record) []string {
	t.Helper()
	var all []string
	for _, r := range records {
		c, ok, err := stream.Of(s, r)
		var lacks *stream.ImageError
		switch {
		case err != nil:
			require.ErrorAs(t, err, &lacks)
			require.Equal(t, r.View, lacks.View)
			require.NotEmpty(t, lacks.Needs)
			all = append(all, "? "+string(r.Operation))
		case ok:
			text := string(c.Kind)
			if c.Old != nil {
				text += " -"
			}
			if c.New != nil {
				text += " +"
			}
			all = append(all, text)
		}
	}
	return all
}

func TestViews_OfAnEntityWithSatellites(t *testing.T) {
	t.Parallel()
	for view, want := range map[types.StreamViewType][]string{
		types.StreamViewTypeNewAndOldImages: {
			"created +", "updated - +", "current removed -", "soft deleted +", "copy removed -", "restored +", "deleted -", "created +", "updated - +", "appended +", "deleted -", "event removed -",
		},
		types.StreamViewTypeNewImage: {
			"created +", "updated +", "current removed", "soft deleted +", "copy removed", "restored +", "deleted", "created +", "updated +", "appended +", "deleted", "event removed",
		},
		// Without the new image a restored item looks like a new one.
		types.StreamViewTypeOldImage: {
			"? INSERT", "updated -", "current removed -", "soft deleted", "copy removed -", "? INSERT", "deleted -", "created", "updated -", "appended", "deleted -", "event removed -",
		},
		types.StreamViewTypeKeysOnly: {
			"? INSERT", "updated", "current removed", "soft deleted", "copy removed", "? INSERT", "deleted", "created", "updated", "appended", "deleted", "event removed",
		},
	} {
		t.Run(string(view), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.view = view
			notes, teams := store[Note](l), store[Team](l)
			readings := entity.Must(timeseries.New[Reading](l.db))
			l.create()
			bin := entity.Must(lifecycle.Of(notes))
			var got []string
			look := func() {
				records := l.next()
				got = append(got, seen(t, notes, records)...)
				got = append(got, seen(t, teams, records)...)
				got = append(got, seen(t, readings, records)...)
			}
			n := entity.Must(notes.Create(l.ctx, Note{Owner: "o#v#1", ID: "e#d"}))
			entity.Must(notes.Update(l.ctx, n, entity.Set(&entity.Fields[Note]().Title, "x")))
			require.NoError(t, notes.Delete(l.ctx, n))
			look()
			entity.Must(bin.Restore(l.ctx, n))
			look()
			entity.Must(teams.Put(l.ctx, Team{ID: "t"}))
			l.next()
			require.NoError(t, teams.Delete(l.ctx, Team{ID: "t"}))
			look()
			_, _, err := readings.Upsert(l.ctx, Reading{Device: "d", Channel: "v#1"})
			require.NoError(t, err)
			entity.Must(readings.Append(l.ctx, Reading{Device: "d", Channel: "v#1", At: time.Unix(4e9, 0), Door: ptr(true)}))
			require.NoError(t, readings.Purge(l.ctx, Reading{Device: "d", Channel: "v#1"}))
			look()
			require.Equal(t, want, got)
		})
	}
}

func TestViews_OfVerbatimEntities(t *testing.T) {
	t.Parallel()
	for view, want := range map[types.StreamViewType][2][]string{
		types.StreamViewTypeNewAndOldImages: {{"created +", "updated - +", "deleted -"}, {"created +", "updated - +", "deleted -"}},
		types.StreamViewTypeNewImage:        {{"created +", "updated +", "deleted"}, {"created +", "updated +", "? REMOVE"}},
		types.StreamViewTypeOldImage:        {{"created", "updated -", "deleted -"}, {"? INSERT", "updated -", "deleted -"}},
		types.StreamViewTypeKeysOnly:        {{"created", "updated", "deleted"}, {"? INSERT", "? MODIFY", "? REMOVE"}},
	} {
		t.Run(string(view), func(t *testing.T) {
			t.Parallel()
			alone := newLab(t, func(c *entity.Config) { c.Tables = map[string]string{"devices": c.Table} })
			alone.view = view
			devices := store[Device](alone)
			alone.create()
			d := entity.Must(devices.Create(alone.ctx, Device{ID: "d", Batch: 1}))
			entity.Must(devices.Update(alone.ctx, d, entity.Set(&entity.Fields[Device]().State, "on")))
			require.NoError(t, devices.Delete(alone.ctx, d))
			require.Equal(t, want[0], seen(t, devices, alone.next()), "alone in its table, its key is enough")

			shared := garage(t)
			shared.view = view
			bikes := store[Bike](shared)
			store[Lamp](shared)
			shared.create()
			b := entity.Must(bikes.Create(shared.ctx, Bike{ID: "b", Gears: 1}))
			entity.Must(bikes.Update(shared.ctx, b, entity.Set(&entity.Fields[Bike]().Gears, 2)))
			require.NoError(t, bikes.Delete(shared.ctx, b))
			require.Equal(t, want[1], seen(t, bikes, shared.next()), "its kind is needed")
		})
	}
}

func TestViews_AVerbatimEntityIsNotRecognizedByItsKey(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.view = types.StreamViewTypeKeysOnly
	plates := store[Plate](l)
	l.create()
	entity.Must(plates.Create(l.ctx, Plate{ID: "p"}))
	records := l.next()
	require.Equal(t, []string{"created"}, seen(t, plates, records))
	store[Team](l)
	require.Equal(t, []string{"? INSERT"}, seen(t, plates, records))
}

func TestChange_SaysWhenTheViewLacksWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Team](entity.Must(entity.Open(nil, entity.Config{Table: "app"}))))
	r := stream.Record{
		Operation: "MODIFY", SequenceNumber: "1", View: "KEYS_ONLY",
		Keys: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "$app#v1#team#t"}, "sk": &types.AttributeValueMemberS{Value: "$app#v1#team"}},
	}
	c, ok, err := stream.Of(s, r)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, stream.Updated, c.Kind)
	var lacks *stream.ImageError
	_, err = c.Item()
	require.ErrorAs(t, err, &lacks)
	require.Equal(t, stream.ImageError{Entity: "Team", Operation: "MODIFY", View: "KEYS_ONLY", Needs: "NewImage or OldImage"}, *lacks)
	_, told, err := c.Current()
	require.True(t, told)
	require.ErrorAs(t, err, &lacks)
	require.Equal(t, "NewImage", lacks.Needs)
	require.NotContains(t, err.Error(), "$app")
}
