package entity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// Client is the part of *dynamodb.Client that this module calls. Its own retries are not used: see docs/adr.
type Client = exec.Client

// Report says what one call cost; see [Config].Observe.
type Report = exec.Report

// Config of a [DB]. The zero value of each field is its default.
type Config struct {
	Table  string            // physical table of entities whose entity.Key names none
	Tables map[string]string // logical name in entity.Key's table → physical table; a name that is not here is used as it is

	TableOptions map[string]TableOptions // by logical name, "" is the default table; of tables that are not here: the zero value

	Namespace Namespace // begins every `$` key
	Interop   bool      // shares its tables with effect-dynamodb: see docs/interop.md; needs LowerCase and TimePrecision: time.Millisecond

	TimePrecision time.Duration                 // of times without a format in their tag: Nanosecond (default), Microsecond, Millisecond or Second
	MaxAttempts   int                           // requests for one write, and rounds of planning; default 10
	Clock         func() time.Time              // default time.Now
	NewID         func() string                 // write ids and idempotency tokens, 1 to 36 characters, never the same twice; default 128 random bits
	PK, SK, TTL   string                        // attributes of `$` keys and of expiry; default pk, sk, _ttl
	Validator     Validator                     // checks values by their `validate` tags before they are written; default nobody
	CursorKey     []byte                        // encrypts cursors when set; at least 16 random bytes; needed for pages of keys with secret parts
	OldCursorKeys [][]byte                      // keys under which cursors are accepted too, while a key is replaced by another
	Observe       func(context.Context, Report) // called once after each verb, with what it cost; default nobody
}

// Validator checks values before they are written; [Config].Validator has the one of a [DB]. A *validator.Validate of
// github.com/go-playground/validator/v10 is a Validator.
//
// Struct is called with the entity, a value of T and no pointer, by every verb that writes a whole value, and with what
// Modify made of the item. Var is called by Update and by changes beside a value, for what a change sets: with the new
// value and the field's `validate` tag. A field that is removed is checked as the zero value that readers will see. A
// struct in a field without a tag is given to Struct. Of elements that ListAppend, ListPrepend and AddToSet add, and of
// map entries, each is checked with the part of the tag after the word dive, keys with what is between keys and endkeys.
// The verbs of a time series write parts of an item, so they call Var for each field that they write.
//
// Var does not see the other fields: a rule that looks at them needs a verb of whole values, such as Modify. Not checked
// are the result of [Add], and a list, map or struct of which only a part changes.
//
// The calls come before any request, after the values' own Validate methods; Modify calls after its read. A
// refusal is a *[ValidationError] with code EDD-9130 that wraps the error. A panic is not caught, except by New, which has
// Var read every tag once, with a zero value: a tag that Var panics on is a *[SchemaError] with code EDD-9073.
type Validator interface {
	Struct(v any) error
	Var(v any, tag string) error
}

// Namespace begins every `$` key: `$<Name>#v<Version>#<entity>`.
type Namespace struct {
	Name    string // default "app"
	Version int    // default 1
	Casing  Casing // of the text of `$` keys; default PreserveCase
}

// Casing says in which case values are written in `$` keys. The attributes themselves always keep theirs.
type Casing int

const (
	// PreserveCase writes values as they are.
	PreserveCase Casing = iota
	// LowerCase writes the whole key in lower case. Keys that differ in case only are then one key, and the verbs of one
	// item fail with a *[KeyCaseError] when the stored key parts are not the given ones.
	LowerCase
)

// DB is a set of entity declarations on the tables of one client. It is safe for concurrent use.
type DB struct {
	declared

	config  Config
	runner  *exec.Runner
	format  key.TimeFormat
	cursors cursor.Codec

	mu     sync.Mutex
	stores map[storeKey]core.Holder
}

type declared = core.Declared

type storeKey struct {
	typ          reflect.Type
	name, handle string
}

// Open returns a DB. It does no I/O. client is usually a *dynamodb.Client; with nil, operations can be built and printed
// but not run. The error joins a *SchemaError with code EDD-9050 for each mistake in cfg.
func Open(client Client, cfg Config) (*DB, error) {
	cfg = withDefaults(cfg)
	format, err := check(cfg)
	if err != nil {
		return nil, err
	}
	if v := reflect.ValueOf(client); client != nil && v.Kind() == reflect.Pointer && v.IsNil() {
		client = nil
	}
	cursors, err := cursorCodec(cfg)
	if err != nil {
		return nil, err
	}
	db := &DB{
		declared: core.NewDeclared(),
		config:   cfg, format: format, cursors: cursors,
		runner: &exec.Runner{Client: client, MaxAttempts: cfg.MaxAttempts, Clock: cfg.Clock, NewID: cfg.NewID, Observe: cfg.Observe},
		stores: map[storeKey]core.Holder{},
	}
	return db, nil
}

