package console

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/schemalock"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Job is in an index whose partitions are spread over four.
type Job struct {
	_ entity.Key `name:"Job" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{rank}" shards:"4"`
	_ entity.GSI `name:"verbatim" index:"gsi2" pk:"gsi2pk={state}" sk:"gsi2sk={rank:03}" shards:"3"`

	ID    string `dynamodbav:"id"`
	State string `dynamodbav:"state"`
	Rank  int    `dynamodbav:"rank" entity:"zero"`
}

// Charge is a series whose events have an id.
type Charge struct {
	_ entity.Key        `name:"Charge" pk:"$#{account}" sk:"$"`
	_ timeseries.Events `orderBy:"phase" id:"event" late:"record"`

	Account string `dynamodbav:"account"`
	Phase   string `dynamodbav:"phase"`
	Event   string `dynamodbav:"event"`
	Cents   int    `dynamodbav:"cents" entity:"append"`
}

// Events with ids are read from the lock alone, whatever is in their keys.
func TestEventIDs_AreShownAndChecked(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	charges := entity.Must(timeseries.New[Charge](db))
	require.NoError(t, tables.Create(t.Context(), db))
	for i, id := range []string{"#e#", "e", "b"} {
		_, err := charges.Append(t.Context(), Charge{Account: "e", Phase: "e", Event: id, Cents: i})
		require.NoError(t, err)
	}
	lock := filepath.Join(t.TempDir(), "lock")
	require.NoError(t, os.WriteFile(lock, []byte(schemalock.Of(db).String()), 0o600))
	run := func(args ...string) string {
		var out bytes.Buffer
		code := Run(t.Context(), App{Client: client}, Streams{In: strings.NewReader(""), Out: &out, Err: &out}, append([]string{"--lock", lock, "--table", table}, args...))
		require.Equal(t, ExitOK, code, out.String())
		return out.String()
	}
	require.Contains(t, run("schema", "Charge"), "#e#{phase}#{event}")
	history := run("log", "Charge", "account=e")
	require.Contains(t, history, "phase#event")
	require.Regexp(t, `(?s)e#e .*cents=1.*e#b .*cents=2.*e#%23e%23 .*cents=0`, history)
	require.Contains(t, run("diff", "Charge", "account=e", "e#b", "e#e"), "cents")
	require.Contains(t, run("check"), "4 items")
}

// A query of an index with shards prints the items of all of them, in the order of the sort key.
func TestQuery_OfShardsIsInOneOrder(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	jobs := entity.Must(entity.New[Job](db))
	require.NoError(t, tables.Create(t.Context(), db))
	for i := range 20 {
		_, err := jobs.Create(t.Context(), Job{ID: fmt.Sprintf("j-%02d", i), State: []string{"on", "off"}[i/15], Rank: i * 7 % 20})
		require.NoError(t, err)
	}
	lock := filepath.Join(t.TempDir(), "lock")
	require.NoError(t, os.WriteFile(lock, []byte(schemalock.Of(db).String()), 0o600))
	run := func(args ...string) (string, int) {
		var out bytes.Buffer
		code := Run(t.Context(), App{Client: client}, Streams{In: strings.NewReader(""), Out: &out, Err: &out}, append([]string{"--lock", lock, "--table", table}, args...))
		return out.String(), code
	}
	ranks := func(out string) (all []string) {
		for _, found := range regexp.MustCompile(`rank=(\d+)`).FindAllStringSubmatch(out, -1) {
			all = append(all, fmt.Sprintf("%02s", found[1]))
		}
		return all
	}
	for _, index := range []string{"byState", "verbatim"} {
		out, code := run("query", "Job", index, "state=on")
		require.Equal(t, ExitOK, code, out)
		require.Len(t, ranks(out), 15, out)
		require.True(t, slices.IsSorted(ranks(out)), out)
		few, _ := run("query", "--limit", "6", "Job", index, "state=on")
		require.Equal(t, ranks(out)[:6], ranks(few))
	}
	out, _ := run("query", "Job", "byState", "state=on")
	require.Contains(t, out, "15 items, 4 requests")
	out, code := run("query", "Job", "byState", "state=on", "rank=14")
	require.Equal(t, []string{"14"}, ranks(out), "%d", code)
	out, _ = run("schema", "Job")
	require.Contains(t, out, "of each of 4 shards")

	m, err := modelOfDB(db)
	require.NoError(t, err)
	declared := engine.DatabaseOf(db).Tables()[0].Entities[0]
	for i, x := range entity.Must(m.entity("Job")).s.Indexes {
		same(t, declared.Indexes[i].PK, x.PK)
		require.Len(t, x.Shards, len(declared.Indexes[i].Shards))
		for n, k := range declared.Indexes[i].Shards {
			same(t, k, x.Shards[n])
		}
	}
}

// Meter is a series whose events are in several partitions.
type Meter struct {
	_ entity.Key        `name:"Meter" pk:"$#{meter}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record" shards:"4"`

	Meter string    `dynamodbav:"meter"`
	At    time.Time `dynamodbav:"at" entity:"time=s"`
	Watts int       `dynamodbav:"watts" entity:"append"`
}

// The history of a series with shards has the events of all of them, in order.
func TestLog_ReadsAllShardsOfASeries(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, entity.Config{Table: table, Clock: func() time.Time { return noon }}))
	meters := entity.Must(timeseries.New[Meter](db))
	require.NoError(t, tables.Create(t.Context(), db))
	for i := range 12 {
		_, err := meters.Append(t.Context(), Meter{Meter: "m", At: noon.Add(time.Duration(i*5%12) * time.Minute), Watts: i})
		require.NoError(t, err)
	}
	lock := filepath.Join(t.TempDir(), "lock")
	require.NoError(t, os.WriteFile(lock, []byte(schemalock.Of(db).String()), 0o600))
	for _, command := range []string{"log", "show"} {
		var out bytes.Buffer
		code := Run(t.Context(), App{Client: client, Clock: func() time.Time { return noon }}, Streams{In: strings.NewReader(""), Out: &out, Err: &out},
			[]string{"--lock", lock, "--table", table, command, "Meter", "meter=m"})
		require.Equal(t, ExitOK, code, out.String())
		var minutes []string
		for _, found := range regexp.MustCompile(`(?m)^(?:│  .─ event )?2026-04-22T12:(\d\d)|event 2026-04-22T12:(\d\d)`).FindAllStringSubmatch(out.String(), -1) {
			minutes = append(minutes, found[1]+found[2])
		}
		if command == "log" {
			slices.Reverse(minutes)
		}
		require.Len(t, minutes, 12, out.String())
		require.True(t, slices.IsSorted(minutes), out.String())
	}
}
