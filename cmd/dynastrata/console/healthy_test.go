package console

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tables/schemalock"
	"github.com/dynastrata/dynastrata/unique"
)

// Car has keys without a namespace. Its sentinels and checkpoints have one.
type Car struct {
	_ entity.Key        `name:"Car" pk:"pk=car-{id}" sk:"sk=v" kind:"type=car"`
	_ unique.Constraint `name:"plate" fields:"plate"`

	ID    string `dynamodbav:"id"`
	Plate string `dynamodbav:"plate"`
}

// populate declares everything on the table that the library stores for programs, and uses all of it: entities, a view, leases of which one is held,
// a reader of the stream, and one without a client.
func (l *lab) populate() {
	t, ctx := l.t, l.t.Context()
	l.story()
	entity.Must(l.visits.Rebuild(ctx))
	entity.Must(l.telemetry.Append(ctx, Telemetry{Channel: "c-1", DeviceID: "d-8", Timestamp: noon}))
	entity.Must(l.visits.CatchUp(ctx))
	entity.Must(l.visits.Rebuild(ctx)) // the first rows are retired
	leases := entity.Must(lease.New(l.db, lease.Options{}))
	entity.Must(leases.Acquire(ctx, "held"))
	require.NoError(t, entity.Must(leases.Acquire(ctx, "released")).Release(ctx))
	_, err := migrate.Rewrite(ctx, l.employees, migrate.Checkpoint("all"))
	require.NoError(t, err)
	stream.NewReader(nil, l.db, stream.ReaderOptions{Name: "declared"})
	var s session
	s.use(l.client)
	reader := stream.NewReader(s.streams, l.db, stream.ReaderOptions{Name: "search", Poll: time.Millisecond})
	reading, stop := context.WithCancel(ctx)
	seen, done := make(chan bool, 1000), make(chan error, 1)
	go func() {
		done <- reader.Consume(reading, func(context.Context, stream.Event) (stream.Response, error) {
			seen <- true
			return stream.Response{}, nil
		})
	}()
	<-seen
	check := func() { // also while the reader holds the leases of shards
		for _, run := range []func(...string) result{l.run, func(args ...string) result { return l.embedded("", args...) }} {
			r := run("check")
			require.Equal(t, ExitOK, r.code, r.out+r.err)
			require.Contains(t, r.out, "all as declared")
		}
	}
	require.NoError(t, os.WriteFile(l.lock, []byte(schemalock.Of(l.db).String()), 0o600))
	check()
	stop()
	require.NoError(t, <-done)
	check()
}

// Sentinels and checkpoints of an entity whose own keys have no namespace belong to it.
func TestCheck_FindsNothingBesideKeysWithoutNamespace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	cars := entity.Must(entity.New[Car](l.db))
	entity.Must(cars.Create(t.Context(), Car{ID: "1", Plate: "a"}))
	_, err := migrate.Rewrite(t.Context(), cars, migrate.Checkpoint("all"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(l.lock, []byte(schemalock.Of(l.db).String()), 0o600))
	for _, run := range []func(...string) result{l.run, func(args ...string) result { return l.embedded("", args...) }} {
		r := run("check")
		require.Equal(t, ExitOK, r.code, r.out+r.err)
		require.Contains(t, r.out, "3 items, all as declared")
	}
}

// Nothing that the library stores is a finding, whatever other namespaces have in the table.
func TestCheck_FindsNothingInAHealthyTable(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.populate()
	for _, space := range []entity.Namespace{{Version: 2}, {Name: "other"}, {Version: 10}} {
		x := &lab{t: t, now: l.now, prefix: l.prefix + space.Name + string(rune('a'+space.Version)), space: space, client: l.client, table: l.table, lock: l.lock + space.Name}
		x.declare(x.client, x.table)
		x.populate()
	}
	for _, run := range []func(...string) result{l.run, func(args ...string) result { return l.embedded("", args...) }} {
		r := run("check")
		require.Equal(t, ExitOK, r.code, r.out+r.err)
	}
	for _, store := range []migrate.Store{l.employees, l.telemetry} {
		done, err := migrate.Check(t.Context(), store, func(f migrate.Finding) error { t.Errorf("%+v", f); return nil })
		require.NoError(t, err)
		require.Positive(t, done.Evaluated)
	}
}

// Entities of the program whose names look like those of what the library stores.
type (
	TimelineNotes struct {
		_ entity.Key           `name:"TimelineNotes" pk:"$#{id}" sk:"$"`
		_ lifecycle.SoftDelete `ttl:"30d"`

		ID string `dynamodbav:"id"`
	}
	ReaderJobs struct {
		_ entity.Key `name:"StreamReader-jobs" pk:"$#{id}" sk:"$"`

		ID string `dynamodbav:"id"`
	}
	LeasesOfCars struct {
		_ entity.Key `name:"Leases-cars" pk:"$#{id}" sk:"$"`

		ID string `dynamodbav:"id"`
	}
	OtherRows struct {
		_ entity.Key `name:"Timeline-visits" table:"other" pk:"$#{id}" sk:"$"`

		ID string `dynamodbav:"id"`
	}
	OtherManifest struct {
		_ entity.Key `name:"TimelineManifest-visits" table:"other" pk:"$#{id}" sk:"$"`

		ID string `dynamodbav:"id"`
	}
)