// unopened is the error of a db that is nil or a zero value, nil for others.
func (db *DB) unopened() error {
	if db == nil || db.runner == nil {
		return core.Unopened(reflect.TypeOf(db))
	}
	return nil
}

// measure runs f as one measured call of db.
func (db *DB) measure(ctx context.Context, verb string, f func(context.Context) error) error {
	if err := db.unopened(); err != nil {
		return &Error{Verb: verb, Err: err}
	}
	return db.runner.Measure(ctx, verb, "", f)
}

func withDefaults(c Config) Config {
	set := func(s *string, d string) {
		if *s == "" {
			*s = d
		}
	}
	set(&c.Namespace.Name, "app")
	set(&c.PK, "pk")
	set(&c.SK, "sk")
	set(&c.TTL, "_ttl")
	if c.Namespace.Version == 0 {
		c.Namespace.Version = 1
	}
	if c.TimePrecision == 0 {
		c.TimePrecision = time.Nanosecond
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = exec.DefaultAttempts
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.NewID == nil {
		c.NewID = rand.Text
	}
	c.Tables, c.TableOptions = maps.Clone(c.Tables), cloneOptions(c.TableOptions)
	return c
}

func check(c Config) (key.TimeFormat, error) {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, &SchemaError{Code: schema.CodeConfig, Type: "entity.Config", Field: field, Problem: fmt.Sprintf(format, args...)})
	}
	if err := tag.Name(c.Namespace.Name); err != nil {
		bad("Namespace.Name", "%v", err)
	}
	if c.Namespace.Version < 1 {
		bad("Namespace.Version", "must be 1 or more")
	}
	if c.MaxAttempts < 1 {
		bad("MaxAttempts", "must be 1 or more")
	}
	if len(c.CursorKey) > 0 && len(c.CursorKey) < leastCursorKey {
		bad("CursorKey", "must be at least %d bytes", leastCursorKey)
	}
	if len(c.OldCursorKeys) > 0 && len(c.CursorKey) == 0 {
		bad("OldCursorKeys", "need a CursorKey, under which new cursors are encrypted")
	}
	for i, k := range c.OldCursorKeys {
		if len(k) < leastCursorKey {
			bad(fmt.Sprintf("OldCursorKeys[%d]", i), "must be at least %d bytes", leastCursorKey)
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
	for _, name := range slices.Sorted(maps.Keys(c.TableOptions)) {
		for _, problem := range c.TableOptions[name].mistakes() {
			bad(fmt.Sprintf("TableOptions[%q]", name), "%s", problem)
		}
	}
	if v := reflect.ValueOf(c.Validator); v.Kind() == reflect.Pointer && v.IsNil() {
		bad("Validator", "must not be a nil %T", c.Validator)
	}
	if c.Namespace.Casing != PreserveCase && c.Namespace.Casing != LowerCase {
		bad("Namespace.Casing", "must be PreserveCase or LowerCase")
	}
	if c.Interop && c.Namespace.Casing != LowerCase {
		bad("Namespace.Casing", "must be LowerCase with Interop")
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

func (db *DB) options(name string) schema.Options {
	return schema.Options{
		Name: name, Namespace: db.config.Namespace.Name, NamespaceVersion: db.config.Namespace.Version,
		PK: db.config.PK, SK: db.config.SK, TTL: db.config.TTL, Precision: db.format,
		Profile: schema.NewProfile(db.config.Namespace.Casing == LowerCase, db.config.Interop), Validator: db.config.Validator,
	}
}

// tableName is the physical name of s's table.
func (db *DB) tableName(s *schema.Schema) string {
	if s.Table == "" {
		return db.config.Table
	}
	if name, ok := db.config.Tables[s.Table]; ok {
		return name
	}
	return s.Table
}

// register adds s to its table after checking it against what is there.
func (db *DB) register(s *schema.Schema) (table string, err error) {
	table = db.tableName(s)
	if table == "" {
		return "", &SchemaError{Code: schema.CodeConfig, Type: "entity.Config", Field: "Table", Problem: "no table for entity " + s.Name + ": set Table, or name a table in its entity.Key"}
	}
	return table, core.DatabaseOf(db).Add(table, s)
}

// leastCursorKey is how many bytes a cursor key has at least.
const leastCursorKey = 16

// cursorCodec is the codec of cursors under the configured keys.
func cursorCodec(c Config) (cursor.Codec, error) {
	if len(c.CursorKey) == 0 {
		return cursor.Codec{}, nil
	}
	codec, err := cursor.New(append([][]byte{c.CursorKey}, c.OldCursorKeys...)...)
	if err != nil {
		return codec, &SchemaError{Code: schema.CodeConfig, Type: "entity.Config", Field: "CursorKey", Problem: err.Error()}
	}
	return codec, nil
}

// Must returns v and panics on err. It is for wiring at start-up and for nothing else.
func Must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
