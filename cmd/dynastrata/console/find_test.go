package console

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/schemalock"
	"github.com/dynastrata/dynastrata/unique"
)

// Pass expires.
type Pass struct {
	_ entity.Key        `name:"Pass" pk:"$#{pass}" sk:"$#{gate}"`
	_ lifecycle.TTL     `attr:"_ttl" after:"1h"`
	_ unique.Constraint `name:"plate" fields:"plate"`

	Pass  string `dynamodbav:"pass"`
	Gate  int    `dynamodbav:"gate" entity:"zero"`
	Plate string `dynamodbav:"plate,omitempty"`
}

// An item is found by what leads to it, or by a scan, and shown as it is now. A secret can be looked for, and is not printed.
func TestFind_FindsWhatIsAndWas(t *testing.T) {
	t.Parallel()
	o := newOnCall(t)
	o.write()
	o.record("find.txt", []string{
		"find ADA@example.com",
		"4 find city=Bonn",
		"find Köln",
		"find t-1 c-2",
		"find tenant=t-1 city=Köln c-1",
		"4 find ada@example.org",
		"find --scan ada@example.org",
		"find --scan bea@example.org",
		"find --scan 4711-1",
		"find --scan pin=4711-3",
		"--json find --scan t-1",
		"find --scan --limit 1 t-1",
		"4 find --scan nobody",
		"2 find",
		"2 find a b c d e",
	})
	r := o.start(t.Context(), App{Clock: func() time.Time { return o.now }, Open: func(context.Context, Connection) (Program, error) {
		return Program{DB: o.db}, nil
	}}, "y\n", "--table", o.table, "find", "bea@example.org")
	require.Equal(t, ExitOK, r.code, r.err)
	require.Contains(t, r.err, "Read all of TABLE, for about ")
	require.Contains(t, r.out, "id=c-2  deleted at")
}

// An expired item is found until DynamoDB removes it, and is shown as expired.
func TestFind_ShowsWhatHasExpired(t *testing.T) {
	t.Parallel()
	o := onCall{lab: &lab{t: t, now: late, prefix: rand.Text()[:5], lock: "dynastrata.lock"}}
	o.client, o.table = localdb.Test(t)
	db := entity.Must(entity.Open(o.client, entity.Config{Table: o.table, Clock: func() time.Time { return o.now }}))
	passes := entity.Must(entity.New[Pass](db))
	require.NoError(t, tables.Create(t.Context(), db))
	for gate := range 3 {
		plate := []string{"BN 1", "", ""}[gate]
		entity.Must(passes.Create(t.Context(), Pass{Pass: "p-1", Gate: gate, Plate: plate}))
	}
	o.now = o.now.Add(2 * time.Hour)
	lock := filepath.Join(t.TempDir(), "lock")
	require.NoError(t, os.WriteFile(lock, []byte(schemalock.Of(db).String()), 0o600))
	for _, c := range []struct {
		words []string
		want  []string
	}{
		{[]string{"BN 1"}, []string{"Pass pass=p-1 gate=0  expired at 2036-04-22T13:00:00Z  plate"}},
		{[]string{"p-1"}, []string{"pass=p-1 gate=0  expired", "pass=p-1 gate=1  expired", "pass=p-1 gate=2  expired", "3 items"}},
		{[]string{"pass=p-1", "2"}, []string{"pass=p-1 gate=2  expired", "1 item,"}},
		{[]string{"gate=2", "p-1"}, []string{"pass=p-1 gate=2  expired", "1 item,"}},
	} {
		r := o.start(t.Context(), App{Clock: func() time.Time { return o.now }}, "", append([]string{"--lock", lock, "--table", o.table, "find"}, c.words...)...)
		require.Equal(t, ExitOK, r.code, "%q: %s", c.words, r.err)
		for _, text := range c.want {
			require.Contains(t, r.out, text)
		}
	}
}

// A series is found by its key, and what a hard delete has left by a scan. An item of nobody, or of a read model, is not.
func TestFind_FindsSeriesAndHistory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	for words, want := range map[string]string{"c-1 d-7": "Telemetry channel=c-1 deviceId=d-7  current", "acct-1": "current", "deviceId=d-7 c-1": "current", "e-2": "deleted at", "Sales": ""} {
		r := l.run(append([]string{"find"}, strings.Fields(words)...)...)
		if want == "" {
			require.Equal(t, ExitNotFound, r.code, words)
			continue
		}
		require.Equal(t, ExitOK, r.code, "%s: %s", words, r.err)
		require.Contains(t, r.out, want)
	}
	_, err := l.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &l.table, Key: item.Item{"pk": item.S("$app#v1#telemetry#c-1#d-7"), "sk": item.S("$app#v1#telemetry")}})
	require.NoError(t, err)
	for _, args := range []string{"find c-1 d-7", "find --scan d-7"} {
		r := l.run(strings.Fields(args)...)
		require.Equal(t, ExitOK, r.code, r.err)
		require.Contains(t, r.out, "history")
	}
	require.Equal(t, ExitUsage, l.run("find", strings.Repeat("x", 201)).code)
	require.Equal(t, ExitOK, l.run("find", "--scan", "77123").code) // lab.start refuses what prints it
}

// The story of the night: from the address of a deleted customer to the restored customer with the history, in four lines.
func TestNight_FromAnAddressToTheRestoredCustomer(t *testing.T) {
	t.Parallel()
	o := newOnCall(t)
	o.write()
	o.record("night.txt", []string{
		"find --scan bea@example.org",
		"log Customer tenant=t-1 id=c-2",
		"--yes undelete --actor ann --reason 'deleted by mistake' Customer tenant=t-1 id=c-2",
		"log Customer tenant=t-1 id=c-2",
	})
	got := entity.Must(o.customers.Get(t.Context(), Customer{Tenant: "t-1", ID: "c-2"}))
	require.Equal(t, "Bea@example.org", got.Email)
}
