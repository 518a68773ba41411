package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/schemalock"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Vault has secrets of every type, in every kind of key.
type Vault struct {
	_ entity.Key           `name:"Vault" pk:"$#{token}" sk:"$#{small:03}#{unixms}"`
	_ entity.GSI           `name:"byCode" index:"gsi1" pk:"$#{code|lower}" sk:"$#{wide:012}#{us}#{count}"`
	_ entity.GSI           `name:"byWide" index:"gsi2" pk:"$#{wide}" sk:"$#{us}" shards:"3"`
	_ entity.GSI           `name:"all" index:"gsi3" pk:"$" shards:"9"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"code" fields:"code"`
	_ unique.Constraint    `name:"number" fields:"count,unix"`

	Secrets
	Row     int64 `dynamodbav:"row"` // not secret: which item it is
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Plain has the same secrets in keys that are attributes, or texts without prefix.
type Plain struct {
	_ entity.Key `name:"Plain" pk:"token" sk:"float64"`
	_ entity.GSI `name:"quoted" index:"gsi1" pk:"quoted" sk:"binary"`
	_ entity.GSI `name:"verbatim" index:"gsi2" pk:"vpk=a-{code}-b" sk:"vsk={ns}h{code}q{token}Q{wide:05}"`

	Secrets
	Row int64 `dynamodbav:"row"`
}

// Secrets are of all types.
type Secrets struct {
	Token  string    `dynamodbav:"token" entity:"secret"`
	Small  int8      `dynamodbav:"small" entity:"secret,zero"`
	UnixMS time.Time `dynamodbav:"unixms" entity:"secret,time=unixms"`
	Code   string    `dynamodbav:"code" entity:"secret"`
	Wide   uint32    `dynamodbav:"wide" entity:"secret"`
	Count  uint64    `dynamodbav:"count" entity:"secret"`

	Micro    time.Time             `dynamodbav:"us" entity:"secret,time=us"`
	Nano     time.Time             `dynamodbav:"ns" entity:"secret,time=ns"`
	Milli    time.Time             `dynamodbav:"ms" entity:"secret,time=ms"`
	Second   time.Time             `dynamodbav:"s" entity:"secret,time=s"`
	Unix     time.Time             `dynamodbav:"unix" entity:"secret,time=unix"`
	Epoch    int64                 `dynamodbav:"epoch" entity:"secret,time=unix"`
	Float32  float32               `dynamodbav:"float32" entity:"secret"`
	Float64  float64               `dynamodbav:"float64" entity:"secret"`
	Decimal  attributevalue.Number `dynamodbav:"decimal" entity:"secret"`
	Quoted   int16                 `dynamodbav:"quoted,string" entity:"secret"`
	Signed   int64                 `dynamodbav:"signed" entity:"secret"`
	Binary   []byte                `dynamodbav:"binary" entity:"secret"`
	ID       [16]byte              `dynamodbav:"id" entity:"secret"`
	Optional *int32                `dynamodbav:"optional,omitempty" entity:"secret"`

	Address netip.Addr        `dynamodbav:"address" entity:"secret"`
	Flag    bool              `dynamodbav:"flag" entity:"secret,default=true"`
	Tags    []string          `dynamodbav:"tags,stringset" entity:"secret"`
	Notes   map[string]string `dynamodbav:"notes" entity:"secret"`
}

// Trace is a series whose partition is secret, in many partitions.
type Trace struct {
	_ entity.Key        `name:"Trace" pk:"$#{owner}" sk:"$#{wheel}"`
	_ timeseries.Events `orderBy:"at" ttl:"900d" shards:"3"`

	Owner string    `dynamodbav:"owner" entity:"secret"`
	Wheel uint8     `dynamodbav:"wheel" entity:"secret,zero"`
	At    time.Time `dynamodbav:"at"`
	Row   int64     `dynamodbav:"row" entity:"append"`
	Place string    `dynamodbav:"place" entity:"append,secret"`
}

// Badge is as tables that are shared with effect-dynamodb allow.
type Badge struct {
	_ entity.Key `name:"Badge" pk:"$#{number}" sk:"$#{holder}"`
	_ entity.GSI `name:"byHolder" index:"gsi1" pk:"$#{holder}" sk:"$#{at}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"holder" fields:"holder"`

	Row     int64     `dynamodbav:"row"`
	Number  int64     `dynamodbav:"number" entity:"secret"`
	Holder  string    `dynamodbav:"holder" entity:"secret"`
	At      time.Time `dynamodbav:"at" entity:"secret"`
	Version int64     `dynamodbav:"version" entity:"version"`
}

// guarded is a program with secrets, on a table.
type guarded struct {
	config entity.Config
	open   func(db *entity.DB) (handles any, fill func(ctx context.Context) error, err error)
}

var programs = map[string]guarded{
	"vault":   {entity.Config{}, openVault},
	"plain":   {entity.Config{}, openPlain},
	"trace":   {entity.Config{}, openTrace},
	"interop": {entity.Config{Interop: true, TimePrecision: time.Millisecond}, openBadge},
}

// tokens are equal, or differ in case, or a little.
var tokens = []string{"aB3", "Ab3", "AB3", "ab3", "ß-Straße", "ẞ-STRASSE", "x", "y", "hidden", "a very long text, with spaces and a%", "aB3", "x"}

// secretsOf returns some secrets, of which each is in several items.
func secretsOf(i int) Secrets {
	at := noon.Add(time.Duration(i%7) * time.Hour)
	if i%9 == 0 {
		at = time.Unix(int64(i), 0).UTC()
	}
	v := Secrets{
		Token: tokens[i%len(tokens)] + fmt.Sprint(i/16), Small: int8(i % 3), UnixMS: at.Add(time.Duration(i) * time.Millisecond), Code: tokens[i%len(tokens)] + fmt.Sprint("_", i),
		Wide: uint32(i * i % 50), Count: 1<<64 - 1 - uint64(i), Micro: at.Add(time.Duration(i%3) * time.Microsecond), Nano: at.Add(time.Duration(i % 5)), Milli: at, Second: at,
		Unix: at, Epoch: at.Unix() * int64(1-i%2), Float32: float32(i%7) / 3, Float64: float64(i%11)/7 - 1.05, Decimal: attributevalue.Number(fmt.Sprintf("%d.5", i%8)),
		Quoted: int16(-32768 + i%4*21845), Signed: int64(i%5-2) << 61, Binary: bytes.Repeat([]byte{byte(i % 6)}, 1+i%5), ID: [16]byte{byte(i % 4)},
		Address: netip.MustParseAddr("192.0.2.7"), Flag: true, Tags: []string{"red"}, Notes: map[string]string{"why": "debt"},
	}
	if i%2 == 0 {
		n := int32(-i)
		v.Optional = &n
	}
	return v
}

func openPlain(db *entity.DB) (any, func(context.Context) error, error) {
	store, err := entity.New[Plain](db)
	if err != nil {
		return nil, nil, err
	}
	return &struct{ Of *entity.Store[Plain] }{store}, func(ctx context.Context) error {
		for i := range 40 {
			if _, err := store.Create(ctx, Plain{Row: int64(i), Secrets: secretsOf(i)}); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func openVault(db *entity.DB) (any, func(context.Context) error, error) {
	store, err := entity.New[Vault](db)
	if err != nil {
		return nil, nil, err
	}
	return &struct{ Of *entity.Store[Vault] }{store}, func(ctx context.Context) error {
		e := entity.Fields[Vault]()
		for i := range 40 {
			v := Vault{Row: int64(i), Secrets: secretsOf(i)}
			got, err := store.Create(ctx, v)
			if err != nil {
				return err
			}
			if i%4 == 0 {
				if got, err = store.Update(ctx, got, entity.Set(&e.Code, got.Code+"x"), entity.Set(&e.Signed, int64(i))); err != nil {
					return err
				}
			}
			if i%6 == 0 {
				if err := store.Delete(ctx, got); err != nil {
					return err
				}
			}
		}
		return nil
	}, nil
}

func openTrace(db *entity.DB) (any, func(context.Context) error, error) {
	series, err := timeseries.New[Trace](db)
	if err != nil {
		return nil, nil, err
	}
	return &struct{ Of *timeseries.Series[Trace] }{series}, func(ctx context.Context) error {
		for i := range 30 {
			if _, err := series.Append(ctx, Trace{Owner: tokens[i%len(tokens)], Wheel: uint8(i % 2), At: noon.Add(time.Duration(i) * time.Minute), Row: int64(i), Place: tokens[i%5]}); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func openBadge(db *entity.DB) (any, func(context.Context) error, error) {
	store, err := entity.New[Badge](db)
	if err != nil {
		return nil, nil, err
	}
	return &struct{ Of *entity.Store[Badge] }{store}, func(ctx context.Context) error {
		for i := range 30 {
			v := Badge{Row: int64(i), Number: int64(1 + i%4), Holder: fmt.Sprintf("Bob-%02d", i), At: noon.Add(time.Duration(i%3) * time.Millisecond)}
			got, err := store.Create(ctx, v)
			if err != nil {
				return err
			}
			if i%5 == 0 {
				if err := store.Delete(ctx, got); err != nil {
					return err
				}
			}
		}
		return nil
	}, nil
}

// A dump that is loaded has as many items, which decode and pass check; secrets are other ones, and equal where they were equal.
func TestDump_DisguisesSecretsOneToOne(t *testing.T) {
	t.Parallel()
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := localdb.Test(t)
			prefix, ids := rand.Text()[:5], 0
			open := func(table string) (*entity.DB, any, func(context.Context) error) {
				cfg := program.config
				cfg.Table, cfg.Clock = table, func() time.Time { return noon }
				cfg.NewID = func() string { ids++; return fmt.Sprint(prefix, "-", ids) }
				db, err := entity.Open(client, cfg)
				require.NoError(t, err)
				handles, fill, err := program.open(db)
				require.NoError(t, err)
				require.NoError(t, tables.Create(t.Context(), db))
				return db, handles, fill
			}
			from, to := "from-"+rand.Text(), "to-"+rand.Text()
			db, _, fill := open(from)
			require.NoError(t, fill(t.Context()))
			loaded, handles, _ := open(to)
			dir := t.TempDir()
			lock, file := filepath.Join(dir, "lock"), filepath.Join(dir, "dump.jsonl")
			require.NoError(t, os.WriteFile(lock, []byte(schemalock.Of(db).String()), 0o600))
			run := func(app App, args ...string) string {
				var out bytes.Buffer
				app.Client, app.Clock = client, func() time.Time { return noon }
				code := Run(t.Context(), app, Streams{In: strings.NewReader(""), Out: &out, Err: &out}, append([]string{"--lock", lock}, args...))
				require.Equal(t, ExitOK, code, out.String())
				return out.String()
			}
			said := run(App{}, "--table", from, "dump", "--out", file)
			run(App{}, "--table", to, "--yes", "load", file)
			before, after := scanned(t, client, from), scanned(t, client, to)
			require.Len(t, after, len(before))
			require.Contains(t, said, fmt.Sprintf("%d items written", len(before)))
			run(App{}, "--table", to, "check")
			run(App{Open: func(context.Context, Connection) (Program, error) { return Program{DB: loaded, Handles: handles}, nil }}, "check")

			if name == "vault" || name == "plain" {
				for _, attr := range []string{"address", "flag", "notes", "tags"} {
					require.Contains(t, strings.ToLower(said), name+"."+attr+" has no pseudonyms")
				}
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			// Pseudonyms are letters at random, and bytes in base 64, neither of which can be one of these.
			for _, secret := range []string{
				`{"S":"aB3`, `{"S":"Ab3`, `{"S":"AB3`, "#aB3", "#Ab3", "#AB3", `"192.0.2.7`, `"debt"`, `"red"`, `"Straße`, "#Straße", `"Bob-`, `"bob-`, "#Bob-", "#bob-",
			} {
				require.NotContains(t, string(text), secret)
			}
			oneToOne(t, before, after)
		})
	}
}

// oneToOne demands that attributes which differ in two tables differ one to one. An item is found by what no dump replaces.
func oneToOne(t *testing.T, before, after []item.Item) {
	t.Helper()
	id := func(it item.Item) string {
		sk := item.ValueText(it["sk"])
		return fmt.Sprint(item.ValueText(it["row"]), strings.Contains(sk, "#v#"), strings.Contains(sk, "#deleted#"), strings.Contains(sk, "#e#"), item.ValueText(it["version"]))
	}
	masked := map[string]item.Item{}
	for _, it := range after {
		if it["row"] != nil {
			masked[id(it)] = it
		}
	}
	to, back := map[string]string{}, map[string]string{}
	compared, replaced := 0, map[string]bool{}
	for _, it := range before {
		if it["row"] == nil {
			continue // a sentinel
		}
		other, found := masked[id(it)]
		require.True(t, found, it)
		for name, av := range it {
			if other[name] == nil || name == "flag" || name == "pk" || name == "sk" { // keys of related items continue those of current ones
				continue
			}
			was, is := name+" "+item.ValueText(av), name+" "+item.ValueText(other[name])
			if shards[name] { // which follow from primary keys; check has compared them
				was, is = shardEnd.ReplaceAllString(was, ""), shardEnd.ReplaceAllString(is, "")
			}
			if have, seen := to[was]; seen {
				require.Equal(t, have, is, "of equal values of %s", name)
			}
			if have, seen := back[is]; seen {
				require.Equal(t, have, was, "of different values of %s", name)
			}
			to[was], back[is] = is, was
			compared++
			replaced[name] = replaced[name] || was != is
		}
	}
	require.Positive(t, compared)
	for _, name := range []string{"token", "code", "small", "wide", "count", "signed", "quoted", "float32", "float64", "decimal", "ns", "us", "ms", "s", "unix", "unixms", "epoch", "binary", "id", "optional", "owner", "place", "number", "holder"} {
		if has, some := replaced[name]; some {
			require.True(t, has, name)
		}
	}
}

// shards are the keys of indexes with shards.
var (
	shards   = map[string]bool{"gsi2pk": true, "gsi3pk": true}
	shardEnd = regexp.MustCompile(`#\d\d"$`)
)

// scanned returns the items of a table.
func scanned(t *testing.T, client *dynamodb.Client, table string) []item.Item {
	t.Helper()
	var all []item.Item
	s := &session{client: client}
	for page, err := range s.scan(t.Context(), table, &spent{}) {
		require.NoError(t, err)
		all = append(all, page...)
	}
	return all
}

// Locked has secrets that no pseudonym can stand for.
type Locked struct {
	_ entity.Key    `name:"Locked" pk:"$#{address}" sk:"$#{flag}"`
	_ lifecycle.TTL `attr:"ends" after:"90d" from:"began"`

	Address netip.Addr `dynamodbav:"address" entity:"secret"`
	Flag    bool       `dynamodbav:"flag" entity:"secret,zero"`
	Began   time.Time  `dynamodbav:"began" entity:"secret"`
	Made    time.Time  `dynamodbav:"made" entity:"secret,created_at"`
	Note    string     `dynamodbav:"note" entity:"secret"`
}

// What cannot be disguised is named, before any request.
func TestDump_RefusesWhatItCannotDisguise(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	entity.Must(entity.New[Locked](db))
	path := filepath.Join(t.TempDir(), "lock")
	require.NoError(t, os.WriteFile(path, []byte(schemalock.Of(db).String()), 0o600))
	var out, errs strings.Builder
	code := Run(t.Context(), App{}, Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, []string{"--lock", path, "--table", "app", "--endpoint", "http://127.0.0.1:1", "dump"})
	require.Equal(t, ExitUsage, code, errs.String())
	require.Empty(t, out.String())
	require.Equal(t, "dynastrata: EDD-9197 command: secrets that a dump cannot disguise: Locked.address is part of a key, and of a type without pseudonyms; "+
		"Locked.began shows in the time at which items expire; Locked.flag is part of a key, and of a type without pseudonyms; "+
		"Locked.made is set by the library, which stores it elsewhere too; name the entities to dump without them\n", errs.String())
}

// Small domains are permuted, and a word in lower case is the word of the text in lower case.
func TestMask_IsOneToOne(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	entity.Must(entity.New[Vault](db))
	m, err := modelOfDB(db)
	require.NoError(t, err)
	k := newMasker(m, nil)
	seen := map[string]bool{}
	for i := -128; i < 128; i++ {
		text, ok := k.pseudonym(asWhole, fmt.Sprint(i))
		require.True(t, ok)
		require.False(t, seen[text], text)
		seen[text] = true
		n, err := strconv.ParseInt(text, 10, 8)
		require.NoError(t, err)
		require.Equal(t, i < 0, n < 0)
		require.Equal(t, i == 0, n == 0)
	}
	bytes := map[string]bool{}
	for b := range 1 << 12 {
		bytes[string(k.binary([]byte{byte(b), byte(b >> 8)}))] = true
		bytes[string(k.binary([]byte{byte(b)}))] = true
	}
	require.Len(t, bytes, 256+(1<<12))
	for _, text := range tokens {
		require.Equal(t, k.word(strings.ToLower(text)), strings.ToLower(k.word(text)))
	}
}

// An attribute that is not declared may be a secret of an earlier declaration: it is marked, and shown in no output and no dump.
func TestSecrets_MayBeInUndeclaredAttributes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	for key, sk := range map[string]string{"employee#e-1": "employee", "telemetry#c-1#d-7": "telemetry"} {
		_, err := l.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &l.table, Key: item.Item{"pk": item.S("$app#v1#" + key), "sk": item.S("$app#v1#" + sk)},
			UpdateExpression: aws.String("SET ssn = :v"), ExpressionAttributeValues: item.Item{":v": item.S("123-45-6789")}})
		require.NoError(t, err)
	}
	for _, args := range []string{"get Employee employeeId=e-1", "show Employee employeeId=e-1", "query Employee employeeId=e-1", "--json get Employee employeeId=e-1", "dump Employee", "tail --from-start --limit 5 Employee"} {
		r := l.run(strings.Fields(args)...)
		require.NotContains(t, r.out+r.err, "6789", args)
	}
	require.Contains(t, l.run("get", "Employee", "employeeId=e-1").out, "ssn = <hidden>  ! not declared")
	require.Contains(t, l.run("--json", "get", "Employee", "employeeId=e-1").out, `"undeclared":["ssn"]`)
	r := l.run("dump", "Employee")
	require.NotContains(t, r.out, "ssn")
	require.Contains(t, r.err, "1 undeclared attribute left out")
	require.Contains(t, l.run("get", "Telemetry", "channel=c-1", "deviceId=d-7").out, "ssn = 123-45-6789  ! not declared", "no secrets")
	require.Contains(t, l.run("query", "Telemetry", "channel=c-1", "deviceId=d-7").out, "ssn=123-45-6789 ! not declared")
	for _, args := range []string{"query Employee employeeId=e-1", "query Employee byTenant tenantId=t-1"} {
		require.Contains(t, l.run(strings.Fields(args)...).out, "ssn=<hidden> ! not declared", args)
	}
	require.Contains(t, l.run("log", "Employee", "employeeId=e-1").out, "department, ssn ! not declared")
	require.Contains(t, l.run("diff", "Employee", "employeeId=e-1", "1", "3").out, "ssn ! not declared")
	require.Contains(t, l.run("--json", "diff", "Employee", "employeeId=e-1", "1", "3").out, `"ssn":{"new":"<hidden>","old":null,"undeclared":true}`)
	r = l.run("tail", "--from-start", "--limit", "8", "Telemetry") // 3 appends of two items, and two updates
	require.Contains(t, r.out, "ssn ! not declared")
}
