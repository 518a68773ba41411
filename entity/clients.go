package entity

import (
	"reflect"
	"sync"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/exec"
)

// registry holds the stores of a DB, and of those that share its declarations.
type registry struct {
	mu     sync.Mutex
	stores map[storeKey]core.Holder // of the DB that Open returned
}

// clientOrNil returns nil for a nil pointer in an interface.
func clientOrNil(client Client) Client {
	if v := reflect.ValueOf(client); client != nil && v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return client
}

// newRunner returns what sends the requests of a DB.
func newRunner(client Client, cfg Config) *exec.Runner {
	return &exec.Runner{
		Client: clientOrNil(client), ReadClient: clientOrNil(cfg.ReadClient),
		MaxAttempts: cfg.MaxAttempts, Clock: cfg.Clock, NewID: cfg.NewID, Observe: cfg.Observe, SDKCodec: cfg.Codec == SDKCodec,
		NoTransactions: cfg.MultiRegion == MRSC,
	}
}

// WithClient returns a DB with the declarations and the configuration of db and another client, for example one with the
// credentials of a tenant. It compiles nothing and does no I/O, so a program can make one for every request. Stores are opened
// on it as on db, by [New] and the constructors of other packages, which find what db has declared; what they declare in addition
// is declared on db too.
//
// Everything that is opened on the result uses its client alone: [Config].ReadClient is not used, and neither is what db has
// learned about its own client. Operations, queries and reads of the one DB are refused by the other, with an *[InputError]
// with code EDD-9114. A call on the result of a nil or zero db fails.
func (db *DB) WithClient(client Client) *DB {
	if db.unopened() != nil {
		return &DB{}
	}
	cfg := db.config
	cfg.ReadClient = nil
	return &DB{
		declared: core.SharedDeclared(db), config: cfg, format: db.format, cursors: db.cursors, runner: newRunner(client, cfg),
		registry: db.registry, base: db.original(),
	}
}

// original returns the DB that Open returned.
func (db *DB) original() *DB {
	if db.base != nil {
		return db.base
	}
	return db
}
