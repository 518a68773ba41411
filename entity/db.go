package entity

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Client has the methods of *dynamodb.Client that this module calls: GetItem, PutItem, UpdateItem, DeleteItem, Query, Scan,
// BatchGetItem, BatchWriteItem, TransactGetItems, TransactWriteItems, CreateTable, DescribeTable, DescribeTimeToLive and
// UpdateTimeToLive. The module does all retries and turns those of the client off.
type Client = entitytype.Client

// Namespace is the prefix of every `$` key: `$<Name>#v<Version>#<entity>`.
type Namespace struct {
	Name    string // default "app"
	Version int    // default 1
}

// Validator checks values before they are written; see [Config].Validator. *validator.Validate of
// github.com/go-playground/validator/v10 implements it.
//
// Struct is called with the entity, a value of T and not a pointer, by every verb that writes a whole value, and with the result of the
// function given to Modify. Var is called by Update, and for the changes that Upsert takes in addition to a value, with the new value and
// the field's `validate` tag. A field that is removed is checked as the zero value that readers will see. A struct in a field without a tag
// is passed to Struct. Each element added by ListAppend, ListPrepend and AddToSet, and each map entry, is checked with the part of the tag
// after the word dive, and map keys with the part between keys and endkeys. The verbs of a time series write parts of an item, so they call
// Var for each field that they write.
//
// Var does not see the other fields: a rule about several fields needs a verb that writes whole values, such as Modify.
// The result of [Add] is not checked, nor is a list, map or struct of which only a part changes.
//
// The calls come before any request, after the values' own Validate methods; Modify calls after its read. A refusal is
// a *[ValidationError] with code EDD-9130 that wraps the error. A panic is not recovered, except in New, which calls
// Var once for every tag with a zero value: a tag that makes Var panic is a *[SchemaError] with code EDD-9073.
type Validator interface {
	Struct(v any) error
	Var(v any, tag string) error
}

// Config configures a [DB]. The zero value of each field is its default. A key or an entry of a map that is there, but empty, is a mistake.
type Config struct {
	Table  string            // physical table of entities whose entity.Key has no table
	Tables map[string]string // logical name in entity.Key's table → physical table; a missing name is used as it is

	TableOptions map[string]TableOptions // by logical name, "" is the default table

	Namespace Namespace // prefix of every `$` key
	Interop   bool      // shares tables with effect-dynamodb: all keys are in lower case; see docs/sharing.md; needs TimePrecision: time.Millisecond

	TimePrecision time.Duration    // of times without a format in their tag: Nanosecond (default), Microsecond, Millisecond or Second
	MaxAttempts   int              // requests for one write, and rounds of planning; default 10
	Clock         func() time.Time // default time.Now
	NewID         func() string    // write ids, idempotency tokens and the random bits of generated ids, 1 to 36 characters, always unique; default 128 random bits
	PK, SK, TTL   string           // attributes of `$` keys and of expiry; default pk, sk, _ttl
	Validator     Validator        // checks values by their `validate` tags before they are written; default none
	CursorKey     []byte           // encrypts cursors; at least 16 random bytes, nil for none; needed for pages of keys with secret parts
	OldCursorKeys [][]byte         // keys of cursors that are still accepted after CursorKey was replaced
	Tracer        Tracer           // called around each verb and for each request; default none

	// FromContext gives the fields with the role context=name their value: each write stores what it returns for the context of the call
	// and that name, so items, snapshots and deleted copies say who wrote them, and why. The result false, or an empty text, means that the
	// context has no such value: then the write removes the attribute, or is an *[InputError] (EDD-9251) before any request if the field is
	// required. It is called once for each plan of a write and field, and must return the same for the same context. Default none.
	FromContext func(ctx context.Context, name string) (string, bool)

	// RequestTimeout limits the time of one request; the default 0 is unlimited. A request without an answer in that time counts as lost:
	// it is repeated where that does no harm, and a write that may have been applied is examined as after any other lost answer.
	RequestTimeout time.Duration

	// RetryBudget is the size of the token bucket from which repeated requests are paid, over all calls of the DB, as in the
	// SDK: a repetition costs 5 tokens, 10 after a timeout, which come back when it is answered, and each answered request
	// adds 1. Without enough tokens a call ends with [ErrRetryBudget], so a database that throttles everything gets few
	// repetitions. Conflicts cost nothing. The default 0 means 500, as in the SDK; a negative number means no limit.
	RetryBudget int

	// MultiRegion is the replication of the tables, by default SingleRegion. With MRSC, New refuses declarations that such tables
	// cannot have (EDD-9089, EDD-9090), and transactions are refused before any request (EDD-9167): see docs/tables.md.
	MultiRegion MultiRegion

	// ReadClient sends eventually consistent reads instead of the client given to Open, such as a client of a cache in front of
	// DynamoDB: Get, GetMany, BatchGet, queries and scans without [Consistent], those of global indexes among them. Every other
	// request is sent by the client itself: consistent reads, whatever a write is planned from (reads with [KeepImage] too),
	// transactions, histories of versions and deleted items, timelines, and what is about tables. So a cache can make a program see
	// old items, as old as it keeps them, but not write from them. Default none.
	ReadClient Client

	// Codec chooses what writes requests and decodes items. The default, OwnCodec, writes the JSON of requests and decodes
	// DynamoDB's JSON straight into structs, for a *dynamodb.Client with neither middleware nor interceptors, or with such as
	// MiddlewareIgnoresItems says. Any other client gets complete inputs, and the SDK reads its answers: it may copy or keep both, give
	// the SDK another input, and replace entries of the maps of items and keys, which each attempt has for itself. It must not change
	// what the values point to, which the program shares; and since a transaction is repeated under one token, it must make the same
	// of the same input, or the repetition is an [ErrTokenReused]. With SDKCodec the SDK writes every request and reads every
	// answer, and its attributevalue decodes every item. Results and errors are the same.
	Codec Codec

	// MiddlewareIgnoresItems says that the middleware and the interceptors of the *dynamodb.Client given to Open, and of ReadClient,
	// neither read items, keys and expressions in the SDK's inputs and outputs, nor change anything there, nor send a call twice. Then
	// OwnCodec serves such a client too: its inputs have the names of tables and indexes and the flags of reads, and its outputs the
	// counts and capacity units. Changes of an input have no effect, and another table is an error before the request.
	// Right for tracing (otelaws, X-Ray), metrics, logs of names and durations, and headers. Wrong for client-side encryption, audits
	// of items, caches, and prefixes of tables or keys. It changes nothing for a client of another type. The default is false.
	MiddlewareIgnoresItems bool
}

