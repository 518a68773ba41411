package main

import (
	"log/slog"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// handles are what entity.Bind opens.
type handles struct {
	Devices  *entity.Store[Device]
	Activity *entity.Index[Device] `entity:"byActivity"`
	Readings *entity.Store[Reading]
	Batches  *entity.Store[ProcessedBatch]
}

// backend is the service without HTTP: the three stores and everything else that the operations need.
type backend struct {
	*handles
	db *entity.DB

	retention time.Duration // of readings; 0: for ever
	log       *slog.Logger
	now       func() time.Time
	newUUID   func() UUID4
}

// options holds what tests replace.
type options struct {
	now      func() time.Time
	newUUID  func() UUID4
	tracer   entity.Tracer
	attempts int // how often a request is sent; 0: as often as the library does
}

// open declares the entities. It does no I/O, and finds mistakes in the tags and the configuration.
func open(client entity.Client, cfg config, log *slog.Logger, o options) (*backend, error) {
	db, err := entity.Open(client, entity.Config{
		Tables:      cfg.tables(),
		Clock:       o.now,
		Validator:   rules,
		Tracer:      o.tracer,
		MaxAttempts: o.attempts,
	})
	if err != nil {
		return nil, err
	}
	keep := lifecycle.NoExpiry()
	if cfg.Retention > 0 {
		keep = lifecycle.After(cfg.Retention)
	}
	opened, err := entity.Bind[handles](db, entity.For[Reading](keep))
	return &backend{handles: opened, db: db, retention: cfg.Retention, log: log, now: o.now, newUUID: o.newUUID}, err
}

// clock returns the service's time as the tables store it: UTC, in whole seconds.
func (b *backend) clock() time.Time { return b.now().UTC().Truncate(time.Second) }

// readingField is the prototype of readings: the addresses of its fields name attributes.
var readingField = entity.Fields[Reading]()
