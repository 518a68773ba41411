package reading_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// cache is a client for reads that counts its calls.
type cache struct {
	entity.Client
	mu         sync.Mutex
	calls      map[string]int
	consistent int // calls that ask for consistent reads
}

func (c *cache) count(operation string, consistent *bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[operation]++
	if consistent != nil && *consistent {
		c.consistent++
	}
}

func (c *cache) taken() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.calls = map[string]int{} }()
	return maps.Clone(c.calls)
}

func (c *cache) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	c.count("GetItem", in.ConsistentRead)
	return c.Client.GetItem(ctx, in, opts...)
}

func (c *cache) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	c.count("Query", in.ConsistentRead)
	return c.Client.Query(ctx, in, opts...)
}

func (c *cache) Scan(ctx context.Context, in *dynamodb.ScanInput, opts ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	c.count("Scan", in.ConsistentRead)
	return c.Client.Scan(ctx, in, opts...)
}

func (c *cache) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	for _, keys := range in.RequestItems {
		c.count("BatchGetItem", keys.ConsistentRead)
	}
	return c.Client.BatchGetItem(ctx, in, opts...)
}

// account has every feature whose writes are planned from what is stored.
type account struct {
	_ entity.Key           `name:"Account" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byPlan" index:"gsi1" pk:"$#{plan}" sk:"$#{region}#{id}"`
	_ entity.GSI           `name:"byDeletion" index:"gsi2" pk:"$#{region}" sk:"$#{deleted}"`
	_ versioned.Retain     ``
	_ versioned.Lock       ``
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"mail" fields:"mail"`

	ID      string    `dynamodbav:"id"`
	Plan    string    `dynamodbav:"plan,omitempty"`
	Region  string    `dynamodbav:"region,omitempty"`
	Mail    string    `dynamodbav:"mail,omitempty"`
	Count   int       `dynamodbav:"count"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Changed time.Time `dynamodbav:"changed" entity:"updated_at"`
	Deleted time.Time `dynamodbav:"deleted,omitempty" entity:"deleted_at"`
}

type reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" ttl:"7d" late:"record"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Value  int       `dynamodbav:"value" entity:"append"`
	Place  string    `dynamodbav:"place,omitempty"`
}

// cached opens a bench whose reads go through a cache.
func cached(t *testing.T) (*lab, *cache, *entity.Store[account], *timeseries.Series[reading]) {
	t.Helper()
	dbtest.Parallel(t)
	c := &cache{calls: map[string]int{}}
	l := &lab{Bench: dbtest.Open(t, func(cfg *entity.Config) { cfg.ReadClient = c })}
	c.Client = l.Raw
	l.open(l.DB)
	accounts, readings := dbtest.Declare[account](t, l.DB), entity.Must(timeseries.New[reading](l.DB))
	l.CreateTables()
	require.Empty(t, c.taken(), "tables")
	return l, c, accounts, readings
}

