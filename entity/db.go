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
	CursorKey     []byte                        // encrypts cursors when set; at least 16 random bytes; needed for pages of keys with secret parts
	OldCursorKeys [][]byte                      // keys under which cursors are accepted too, while a key is replaced by another
	Observe       func(context.Context, Report) // called once after each verb, with what it cost; default nobody
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
	catalog

	config  Config
	runner  *exec.Runner
	format  key.TimeFormat
	cursors cursor.Codec

	views  sync.Map // what timelines registered, by name
	mu     sync.Mutex
	stores map[storeKey]core.Holder
	tables map[string]*schema.Table
	order  []string // tables in the order in which they were first used
}

type catalog = core.Catalog

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
		config: cfg, format: format, cursors: cursors,
		runner: &exec.Runner{Client: client, MaxAttempts: cfg.MaxAttempts, Clock: cfg.Clock, NewID: cfg.NewID, Observe: cfg.Observe},
		stores: map[storeKey]core.Holder{}, tables: map[string]*schema.Table{},
	}
	db.catalog = core.NewCatalog(db.schemas)
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
		LowerCase: db.config.Namespace.Casing == LowerCase, Interop: db.config.Interop,
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
	t := db.tables[table]
	if t == nil {
		t = &schema.Table{Name: table}
	}
	if err := t.Add(s); err != nil {
		return "", err
	}
	if db.tables[table] == nil {
		db.tables[table] = t
		db.order = append(db.order, table)
	}
	return table, nil
}

// schemas are those of all stores, by table and in order of declaration.
func (db *DB) schemas() []*schema.Schema {
	db.mu.Lock()
	defer db.mu.Unlock()
	var all []*schema.Schema
	for _, name := range db.order {
		all = append(all, db.tables[name].Entities...)
	}
	return all
}

// entitiesOf are the schemas of the stores on one table, in order of declaration.
func (db *DB) entitiesOf(table string) []*schema.Schema {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.tables[table].Entities // never changed in place: see schema.Table.Add
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
