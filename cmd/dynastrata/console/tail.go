package console

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/stream"
)

// changeNames are the names of changes by the kind of the item: stored, changed, removed, expired; those of package stream.
var changeNames = map[Kind][4]stream.Kind{
	KindCurrent: {stream.Created, stream.Updated, stream.Deleted, stream.Expired},
	KindEvent:   {stream.Appended, stream.EventChanged, stream.EventRemoved, stream.EventExpired},
	KindVersion: {stream.SnapshotStored, stream.SnapshotChanged, stream.SnapshotRemoved, stream.SnapshotExpired},
	KindDeleted: {stream.SoftDeleted, stream.CopyChanged, stream.CopyRemoved, stream.CopyExpired},
}

// errEnough ends tail after --limit changes.
var errEnough = errors.New("enough")

// tailCommand prints changes as they happen.
func (s *session) tailCommand() *cli.Command {
	return &cli.Command{
		Name: "tail", Usage: "print the stream of the tables as changes, until interrupted", ArgsUsage: "[entity…]",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "from-start", Usage: "begin with the oldest record, up to 24 hours ago"},
			&cli.StringSliceFlag{Name: "where", Usage: "print only changes of items that have, or had before, attribute=value; all of several; the stream must have images"},
			&cli.IntFlag{Name: "limit", Usage: "end after so many changes"},
		},
		ShellComplete: s.complete(s.nextEntities),
		Action: s.action(func(ctx context.Context, c *cli.Command) error {
			if err := s.database(ctx, c); err != nil {
				return err
			}
			t := &tail{s: s, chosen: map[string]bool{}, left: int(c.Int("limit")), latest: !c.Bool("from-start")}
			for _, name := range c.Args().Slice() {
				e, err := s.m.entity(name)
				if err != nil {
					return err
				}
				t.chosen[e.s.Name] = true
			}
			var err error
			if t.where, err = t.conditions(c.StringSlice("where")); err != nil {
				return err
			}
			err = t.run(ctx)
			if ctx.Err() != nil {
				s.err.line("interrupted; tail --from-start begins with the oldest record, up to 24 hours ago")
				return nil //nolint:nilerr // an interruption ends it as intended
			}
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		}),
	}
}

// tail is one run of tail.
type tail struct {
	s      *session
	chosen map[string]bool
	where  []word
	latest bool

	mu     sync.Mutex // shards and tables are read at the same time
	left   int        // changes to print; 0 without a limit
	enough bool       // all of them are printed
}

// conditions reads the values of --where.
func (t *tail) conditions(texts []string) (all []word, err error) {
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		switch {
		case !ok:
			return nil, invalid(bind.CodeConsoleKey, "--where is given as attribute=value")
		case !slices.ContainsFunc(t.s.m.entities, func(e *entityModel) bool {
			return (len(t.chosen) == 0 || t.chosen[e.s.Name]) && e.s.Attr(name) != nil
		}):
			return nil, invalid(bind.CodeConsoleName, "none of the entities has an attribute %s", item.Text(name))
		}
		all = append(all, word{name, value})
	}
	return all, nil
}

// wanted reports whether an item has all that --where says after a change, or had it before.
func (t *tail) wanted(table string, r stream.Record) bool {
	for _, image := range []item.Item{r.New, r.Old} {
		x := t.s.m.decode(table, image, t.s.app.Clock())
		if !slices.ContainsFunc(t.where, func(w word) bool { return w.in(x) == "" }) {
			return true
		}
	}
	return false
}