// A name makes no item one of the library: with the lock and with the program, such items are those of any entity.
func TestCheck_NamesDecideNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	notes := entity.Must(entity.New[TimelineNotes](l.db))
	jobs := entity.Must(entity.New[ReaderJobs](l.db))
	cars := entity.Must(entity.New[LeasesOfCars](l.db))
	require.NoError(t, os.WriteFile(l.lock, []byte(schemalock.Of(l.db).String()), 0o600))
	entity.Must(notes.Create(t.Context(), TimelineNotes{ID: "n"}))
	entity.Must(jobs.Create(t.Context(), ReaderJobs{ID: "j"}))
	entity.Must(cars.Create(t.Context(), LeasesOfCars{ID: "c"}))
	old := item.Item{schema.EntityAttr: item.S("TimelineNotes"), schema.WriteAttr: item.S("w"), "pk": item.S("$app#v1#timelinenotes#o"), "sk": item.S("$app#v1#timelinenotes"), "id": item.S("o")}
	old["_ttl"] = item.N("1700000000") // of a declaration with lifecycle.TTL: it does not end any more
	l.put(old)
	for _, run := range []func(...string) result{l.run, func(args ...string) result { return l.embedded("", args...) }} {
		r := run("check")
		require.Equal(t, ExitOK, r.code, r.out+r.err)
		r = run("dump")
		require.Equal(t, ExitOK, r.code, r.err)
		require.Equal(t, 4, strings.Count(r.out, "\n"), r.out)
	}
}

// Entities of the program in another table do not take the place of what a view stores under their names.
func TestModel_KnowsReadModelsByTheirMark(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, now: noon, table: "app", prefix: "none", lock: t.TempDir() + "/dynastrata.lock"}
	l.declare(nil, "app")
	entity.Must(entity.New[OtherRows](l.db))
	entity.Must(entity.New[OtherManifest](l.db))
	m, err := modelOfDB(l.db)
	require.NoError(t, err)
	views := 0
	for _, e := range m.entities {
		if e.view() == "" {
			continue
		}
		views++
		require.Equal(t, KindRow, e.derived)
		require.Equal(t, "visits", e.view())
		require.Equal(t, KindManifest, m.manifestOf(e).derived)
		require.Equal(t, e.table, m.manifestOf(e).table)
	}
	require.Equal(t, 1, views)
	r := l.embedded("", strings.Fields("--endpoint http://127.0.0.1:1 run rebuild --generate-shell-completion")...)
	require.Equal(t, "visits\n", r.out)
}

// Sentinels and checkpoints of an entity whose own keys have no namespace are in that of the lock, and of no other; if the lock shows none, in any.
func TestModel_KnowsTheNamespaceOfKeysWithoutOne(t *testing.T) {
	t.Parallel()
	type bare struct {
		_  entity.Key `name:"Bare" pk:"pk=bare-{id}" sk:"sk=v" kind:"type=bare"`
		ID string     `dynamodbav:"id"`
	}
	mine := func(prefix, mark string) item.Item {
		return item.Item{"pk": item.S(prefix), "sk": item.S(prefix), schema.EntityAttr: item.S(mark)}
	}
	for _, with := range []func(*entity.DB){
		func(db *entity.DB) { entity.Must(entity.New[Car](db)) },
		func(db *entity.DB) { entity.Must(entity.New[ReaderJobs](db)) },
		func(*entity.DB) {},
	} {
		db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
		entity.Must(entity.New[bare](db))
		with(db)
		m, err := modelOfDB(db)
		require.NoError(t, err)
		require.Equal(t, KindCheckpoint, m.decode("app", mine("$app#v1#bare._rewrite#all", "Bare._rewrite"), noon).Kind)
		want := KindUnknown
		if len(m.entities) == 1 {
			want = KindCheckpoint
		}
		require.Equal(t, want, m.decode("app", mine("$app#v2#bare._rewrite#all", "Bare._rewrite"), noon).Kind)
		if _, err := m.entity("Car"); err == nil {
			require.Equal(t, KindSentinel, m.decode("app", mine("$app#v1#car.plate#a", "Car._unique.plate"), noon).Kind)
		}
	}
}

// A view whose manifest the lock lacks is a mistake of the lock.
func TestQuery_NeedsTheManifestInTheLock(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	text, err := os.ReadFile(l.lock)
	require.NoError(t, err)
	before, after, _ := strings.Cut(string(text), "\nderived TimelineManifest-visits\n")
	_, after, _ = strings.Cut(after, "\nderived ")
	require.NoError(t, os.WriteFile(l.lock, []byte(before+"\nderived "+after), 0o600))
	r := l.run("query", "Timeline-visits")
	require.Equal(t, ExitUsage, r.code, r.out)
	require.Contains(t, r.err, "EDD-9196 command: the lock lacks TimelineManifest-visits")
}