// Eventually consistent reads go to ReadClient, and nothing else does: an old answer of it changes no write.
func TestReadClient_SendsEventuallyConsistentReadsOnly(t *testing.T) {
	l, c, accounts, readings := cached(t)
	ctx, key, a := l.Ctx, account{ID: "a"}, entity.Fields[account]()
	byPlan := entity.Must(accounts.Index("byPlan"))
	history, deleted, mails := entity.Must(versioned.Of(accounts)), entity.Must(lifecycle.Of(accounts)), entity.Must(unique.Of(accounts, "mail"))
	byDeletion := entity.Must(deleted.Index("byDeletion"))
	var into account
	var image entity.Image
	created, err := accounts.Create(ctx, account{ID: "a", Plan: "free", Region: "eu", Mail: "a@x"})
	require.NoError(t, err)
	for _, call := range []struct {
		name string
		do   func() error
		want string // operation of ReadClient; "" if it is not asked
	}{
		{"Get", func() error { return dbtest.ErrorOf(accounts.Get(ctx, key)) }, "GetItem"},
		{"GetMany", func() error { return dbtest.ErrorOf(accounts.GetMany(ctx, []account{key})) }, "BatchGetItem"},
		{"BatchGet", func() error { return dbtest.ErrorOf(l.DB.BatchGet(ctx, accounts.Op().GetInto(&account{ID: "a"}))) }, "BatchGetItem"},
		{"Query", func() error { return dbtest.ErrorOf(accounts.Query(key).Collect(ctx)) }, "Query"},
		{"index", func() error { return dbtest.ErrorOf(byPlan.Query(account{Plan: "free"}).Page(ctx, "")) }, "Query"},
		{"Count", func() error { return dbtest.ErrorOf(byPlan.Query(account{Plan: "free"}).Count(ctx)) }, "Query"},
		{"QueryAny", func() error { return dbtest.ErrorOf(byPlan.QueryAny([]account{{Plan: "free"}}).Collect(ctx)) }, "Query"},
		{"Scan", func() error { return dbtest.ErrorOf(accounts.Scan().Collect(ctx)) }, "Scan"},
		{"series", func() error { return dbtest.ErrorOf(readings.History(reading{Device: "d"}).Collect(ctx)) }, "Query"},
		{"GetCollection", func() error {
			var all []account
			return l.DB.GetCollection(ctx, byPlan.Query(account{Plan: "free"}).Into(&all))
		}, "Query"},
		{"consistent Get", func() error { return dbtest.ErrorOf(accounts.Get(ctx, key, entity.Consistent())) }, ""},
		{"consistent GetMany", func() error { return dbtest.ErrorOf(accounts.GetMany(ctx, []account{key}, entity.Consistent())) }, ""},
		{"consistent Query", func() error { return dbtest.ErrorOf(accounts.Query(key, entity.Consistent()).Collect(ctx)) }, ""},
		{"consistent Scan", func() error { return dbtest.ErrorOf(accounts.Scan(entity.Consistent()).Collect(ctx)) }, ""},
		{"KeepImage", func() error { return dbtest.ErrorOf(accounts.Get(ctx, key, entity.KeepImage(&image))) }, ""},
		{"KeepImage in a batch", func() error {
			return dbtest.ErrorOf(l.DB.BatchGet(ctx, accounts.Op().GetInto(&account{ID: "a"}, entity.KeepImage(&image))))
		}, ""},
		{"TransactGet", func() error { into = key; return l.DB.TransactGet(ctx, accounts.Op().GetInto(&into)) }, ""},
		{"Find", func() error { return dbtest.ErrorOf(mails.Find(ctx, account{Mail: "a@x"})) }, ""},
		{"At", func() error {
			_, err := readings.At(ctx, reading{Device: "d"}, l.Clock.Now())
			return ignore(err, entity.ErrNotFound)
		}, ""},
		{"Update", func() error { created, err = accounts.Update(ctx, created, entity.Set(&a.Region, "us")); return err }, ""},
		{"Modify", func() error {
			created, err = accounts.Modify(ctx, key, func(v *account) error { v.Count++; return nil })
			return err
		}, ""},
		{"refused Create", func() error {
			_, err := accounts.Create(ctx, account{ID: "a"})
			return ignore(err, entity.ErrExists)
		}, ""},
		{"Put", func() error { created.Count++; created, err = accounts.Put(ctx, created); return err }, ""},
		{"Transact", func() error {
			return l.DB.Transact(ctx, accounts.Op().Update(created, entity.Add(&a.Count, 1)), accounts.Op().CheckNotExists(account{ID: "b"}))
		}, ""},
		{"History", func() error { return dbtest.ErrorOf(history.List(key, versioned.WithCurrent()).Collect(ctx)) }, ""},
		{"Revert", func() error { return dbtest.ErrorOf(history.Revert(ctx, key, 1)) }, ""},
		{"Delete", func() error { return accounts.Delete(ctx, key, versioned.AnyVersion()) }, ""},
		{"Deleted.Get", func() error { return dbtest.ErrorOf(deleted.Get(ctx, key)) }, ""},
		{"Deleted.List", func() error { return dbtest.ErrorOf(deleted.List(key).Page(ctx, "")) }, ""},
		{"Deleted.Query", func() error { return dbtest.ErrorOf(deleted.Query(key).Count(ctx)) }, ""},
		{"Deleted.Scan", func() error { return dbtest.ErrorOf(deleted.Scan(entity.Segments(2)).Collect(ctx)) }, ""},
		{"Deleted.Index", func() error { return dbtest.ErrorOf(byDeletion.Query(account{Region: "eu"}).First(ctx)) }, ""},
		{"scan of Deleted.Index", func() error { return dbtest.ErrorOf(byDeletion.Scan().Collect(ctx)) }, ""},
		{"collection of Deleted.Index", func() error {
			var gone []lifecycle.DeletedItem[account]
			return l.DB.GetCollection(ctx, byDeletion.Query(account{Region: "eu"}).Into(&gone))
		}, ""},
		{"collection with deleted items", func() error {
			var live []account
			var gone []lifecycle.DeletedItem[account]
			return l.DB.GetCollection(ctx, accounts.Query(key).Into(&live), deleted.Query(key).Into(&gone))
		}, ""},
		{"Restore", func() error { return dbtest.ErrorOf(deleted.Restore(ctx, key)) }, ""},
		{"Append", func() error {
			return dbtest.ErrorOf(readings.Append(ctx, reading{Device: "d", At: l.Clock.Now(), Value: 1}))
		}, ""},
		{"Verify", func() error { return tables.Verify(ctx, l.DB) }, ""},
		{"Purge", func() error { return accounts.Purge(ctx, key) }, ""},
	} {
		c.taken()
		require.NoError(t, call.do(), call.name)
		want := map[string]int{}
		if call.want != "" {
			want[call.want] = 1
		}
		require.Equal(t, want, c.taken(), call.name)
	}
	require.Zero(t, c.consistent)
	l.put(task{Project: "p", ID: 1, Status: "open"})
	c.taken()
	require.Len(t, l.collect(l.byStatus.Query(task{Status: "open"}, entity.Hydrate())), 1)
	require.Equal(t, map[string]int{"Query": 1, "BatchGetItem": 1}, c.taken())
	require.Len(t, l.collect(l.byStatus.Query(task{Status: "open"}, entity.Hydrate(), entity.Consistent())), 1)
	require.Equal(t, map[string]int{"Query": 1}, c.taken())
}

