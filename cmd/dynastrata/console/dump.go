package console

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/avjson"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
)

// dumped is a line of a dump.
type dumped struct {
	Table string                     `json:"Table,omitempty"` // logical name; "" for the default table
	Item  map[string]json.RawMessage `json:"Item"`            // DynamoDB's JSON
}

// dumpCommand writes items of chosen entities.
func (s *session) dumpCommand() *cli.Command {
	return &cli.Command{
		Name: "dump", Usage: "write items as lines of DynamoDB JSON, with pseudonyms for secrets", ArgsUsage: "[entity…]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "file; by default, or with -, standard output"},
			&cli.BoolFlag{Name: "force", Usage: "replace the file if it exists, when the dump is whole"},
		},
		ShellComplete: s.complete(s.nextEntities),
		Action: s.action(func(ctx context.Context, c *cli.Command) (err error) {
			if err := s.database(ctx, c); err != nil {
				return err
			}
			if s.m.blind {
				return invalid(bind.CodeConsoleLock, "a lock of format 1 does not say what is secret; write it again")
			}
			chosen := map[string]bool{}
			for _, name := range c.Args().Slice() {
				e, err := s.m.entity(name)
				if err != nil {
					return err
				}
				if e.guarded || e.derived == KindManifest && s.m.hasSecrets() {
					return invalid(bind.CodeConsoleName, "%s may have secrets in its states; build the read model again where the dump is loaded", e.s.Name)
				}
				chosen[e.s.Name] = true
			}
			path := c.String("out")
			s.resume = s.again(c, "")
			if path == "" || path == "-" {
				d, err := s.dump(ctx, s.out, chosen)
				return s.dumped(d, "standard output", err)
			}
			f, err := createFile(path, c.Bool("force"))
			if err != nil {
				return err
			}
			file := f.part
			d, err := s.dump(ctx, newPrinter(f, true, true), chosen)
			torn, ended := f.end(err == nil, d.items == 0)
			d.torn, err = torn, errors.Join(err, ended)
			switch {
			case file == "":
				return s.dumped(d, path, err)
			case err != nil && f.part == "":
				return err
			case err != nil && f.whole:
				s.wrote = f.part + " has the whole dump: rename it"
				return err
			}
			if err != nil && d.items > 0 {
				s.resume, s.unfinished = s.again(c, "--force"), true
			}
			return s.dumped(d, f.part, err)
		}),
	}
}

// dumping counts what a dump has written and left out.
type dumping struct {
	items, skipped int
	torn           bool // fewer items may be in the file
	cost           spent
	m              *masker
}

// dumped says what a dump has written to a file. err is that of the dump.
func (s *session) dumped(d dumping, file string, err error) error {
	if err != nil {
		if d.items > 0 {
			most := ""
			if d.torn {
				most = "at most "
			}
			s.wrote = fmt.Sprintf("%s%s written to %s, which is a part of the dump; the next one begins from the start", most, count(d.items, "item"), file)
		}
		return err
	}
	s.err.line("%s written, %s", count(d.items, "item"), d.cost)
	for _, name := range slices.Sorted(maps.Keys(d.m.dropped)) {
		s.err.line("%s has no pseudonyms: left out of, or false in, %s", name, count(d.m.dropped[name], "item"))
	}
	if d.m.undeclared > 0 {
		s.err.line("%s left out, which may be secrets of an earlier declaration", count(d.m.undeclared, "undeclared attribute"))
	}
	if d.skipped > 0 {
		return fmt.Errorf("%s left out, whose keys have secrets and are not as declared; check lists them", count(d.skipped, "item"))
	}
	return nil
}

// dump writes the items of the chosen entities, of all but read models if none is chosen. It holds one page of items.
func (s *session) dump(ctx context.Context, out *printer, chosen map[string]bool) (d dumping, err error) {
	d.m = newMasker(s.m, s.app.salt)
	wanted := func(e *entityModel) bool { return chosen[e.s.Name] || len(chosen) == 0 && e.derived == "" }
	if err := d.m.refused(slices.DeleteFunc(slices.Clone(s.m.entities), func(e *entityModel) bool { return !wanted(e) })); err != nil {
		return d, err
	}
	for _, table := range s.m.tables() {
		described, err := s.describe(ctx, table)
		if err != nil {
			return d, err
		}
		bar, read := newProgress(s.err, "dump "+table, aws.ToInt64(described.ItemCount)), int64(0)
		for page, err := range s.scan(ctx, table, &d.cost) {
			if err != nil {
				bar.clear()
				return d, err
			}
			for _, it := range page {
				x := s.m.decode(table, it, s.app.Clock())
				if x.model == nil || x.Kind == KindCheckpoint || !wanted(x.model) {
					continue
				}
				masked, ok := d.m.mask(x)
				if !ok {
					d.skipped++
					continue
				}
				line := dumped{Table: x.model.s.Table, Item: map[string]json.RawMessage{}}
				for name, av := range masked {
					if line.Item[name], err = json.Marshal(typed(av)); err != nil {
						return d, fmt.Errorf("write an item: %w", err)
					}
				}
				if err := out.object(line); err != nil {
					return d, err
				}
				d.items++
			}
			read += int64(len(page))
			bar.set(read)
		}
		bar.clear()
	}
	return d, nil
}

