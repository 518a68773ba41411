package entity

import (
	"reflect"
	"sync"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
)

// registry holds the stores of a DB, and of those that share its declarations.
type registry struct {
	mu     sync.Mutex
	stores map[storeKey]*registered // of the DB that Open returned
}

// registered holds what a struct declares, and the store that New returned for it; nil if it was opened on other DBs only.
type registered struct {
	core  *engine.Core
	store engine.Holder
}

// clientOrNil returns nil for a nil pointer in an interface.
func clientOrNil(client Client) Client {
	if v := reflect.ValueOf(client); client != nil && v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return client
}

// newRunner returns what sends the requests of a DB.
func newRunner(client Client, cfg Config) *engine.Runner {
	client, reads := clientOrNil(client), clientOrNil(cfg.ReadClient)
	own := func(c Client) bool { return cfg.Codec == OwnCodec && engine.Owns(c, cfg.MiddlewareIgnoresItems) }
	r := &engine.Runner{
		Client: client, ReadClient: reads, Own: own(client), OwnReads: own(reads),
		MaxAttempts: cfg.MaxAttempts, Clock: cfg.Clock, NewID: cfg.NewID, Tracer: cfg.Tracer,
		RequestTimeout: cfg.RequestTimeout,
	}
	if cfg.MultiRegion == MRSC {
		r.NoTransactions = &InputError{Code: bind.CodeTransaction, Type: "entity.DB", Problem: "the call is a transaction, and tables with strong consistency over Regions have none (Config.MultiRegion is MRSC)"}
	}
	return r
}

// WithClient returns a DB with the declarations and the configuration of db and another client, for example one with the credentials of a
// tenant. It compiles nothing and does no I/O, so a program can make one for every request. Stores are opened on it as on db, by [New] and
// the constructors of other packages, which find what db has declared; what they declare in addition is declared on db too.
//
// Everything that is opened on the result uses its client alone: [Config].ReadClient is not used, and neither is what db has
// learned about its own client. The retry budget is that of db, since a DB of one request would never spend its own.
// Operations, queries and reads of the one DB are refused by the other, with an *[InputError] with code EDD-9114. A call on the result of a nil or zero db fails.
func (db *DB) WithClient(client Client) *DB {
	if db.unopened() != nil {
		return &DB{}
	}
	cfg := db.config
	cfg.ReadClient = nil
	runner := newRunner(client, cfg)
	runner.Retries = db.runner.Retries
	return &DB{
		declared: engine.SharedDeclared(db, runner), config: cfg, format: db.format, cursors: db.cursors, runner: runner,
		registry: db.registry, base: db.base,
	}
}