// run prints the records of all tables, until ctx ends.
func (t *tail) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	tables := t.s.m.tables()
	ended := make(chan error, len(tables))
	db, err := entity.Open(t.s.client, entity.Config{})
	if err != nil {
		return err
	}
	for _, table := range tables {
		r := stream.NewReader(t.s.streams, db, stream.ReaderOptions{Alone: true, Source: table, Latest: t.latest, Attempts: 1, OnLost: t.lost(table)})
		go func() {
			err := r.Consume(ctx, func(_ context.Context, e stream.Event) (stream.Response, error) {
				return stream.Response{}, t.print(table, e.Records)
			})
			if err != nil && !errors.Is(err, errEnough) && !errors.Is(err, stream.ErrNoStream) {
				err = t.s.failed("read the stream of "+table, err)
			}
			ended <- err
		}()
	}
	none := 0
	for range tables {
		switch e := <-ended; {
		case errors.Is(e, stream.ErrNoStream):
			none++
		case e != nil && err == nil:
			err = e
			stop()
		}
	}
	if none == len(tables) {
		return invalid(bind.CodeConsoleProgram, "no table has a stream; declare one with stream:\"both\" on entity.Key")
	}
	return err
}

// lost returns what prints that records of a table were removed before they were read.
func (t *tail) lost(table string) func(context.Context, *stream.LostError) error {
	return func(context.Context, *stream.LostError) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		p := t.s.out
		if p.json {
			return p.object(map[string]any{"change": "records lost", "table": table, "time": t.s.app.Clock().UTC()})
		}
		p.line("%s  %s %s: they were older than 24 hours", t.s.app.Clock().UTC().Format(time.RFC3339), p.alarm("records lost"), table)
		return p.failed
	}
}

// print prints records.
func (t *tail) print(table string, records []stream.Record) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range records {
		if t.enough {
			return errEnough
		}
		if err := t.printOne(table, r); err != nil {
			return err
		}
	}
	return nil
}

// printOne prints a record.
func (t *tail) printOne(table string, r stream.Record) error {
	image := item.Item(r.New)
	if image == nil {
		image = r.Old
	}
	if image == nil {
		image = r.Keys
	}
	x := t.s.m.decode(table, image, t.s.app.Clock())
	if len(t.chosen) > 0 && !t.chosen[x.Entity] || !t.wanted(table, r) {
		return nil
	}
	name := changeName(x, r)
	var changed []string
	var all []difference
	if r.Old != nil && r.New != nil {
		all = differences(t.s.m.decode(table, r.Old, t.s.app.Clock()), x)
		for _, d := range all {
			changed = append(changed, d.name)
		}
	}
	p := t.s.out
	if p.json {
		out := x.object()
		out["change"], out["time"] = name, r.Time
		if len(changed) > 0 {
			out["changed"], out["changes"] = changed, plainChanges(all)
		}
		if err := p.object(out); err != nil {
			return err
		}
	} else {
		what := p.bold(name)
		if _, typed := changeNames[x.Kind]; !typed { // the name of another change does not say of what
			what = p.kind(x.Kind) + " " + what
		}
		p.line("%s  %s %s", r.Time.Format(time.RFC3339), what, strings.TrimSpace(x.Entity+" "+x.keyText()+" "+x.Of))
		for _, d := range all {
			p.line("    %s", d.text())
		}
	}
	if p.failed != nil {
		return p.failed
	}
	if t.left--; t.left == 0 {
		t.enough = true
		return errEnough
	}
	return nil
}

// changeName returns what a record means for its item.
func changeName(x stored, r stream.Record) string {
	i := map[streamtypes.OperationType]int{streamtypes.OperationTypeInsert: 0, streamtypes.OperationTypeModify: 1, streamtypes.OperationTypeRemove: 2}[r.Operation]
	if i == 2 && r.ByTTL {
		i = 3
	}
	if x.Kind == KindCurrent && i == 0 && x.Restored {
		return string(stream.Restored)
	}
	if names, ok := changeNames[x.Kind]; ok {
		if x.Kind == KindCurrent && i == 2 && x.model.has("lifecycle.SoftDelete") {
			return string(stream.CurrentRemoved)
		}
		return string(names[i])
	}
	return [4]string{"stored", "changed", "removed", "expired"}[i]
}