// loadCommand writes the lines of a dump.
func (s *session) loadCommand() *cli.Command {
	return &cli.Command{
		Name: "load", Usage: "write the items of a dump to the tables", ArgsUsage: "file",
		ShellComplete: s.complete(nothingNext),
		Action: s.action(func(ctx context.Context, c *cli.Command) (err error) {
			if err := s.database(ctx, c); err != nil {
				return err
			}
			if c.NArg() != 1 {
				return invalid(bind.CodeConsoleName, "give one file, or - for standard input")
			}
			in := s.std.In
			if path := c.Args().First(); strings.HasSuffix(path, partSuffix) {
				return invalid(bind.CodeConsoleFile, "%s is a part of a dump that has not ended; rename it to load it all the same", path)
			} else if path != "-" {
				f, err := os.Open(path)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				in = f
			} else if !c.Bool("yes") {
				return invalid(bind.CodeConsoleProgram, "the items come from standard input, so the question cannot be answered there: give --yes")
			}
			if err := s.confirm(ctx, c, fmt.Sprintf("Write the items of %s to %s? Items with their keys are replaced.", c.Args().First(), strings.Join(s.m.tables(), ", "))); err != nil {
				return err
			}
			s.resume = s.again(c, "")
			return s.load(ctx, in)
		}),
	}
}

// batchItems is the number of items that DynamoDB writes with a request.
const batchItems = 25

// load writes items line by line, 25 with a request.
func (s *session) load(ctx context.Context, in io.Reader) error {
	r := bufio.NewReaderSize(in, 1<<16)
	bar := newProgress(s.err, "load", 0)
	defer bar.clear()
	batch, seen, n := map[string][]types.WriteRequest{}, map[string]bool{}, 0
	flush := func() error {
		written, err := s.put(ctx, batch)
		if n += written; n > 0 {
			s.wrote = count(n, "item") + " written; load writes them again"
		}
		bar.set(int64(n))
		batch, seen = map[string][]types.WriteRequest{}, map[string]bool{}
		return err
	}
	for line := 1; ; line++ {
		text, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(strings.TrimSpace(string(text))) > 0 {
			e, it, problem := s.parse(text)
			if problem != "" {
				return errors.Join(flush(), invalid(bind.CodeConsoleName, "line %d: %s", line, problem))
			}
			id := e.table + " " + layout.KeyID(layout.KeyOf(e.s, it))
			if len(seen) == batchItems || seen[id] {
				if err := flush(); err != nil {
					return err
				}
			}
			seen[id] = true
			batch[e.table] = append(batch[e.table], types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
		}
		if err != nil {
			break
		}
	}
	if err := flush(); err != nil {
		return err
	}
	bar.clear()
	if s.out.json {
		return s.out.object(map[string]any{"written": n})
	}
	s.err.line("%s written", count(n, "item"))
	return nil
}

// JSON writes a character beyond 16 bits as two escapes. One alone would be replaced by another character.
var (
	surrogatePairs = regexp.MustCompile(`\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)
	loneSurrogate  = regexp.MustCompile(`\\u[dD][89a-fA-F]`)
)

// parse reads a line of a dump. problem says what is wrong, without values.
func (s *session) parse(text []byte) (e *entityModel, it item.Item, problem string) {
	if !utf8.Valid(text) || loneSurrogate.Match(surrogatePairs.ReplaceAll(text, nil)) {
		return nil, nil, "has bytes that are not UTF-8, or half a character"
	}
	var line dumped
	if json.Unmarshal(text, &line) != nil || len(line.Item) == 0 {
		return nil, nil, "is no item as dump writes them"
	}
	it = item.Item{}
	for name, raw := range line.Item {
		av, problem := avjson.Value(raw)
		if problem != "" {
			return nil, nil, "attribute " + item.Text(name) + " is no value of DynamoDB"
		}
		it[name] = av
	}
	for _, e := range s.m.entities {
		if e.s.Table == line.Table && identify.Of(e.s, it).Role != identify.Foreign {
			return e, it, ""
		}
	}
	return nil, nil, "is of no declared entity"
}

// How long put waits before it writes again what DynamoDB left, at first and at most.
const (
	pause    = time.Second
	maxPause = 30 * time.Second
)

// put writes a batch, and what DynamoDB leaves of it again, after a pause. It returns how many items were written, also with an error.
func (s *session) put(ctx context.Context, batch map[string][]types.WriteRequest) (n int, err error) {
	for wait := pause; ; wait = min(2*wait, maxPause) {
		for _, requests := range batch {
			n += len(requests)
		}
		if len(batch) == 0 {
			return n, nil
		}
		out, err := s.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: batch}, again)
		if err == nil {
			batch = out.UnprocessedItems
		}
		for _, requests := range batch {
			n -= len(requests)
		}
		if err != nil {
			return n, s.failed("write items", err)
		}
		if len(batch) > 0 {
			if err := s.app.wait(ctx, wait); err != nil {
				return n, err
			}
		}
	}
}

// typed returns a value as DynamoDB's JSON.
func typed(av types.AttributeValue) map[string]any {
	switch v := av.(type) {
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = typed(e)
		}
		return map[string]any{"L": list}
	case *types.AttributeValueMemberM:
		m := map[string]any{}
		for name, e := range v.Value {
			m[name] = typed(e)
		}
		return map[string]any{"M": m}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": true}
	}
	return map[string]any{item.TypeName(av): plain(av)}
}