func ignore(err, class error) error {
	if errors.Is(err, class) {
		return nil
	}
	return err
}

// A DB with another client has the same declarations, and sends everything through that client.
func TestWithClient_SharesDeclarationsAndNothingElse(t *testing.T) {
	l, c, accounts, _ := cached(t)
	other := &cache{Client: l.Raw, calls: map[string]int{}}
	tenant := l.DB.WithClient(other)
	require.Equal(t, tables.Of(l.DB).String(), tables.Of(tenant).String())

	theirs := entity.Must(entity.New[account](tenant))
	require.NotSame(t, accounts, theirs)
	l.OK(accounts.Create(l.Ctx, account{ID: "a", Mail: "a@x"}))
	c.taken()
	l.Wire.Reset()
	require.Equal(t, "a@x", entity.Must(theirs.Get(l.Ctx, account{ID: "a"})).Mail)
	require.Equal(t, map[string]int{"GetItem": 1}, other.taken())
	series := entity.Must(timeseries.New[reading](tenant))
	l.OK(series.Append(l.Ctx, reading{Device: "d", At: l.Clock.Now(), Value: 1}))
	l.OK(series.Query(reading{Device: "d"}).Collect(l.Ctx))
	history, deleted, mails := entity.Must(versioned.Of(theirs)), entity.Must(lifecycle.Of(theirs)), entity.Must(unique.Of(theirs, "mail"))
	l.OK(history.List(account{ID: "a"}, versioned.WithCurrent()).Collect(l.Ctx))
	l.OK(mails.Find(l.Ctx, account{Mail: "a@x"}))
	l.OK(theirs.Delete(l.Ctx, account{ID: "a"}))
	l.OK(deleted.Restore(l.Ctx, account{ID: "a"}))
	op := theirs.Op().Create(account{ID: "b"})
	require.NoError(t, tenant.Transact(l.Ctx, op))
	require.Empty(t, c.taken(), "the ReadClient of the first DB is not used")
	require.Empty(t, l.Operations(), "nor its client")

	// What one of them made is refused by the other.
	require.Equal(t, "EDD-9114", dbtest.InputCode(l.DB.Transact(l.Ctx, theirs.Op().Create(account{ID: "c"}))))
	require.Equal(t, "EDD-9114", dbtest.InputCode(tenant.Transact(l.Ctx, accounts.Op().Create(account{ID: "c"}))))
	require.Equal(t, "EDD-9114", dbtest.InputCode(dbtest.ErrorOf(tenant.BatchGet(l.Ctx, accounts.Op().GetInto(&account{ID: "a"})))))
	var all []account
	require.Equal(t, "EDD-9114", dbtest.InputCode(tenant.GetCollection(l.Ctx, accounts.Query(account{ID: "a"}).Into(&all))))

	// Declarations are common, whichever DB makes them.
	again := tenant.WithClient(l.Client)
	l.OK(entity.New[account](again))
	type note struct {
		_  entity.Key `name:"Note" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	l.OK(entity.New[note](again))
	require.Contains(t, tables.Of(l.DB).Tables[0].Entities, "Note")
	require.True(t, slices.Contains(tables.Of(tenant).Tables[0].Entities, "Note"))

	var none *entity.DB
	require.Equal(t, "EDD-9160", dbtest.InputCode(none.WithClient(l.Client).Transact(l.Ctx, op)))
	plans := l.DB.WithClient(nil)
	require.ErrorIs(t, dbtest.ErrorOf(entity.Must(entity.New[account](plans)).Get(l.Ctx, account{ID: "a"})), entity.ErrNoClient)
}

// The requests of writes are the same for every client, and what looks at inputs finds the names and values of expressions.
func TestCodec_ExpressionsOfWrites(t *testing.T) {
	t.Parallel()
	names := 0
	look := func(in any) {
		switch in := in.(type) {
		case *dynamodb.PutItemInput:
			names += len(in.ExpressionAttributeNames)
		case *dynamodb.UpdateItemInput:
			names += len(in.ExpressionAttributeNames)
			assert.NotEmpty(t, in.ExpressionAttributeValues)
		case *dynamodb.DeleteItemInput:
			names += len(in.ExpressionAttributeNames)
		case *dynamodb.TransactWriteItemsInput:
			for _, it := range in.TransactItems {
				if it.Put != nil {
					names += len(it.Put.ExpressionAttributeNames)
				}
			}
		}
	}
	f := entity.Fields[Shipment]()
	key, now := Shipment{Depot: "north", ID: "p-0001"}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	writes := func(client entity.Client, codec entity.Codec, ignores bool) {
		n := 0
		db, err := entity.Open(client, entity.Config{Table: "app", Codec: codec, MiddlewareIgnoresItems: ignores, Clock: func() time.Time { return now }, NewID: func() string { n++; return fmt.Sprint("id", n) }})
		require.NoError(t, err)
		s := entity.Must(entity.New[Shipment](db))
		full := Shipment{Depot: "north", ID: "p-0001", Sent: now, Weight: 1.5, Tags: []string{"a"}, Any: map[string]any{"n": 1}}
		require.NoError(t, dbtest.ErrorOf(s.Create(t.Context(), full)))
		_, _ = s.Put(t.Context(), full) // the answer lacks the item
		_, _ = s.Update(t.Context(), key, entity.Set(&f.Count, 3), entity.Set(&f.Note, aws.String("x\n")), entity.If(entity.Gt(&f.Weight, 1.0)))
		require.NoError(t, s.Delete(t.Context(), key))
		require.NoError(t, db.Transact(t.Context(), s.Op().Create(full), s.Op().Delete(Shipment{Depot: "north", ID: "p-0002"})))
	}
	var want []any
	for _, c := range []struct {
		name    string
		codec   entity.Codec
		client  func(*dynamodb.Options)
		wrap    bool
		looked  bool
		ignores bool
	}{
		{"the SDK's codec", entity.SDKCodec, func(*dynamodb.Options) {}, false, false, false},
		{"the SDK's client", entity.OwnCodec, func(*dynamodb.Options) {}, false, false, false},
		{"an interceptor that ignores items", entity.OwnCodec, func(o *dynamodb.Options) { o.Interceptors.AddBeforeSerialization(interceptor(func(any) {})) }, false, false, true},
		{"an interceptor", entity.OwnCodec, func(o *dynamodb.Options) { o.Interceptors.AddBeforeSerialization(interceptor(look)) }, false, true, false},
		{"a middleware", entity.OwnCodec, func(o *dynamodb.Options) {
			o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
				return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("look", func(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (middleware.SerializeOutput, middleware.Metadata, error) {
					look(in.Parameters)
					return next.HandleSerialize(ctx, in)
				}), middleware.Before)
			})
		}, false, true, false},
		{"a wrapper", entity.OwnCodec, func(*dynamodb.Options) {}, true, true, true},
	} {
		names = 0
		kept := &answers{}
		sdk := cannedClient(kept, c.client)
		client := entity.Client(sdk)
		if c.wrap {
			client = looking{sdk, look}
		}
		writes(client, c.codec, c.ignores)
		var got []any
		for _, body := range kept.texts {
			var v any
			require.NoError(t, json.Unmarshal([]byte(body), &v))
			got = append(got, v)
		}
		require.GreaterOrEqual(t, len(got), 5)
		if want == nil {
			want = got
		}
		assert.Equal(t, want, got, c.name)
		assert.Equal(t, c.looked, names > 0, c.name)
	}
}

type (
	retained struct {
		_       entity.Key       `name:"Retained" pk:"$#{id}" sk:"$"`
		_       versioned.Retain ``
		ID      string           `dynamodbav:"id"`
		Version int64            `dynamodbav:"version" entity:"version"`
	}
	deletable struct {
		_  entity.Key           `name:"Deletable" pk:"$#{id}" sk:"$"`
		_  lifecycle.SoftDelete ``
		ID string               `dynamodbav:"id"`
	}
	claimed struct {
		_    entity.Key        `name:"Claimed" pk:"$#{id}" sk:"$"`
		_    unique.Constraint `name:"mail" fields:"mail"`
		ID   string            `dynamodbav:"id"`
		Mail string            `dynamodbav:"mail,omitempty"`
	}
	expiring struct {
		_  entity.Key    `name:"Expiring" pk:"$#{id}" sk:"$"`
		_  entity.LSI    `name:"byState" index:"lsi1" sk:"state"`
		_  lifecycle.TTL `attr:"_ttl" after:"1h"`
		ID string        `dynamodbav:"id"`

		State string `dynamodbav:"state,omitempty"`
	}
	locked struct {
		_       entity.Key     `name:"Locked" pk:"$#{id}" sk:"$"`
		_       entity.GSI     `name:"byState" index:"gsi1" pk:"$#{state}"`
		_       versioned.Lock ``
		ID      string         `dynamodbav:"id"`
		State   string         `dynamodbav:"state,omitempty"`
		Count   int            `dynamodbav:"count"`
		Version int64          `dynamodbav:"version" entity:"version"`
	}
)

// codes returns the codes of the schema errors in err.
func codes(err error) (all []string) {
	var one *entity.SchemaError
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, codes(e)...)
		}
	} else if errors.As(err, &one) {
		all = append(all, one.Code)
	}
	return all
}

func TestMultiRegion_NewRefusesWhatStrongTablesCannotHave(t *testing.T) {
	t.Parallel()
	for region, want := range map[entity.MultiRegion]map[string][]string{
		entity.SingleRegion: {}, entity.MREC: {},
		entity.MRSC: {
			"retained": {"EDD-9089"}, "deletable": {"EDD-9089"}, "claimed": {"EDD-9089"}, "series": {"EDD-9089", "EDD-9090"}, "expiring": {"EDD-9090", "EDD-9090"},
		},
	} {
		db := entity.Must(entity.Open(nil, entity.Config{Table: "t", MultiRegion: region}))
		for name, declare := range map[string]func() error{
			"retained":  func() error { return dbtest.ErrorOf(entity.New[retained](db)) },
			"deletable": func() error { return dbtest.ErrorOf(entity.New[deletable](db)) },
			"claimed":   func() error { return dbtest.ErrorOf(entity.New[claimed](db)) },
			"expiring":  func() error { return dbtest.ErrorOf(entity.New[expiring](db)) },
			"series":    func() error { return dbtest.ErrorOf(timeseries.New[reading](db)) },
			"locked":    func() error { return dbtest.ErrorOf(entity.New[locked](db)) },
		} {
			require.Equal(t, want[name], codes(declare()), "%d %s", region, name)
		}
		if region == entity.MRSC {
			require.Equal(t, []string{"Locked"}, tables.Of(db).Tables[0].Entities, "what is refused is not declared")
		}
	}
	require.Equal(t, "EDD-9050", dbtest.SchemaCode(dbtest.ErrorOf(entity.Open(nil, entity.Config{Table: "t", MultiRegion: 7}))))
}

// A transaction is refused before any request, and everything else works.
func TestMultiRegion_TransactionsAreRefused(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[locked](t, func(c *entity.Config) { c.MultiRegion = entity.MRSC })
	ctx, key, f := b.Ctx, locked{ID: "a"}, entity.Fields[locked]()
	for name, call := range map[string]func() error{
		"Transact":          func() error { return b.DB.Transact(ctx, s.Op().Create(key)) },
		"TransactWithToken": func() error { return b.DB.TransactWithToken(ctx, entity.Token{ID: "t"}, s.Op().Create(key)) },
		"TransactGet":       func() error { return b.DB.TransactGet(ctx, s.Op().GetInto(&locked{ID: "a"})) },
		"Create":            func() error { return dbtest.ErrorOf(s.Create(ctx, key, entity.Idempotent())) },
		"Update":            func() error { return dbtest.ErrorOf(s.Update(ctx, key, entity.Add(&f.Count, 1), entity.Idempotent())) },
		"Put":               func() error { return dbtest.ErrorOf(s.Put(ctx, key, entity.Idempotent())) },
		"Delete":            func() error { return s.Delete(ctx, key, entity.Idempotent()) },
	} {
		require.Equal(t, "EDD-9167", dbtest.InputCode(call()), name)
	}
	other := b.DB.WithClient(b.Client)
	require.Equal(t, "EDD-9167", dbtest.InputCode(other.Transact(ctx, entity.Must(entity.New[locked](other)).Op().Create(key))))
	require.Empty(t, b.Operations())

	v := entity.Must(s.Create(ctx, locked{ID: "a", State: "on"}))
	b.OK(s.Update(ctx, v, entity.Set(&f.State, "off")))
	v = entity.Must(s.Modify(ctx, key, func(v *locked) error { v.Count++; return nil }))
	require.ErrorIs(t, dbtest.ErrorOf(s.Update(ctx, locked{ID: "a", Version: 1}, entity.Add(&f.Count, 1))), entity.ErrConflict)
	v.Count++
	b.OK(s.Put(ctx, v))
	b.OK(s.PutMany(ctx, []locked{{ID: "b"}}, entity.Unconditional()))
	b.OK(s.Delete(ctx, locked{ID: "b"}))
	b.OK(entity.Must(s.Index("byState")).Query(locked{State: "off"}).One(ctx))
	b.OK(s.Purge(ctx, key))
	for _, operation := range b.Operations() {
		require.NotContains(t, operation, "Transact")
	}
}

// Requests signed at a wrong time are refused. The first call of a client is repeated with the corrected time, once; a refusal
// for another reason is final.
func TestSigning_RepeatsWhatAClockThatDiffersMadeFail(t *testing.T) {
	t.Parallel()
	for _, codec := range []entity.Codec{entity.OwnCodec, entity.SDKCodec} {
		for code, skew := range map[string]time.Duration{"InvalidSignatureException": 24 * time.Hour, "RequestTimeTooSkewed": -time.Hour, "AccessDeniedException": 0} {
			now, requests := time.Now().Add(skew), 0
			client := dynamodb.New(dynamodb.Options{
				Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
				HTTPClient: doer(func(r *http.Request) (*http.Response, error) {
					requests++
					status, body := 400, `{"__type":"`+code+`","message":"the time differs"}`
					if at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date")); err == nil && skew != 0 && at.Sub(now).Abs() < 30*time.Minute {
						status, body = 200, shipmentAnswers["UpdateItem"]
					}
					return &http.Response{StatusCode: status, Header: http.Header{"Date": {now.UTC().Format(http.TimeFormat)}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
				}),
			})
			_, s := shipments(t, client, codec)
			_, err := s.Update(t.Context(), Shipment{Depot: "north", ID: "p-0001"}, entity.Set(&entity.Fields[Shipment]().Count, 3))
			if skew == 0 {
				require.Error(t, err)
				require.False(t, entity.IsAmbiguous(err))
				require.Equal(t, 1, requests)
				continue
			}
			require.NoError(t, err, "codec %v, %s", codec, code)
			require.Equal(t, 2, requests, "codec %v, %s", codec, code)
		}
	}
}