// Codec is a way to decode items and to write requests.
type Codec int

// The codecs.
const (
	OwnCodec Codec = iota // compiled from the struct
	SDKCodec              // the SDK's
)

// leastCursorKey is the least length of a cursor key, in bytes.
const leastCursorKey = 16

func withDefaults(c Config) Config {
	c.Namespace.Name, c.Namespace.Version = cmp.Or(c.Namespace.Name, "app"), cmp.Or(c.Namespace.Version, 1)
	c.PK, c.SK, c.TTL = cmp.Or(c.PK, "pk"), cmp.Or(c.SK, "sk"), cmp.Or(c.TTL, "_ttl")
	c.TimePrecision = cmp.Or(c.TimePrecision, time.Nanosecond)
	c.MaxAttempts = cmp.Or(c.MaxAttempts, engine.DefaultAttempts)
	c.RetryBudget = cmp.Or(c.RetryBudget, int(awsretry.DefaultRetryRateTokens))
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.NewID == nil {
		c.NewID = rand.Text
	}
	c.Tables, c.TableOptions = maps.Clone(c.Tables), maps.Clone(c.TableOptions)
	for name, o := range c.TableOptions {
		if o.Provisioned != nil {
			t := *o.Provisioned
			o.Provisioned = &t
		}
		o.Indexes = maps.Clone(o.Indexes)
		c.TableOptions[name] = o
	}
	return c
}

