package docs_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/avjson"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

func TestLeaving_PlainSDKReadsAndWritesEverything(t *testing.T) {
	t.Parallel()
	binary := build(t, "leaving", read(t, "testdata/leaving/main.go"), read(t, "testdata/leaving/email.go"),
		read(t, "testdata/leaving/export.go"))

	t.Run("an export has every item", func(t *testing.T) {
		t.Parallel()
		client, table := localdb.Test(t)
		storeEverything(t, client, table)
		out := strings.TrimSpace(onDatabase(t, client, binary, table))
		lines := strings.Split(out, "\n")
		counts, lines := lines[len(lines)-1], lines[:len(lines)-1]
		// Of the release: 3 people and a reading, a deleted copy, 8 events, 4 sentinels, 7 snapshots and a note.
		require.Equal(t, "map[Leases:1 StreamReader:2 Timeline:1 TimelineManifest:1 TimelinePages:1 copy:33 current:5 deleted:2 event:9 "+
			"rewrite:1 sentinel:5 snapshot:9 verbatim:1]", counts)
		var exported []string
		for _, line := range lines {
			var of struct{ Own, Added map[string]json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(line), &of))
			for name, value := range of.Added {
				require.NotContains(t, of.Own, name)
				of.Own[name] = value
			}
			text, err := json.Marshal(of.Own)
			require.NoError(t, err)
			item, problem := avjson.Item(text)
			require.Empty(t, problem, line)
			exported = append(exported, dumpItem(item, []string{"pk", "sk"}))
		}
		slices.Sort(exported)
		require.Equal(t, dump(t, client, table, "pk", "sk"), strings.Join(exported, "\n\n"))
	})

	t.Run("an update by hand keeps everything in step", func(t *testing.T) {
		t.Parallel()
		client, table := localdb.Test(t)
		db := entity.Must(entity.Open(client, entity.Config{Table: table}))
		members := entity.Must(entity.New[member](db))
		require.NoError(t, tables.Create(t.Context(), db))
		ada, err := members.Create(t.Context(), member{MemberID: "m-1", Team: "t-1", Email: "ada@x.org"})
		require.NoError(t, err)
		onDatabase(t, client, binary, table, "m-1", "a@x.org")

		require.Empty(t, check(t, members))
		now, err := entity.Must(unique.Of(members, "email")).Find(t.Context(), member{Email: "a@x.org"})
		require.NoError(t, err)
		require.EqualValues(t, 2, now.Version)
		versions, err := entity.Must(versioned.Of(members)).List(ada, versioned.WithCurrent()).Collect(t.Context())
		require.NoError(t, err)
		require.Len(t, versions, 2)
		require.Equal(t, ada, versions[0].Item)
		require.Equal(t, now, versions[1].Item)
		_, err = members.Create(t.Context(), member{MemberID: "m-2", Team: "t-1", Email: "ada@x.org"})
		require.NoError(t, err, "the address is free")
		_, err = members.Update(t.Context(), ada, entity.Set(&entity.Fields[member]().Team, "t-2"), versioned.Expect(1))
		require.ErrorIs(t, err, entity.ErrConflict)
	})
}

// storeEverything makes a table with the items of a release, and with what leases, readers, rewrites, copies and timelines store.
func storeEverything(t *testing.T, client *dynamodb.Client, table string) {
	t.Helper()
	ctx := t.Context()
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	members, guests := entity.Must(entity.New[member](db)), entity.Must(entity.New[guest](db))
	readings := entity.Must(timeseries.New[telemetry](db))
	leases := entity.Must(lease.New(db, lease.Options{}))
	view := entity.Must(timeline.New(db, timeline.Projection[string, int]{
		Name: "reports", Version: 1, Retention: 7 * 24 * time.Hour, Source: timeline.Series(readings),
		Handlers: []timeline.Handler[string, int]{timeline.On("telemetry.appended", func(r telemetry) string { return r.DeviceID },
			func(n *int, _ timeline.Event[telemetry]) error { *n++; return nil })},
	}))
	o := client.Options()
	streams := dynamodbstreams.New(dynamodbstreams.Options{Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials, HTTPClient: o.HTTPClient})
	reader := stream.NewReader(streams, db, stream.ReaderOptions{Name: "search"})
	require.NoError(t, tables.Create(ctx, db))
	_, err := dbtest.OpenStream(ctx, client, table, types.StreamViewTypeNewAndOldImages)
	require.NoError(t, err)

	release, err := os.ReadFile(filepath.Join("..", "tests", "format", "v0.1.0", "items.jsonl"))
	require.NoError(t, err)
	for line := range strings.Lines(string(release)) {
		item, problem := avjson.Item(json.RawMessage(line))
		require.Empty(t, problem)
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item})
		require.NoError(t, err)
	}
	ada, err := members.Create(ctx, member{MemberID: "m-1", Team: "t-1", Email: "ada@x.org"})
	require.NoError(t, err)
	reading, stop := context.WithCancel(ctx)
	require.NoError(t, reader.Run(reading, stream.On(members, func(context.Context, stream.Change[member]) error { stop(); return nil })))
	require.NoError(t, members.Delete(ctx, ada))
	_, err = readings.Append(ctx, telemetry{Channel: "c-1", DeviceID: "d-7", Timestamp: time.Now(), Location: ptr("dock 4")})
	require.NoError(t, err)
	_, err = view.Rebuild(ctx)
	require.NoError(t, err)
	_, err = leases.Acquire(ctx, "nightly")
	require.NoError(t, err)
	_, err = migrate.Rewrite(ctx, members, migrate.Checkpoint("fill"))
	require.NoError(t, err)
	copier := entity.Must(migrate.Copy("guests", members, guests, func(m member) (guest, error) { return guest{MemberID: m.MemberID, Team: m.Team}, nil }))
	_, err = copier.Run(ctx)
	require.NoError(t, err)
}