func check(c Config) (key.TimeFormat, error) {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, &SchemaError{Code: schema.CodeConfig, Type: "entity.Config", Field: field, Problem: fmt.Sprintf(format, args...)})
	}
	if err := schema.Name(c.Namespace.Name); err != nil {
		bad("Namespace.Name", "%v", err)
	}
	if c.Namespace.Version < 1 {
		bad("Namespace.Version", "must be 1 or more")
	}
	if c.MaxAttempts < 1 {
		bad("MaxAttempts", "must be 1 or more")
	}
	if c.CursorKey != nil && len(c.CursorKey) < leastCursorKey {
		bad("CursorKey", "must be at least %d bytes, not %d; nil is no key", leastCursorKey, len(c.CursorKey))
	}
	if len(c.OldCursorKeys) > 0 && c.CursorKey == nil {
		bad("OldCursorKeys", "need a CursorKey, under which new cursors are encrypted")
	}
	for i, k := range c.OldCursorKeys {
		if len(k) < leastCursorKey {
			bad(fmt.Sprintf("OldCursorKeys[%d]", i), "must be at least %d bytes, not %d", leastCursorKey, len(k))
		}
	}
	if c.PK == c.SK || c.PK == c.TTL || c.SK == c.TTL {
		bad("PK", "PK, SK and TTL must be different attributes")
	}
	for _, a := range []struct{ field, attr string }{{"PK", c.PK}, {"SK", c.SK}, {"TTL", c.TTL}} {
		if schema.Reserved(a.attr) {
			bad(a.field, "the attribute %q belongs to the library", a.attr)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tables)) {
		switch {
		case name == "":
			bad(`Tables[""]`, "is no logical name; the table of entities without one is Config.Table")
		case c.Tables[name] == "":
			bad(fmt.Sprintf("Tables[%q]", name), "is empty: give the name of the table, or leave the entry out if it is the logical one")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.TableOptions)) {
		for _, problem := range optionMistakes(c.TableOptions[name]) {
			bad(fmt.Sprintf("TableOptions[%q]", name), "%s", problem)
		}
	}
	if v := reflect.ValueOf(c.Validator); v.Kind() == reflect.Pointer && v.IsNil() {
		bad("Validator", "must not be a nil %T", c.Validator)
	}
	if v := reflect.ValueOf(c.Tracer); v.Kind() == reflect.Pointer && v.IsNil() {
		bad("Tracer", "must not be a nil %T", c.Tracer)
	}
	if c.RequestTimeout < 0 {
		bad("RequestTimeout", "must not be negative")
	}
	if c.Codec != OwnCodec && c.Codec != SDKCodec {
		bad("Codec", "must be OwnCodec or SDKCodec")
	}
	if c.Codec == SDKCodec && c.MiddlewareIgnoresItems {
		bad("MiddlewareIgnoresItems", "cannot be set with SDKCodec, which gives middleware everything")
	}
	if c.MultiRegion < SingleRegion || c.MultiRegion > MRSC {
		bad("MultiRegion", "must be SingleRegion, MREC or MRSC")
	}
	if c.Interop && c.TimePrecision != time.Millisecond {
		bad("TimePrecision", "must be a millisecond with Interop")
	}
	formats := map[time.Duration]key.TimeFormat{time.Nanosecond: key.Nano, time.Microsecond: key.Micro, time.Millisecond: key.Milli, time.Second: key.Second}
	format, ok := formats[c.TimePrecision]
	if !ok {
		bad("TimePrecision", "must be a nanosecond, microsecond, millisecond or second")
	}
	return format, errors.Join(errs...)
}

type storeKey struct {
	typ          reflect.Type
	name, handle string
}

type declared = engine.Declared

// DB is a set of entity declarations on the tables of one client. It is safe for concurrent use.
type DB struct {
	declared

	config  Config
	runner  *engine.Runner
	format  key.TimeFormat
	cursors cursor.Codec

	registry *registry
	base     *DB // that Open returned, whose declarations it has
}

// Open returns a DB. It does no I/O. client is usually a *dynamodb.Client. With a nil client, operations can be built
// and printed but not run. The error joins a *SchemaError with code EDD-9050 for each mistake in cfg.
func Open(client Client, cfg Config) (*DB, error) {
	cfg = withDefaults(cfg)
	format, err := check(cfg)
	if err != nil {
		return nil, err
	}
	var cursors cursor.Codec
	if len(cfg.CursorKey) > 0 {
		if cursors, err = cursor.New(append([][]byte{cfg.CursorKey}, cfg.OldCursorKeys...)...); err != nil {
			return nil, &SchemaError{Code: schema.CodeConfig, Type: "entity.Config", Field: "CursorKey", Problem: err.Error()}
		}
	}
	runner := newRunner(client, cfg)
	if cfg.RetryBudget >= 0 {
		runner.Retries = ratelimit.NewTokenRateLimit(uint(cfg.RetryBudget))
	}
	db := &DB{
		declared: engine.NewDeclared(runner, cfg.TableOptions),
		config:   cfg, format: format, cursors: cursors,
		runner:   runner,
		registry: &registry{stores: map[storeKey]*registered{}},
	}
	db.base = db
	return db, nil
}

// unopened returns an error if db is nil or a zero value.
func (db *DB) unopened() error {
	if db == nil || db.runner == nil {
		return engine.Unopened(reflect.TypeOf(db))
	}
	return nil
}

// measure runs f as one measured call of db about n keys or operations, of ops if they are given.
func (db *DB) measure(ctx context.Context, verb string, n int, f func(context.Context) error, ops ...Op) error {
	if err := db.unopened(); err != nil {
		return &Error{Verb: verb, Err: err}
	}
	call := entitytype.Call{Verb: verb, Batch: n}
	if db.runner.Tracer != nil {
		for _, op := range ops {
			if op != nil {
				call.Entities = append(call.Entities, engine.OwnerOf(op).Schema.Name)
			}
		}
		slices.Sort(call.Entities)
		call.Entities = slices.Compact(call.Entities)
	}
	return db.runner.Measure(ctx, call, f)
}

// Must returns v and panics if err is not nil. Use it only to initialize a program.
func Must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
