package console

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
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
		Flags:         []cli.Flag{&cli.StringFlag{Name: "out", Usage: "file; by default standard output"}},
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
			out := s.out
			if path := c.String("out"); path != "" {
				f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				buffered := bufio.NewWriter(f)
				defer func() { err = errors.Join(err, buffered.Flush()) }()
				out = newPrinter(buffered, true, true)
			}
			s.resume = "dump again; it writes nothing to the tables"
			return s.dump(ctx, out, chosen)
		}),
	}
}

// dump writes the items of the chosen entities, of all but read models if none is chosen. It holds one page of items.
func (s *session) dump(ctx context.Context, out *printer, chosen map[string]bool) error {
	m := &masker{m: s.m, salt: s.app.salt}
	if m.salt == nil {
		m.salt = []byte(rand.Text())
	}
	written, skipped := 0, 0
	var cost spent
	for _, table := range s.m.tables() {
		d, err := s.describe(ctx, table)
		if err != nil {
			return err
		}
		bar, read := newProgress(s.err, "dump "+table, aws.ToInt64(d.ItemCount)), int64(0)
		for page, err := range s.scan(ctx, table, &cost) {
			if err != nil {
				bar.clear()
				return err
			}
			for _, it := range page {
				x := s.m.decode(table, it, s.app.Clock())
				if x.model == nil || x.Kind == KindCheckpoint || len(chosen) == 0 && x.model.derived != "" || len(chosen) > 0 && !chosen[x.Entity] {
					continue
				}
				masked, ok := m.mask(x)
				if !ok {
					skipped++
					continue
				}
				line := dumped{Table: x.model.s.Table, Item: map[string]json.RawMessage{}}
				for name, av := range masked {
					if line.Item[name], err = json.Marshal(typed(av)); err != nil {
						return fmt.Errorf("write an item: %w", err)
					}
				}
				if err := out.object(line); err != nil {
					return err
				}
				written++
			}
			read += int64(len(page))
			bar.set(read)
		}
		bar.clear()
	}
	text := count(written, "item") + " written, " + cost.String()
	if skipped > 0 {
		text += fmt.Sprintf("; %s left out, whose keys have secrets that are no strings or numbers", count(skipped, "item"))
	}
	s.err.line("%s", text)
	return out.failed
}

// masker replaces secrets by pseudonyms: equal values by equal ones, within one dump.
type masker struct {
	m    *model
	salt []byte
}

// hides reports whether values of an attribute are replaced.
func (k *masker) hides(e *entityModel, name string) bool {
	a := e.s.Attr(name)
	return a != nil && a.Role.Has(tag.Secret) || e.unique(name)
}

// pseudonym returns the digest of a text, in lower case, because keys can be folded.
func (k *masker) pseudonym(text string) string {
	h := hmac.New(sha256.New, k.salt)
	h.Write([]byte(strings.ToLower(text)))
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// number returns the pseudonym of a number, of up to 9 digits.
func (k *masker) number(text string) string {
	h := hmac.New(sha256.New, k.salt)
	h.Write([]byte(text))
	sum := h.Sum(nil)
	return fmt.Sprint((uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])) % 1_000_000_000)
}

// value replaces a value. It returns false for a type that has no pseudonyms.
func (k *masker) value(av types.AttributeValue) (types.AttributeValue, bool) {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return item.S("hidden-" + k.pseudonym(v.Value)), true
	case *types.AttributeValueMemberN:
		return item.N(k.number(v.Value)), true
	case *types.AttributeValueMemberNULL:
		return v, true
	}
	return nil, false
}

// mask returns an item without secrets, and false if that is impossible.
func (k *masker) mask(x stored) (item.Item, bool) {
	e, out := x.model, item.Clone(x.raw)
	for _, a := range e.s.Attrs {
		av, has := out[a.Name]
		if !has || !k.hides(e, a.Name) {
			continue
		}
		if masked, ok := k.value(av); ok {
			out[a.Name] = masked
		} else {
			delete(out, a.Name)
		}
	}
	if x.Kind == KindSentinel {
		return out, k.sentinel(x, out)
	}
	if x.Kind == KindEvent && k.hides(e, e.orderBy) {
		return nil, false
	}
	for _, d := range e.s.Keys() {
		av, _ := out[d.Attr].(*types.AttributeValueMemberS)
		if !d.Written() || av == nil || !k.composed(e, d.Template) {
			continue
		}
		text, suffix := av.Value, ""
		if d == e.s.SK {
			own, _ := layout.SortKey(e.s, x.owner)
			suffix, text = strings.TrimPrefix(text, own), own
		}
		masked, ok := k.text(e, d.Template, text)
		if !ok {
			return nil, false
		}
		out[d.Attr] = item.S(masked + suffix)
	}
	return out, true
}

// composed reports whether a template has a part that is replaced.
func (k *masker) composed(e *entityModel, t *key.Template) bool {
	return slices.ContainsFunc(t.Fields(), func(f *key.Field) bool { return k.hides(e, f.Attr) })
}

// text replaces the secret parts of a key.
func (k *masker) text(e *entityModel, t *key.Template, text string) (string, bool) {
	vs, err := t.Parse(text)
	if err != nil {
		return "", false
	}
	for i, f := range t.Fields() {
		if !k.hides(e, f.Attr) {
			continue
		}
		av, err := f.Attribute(vs[i])
		if err != nil {
			return "", false
		}
		masked, ok := k.value(av)
		if !ok || f.Kind == key.Time {
			return "", false
		}
		if vs[i], _, err = f.FromAttribute(masked); err != nil {
			return "", false
		}
	}
	masked, err := t.ComposeValues(vs)
	return masked, err == nil
}

// sentinel replaces the secrets of a sentinel: the value in its key, and parts of its owner's key.
func (k *masker) sentinel(x stored, out item.Item) bool {
	e := x.model
	i := slices.IndexFunc(e.uniques, func(c constraint) bool { return c.name == x.Of })
	own, _ := out[e.s.PK.Attribute()].(*types.AttributeValueMemberS)
	if i < 0 || own == nil {
		return false
	}
	masked, ok := k.text(e, e.uniques[i].key, own.Value)
	out[e.s.PK.Attribute()] = item.S(masked)
	for name, d := range map[string]*schema.KeyDef{schema.OwnerPKAttr: e.s.PK, schema.OwnerSKAttr: e.s.SK} {
		av, _ := out[name].(*types.AttributeValueMemberS)
		if av == nil || !d.Written() || !k.composed(e, d.Template) {
			continue
		}
		text, fits := k.text(e, d.Template, av.Value)
		out[name], ok = item.S(text), ok && fits
	}
	return ok
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
			if path := c.Args().First(); path != "-" {
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
			s.resume = "load the file again: items that were written are replaced by themselves"
			return s.load(ctx, in)
		}),
	}
}

// batchItems is how many items DynamoDB writes with a request.
const batchItems = 25

// load writes items line by line, 25 with a request.
func (s *session) load(ctx context.Context, in io.Reader) error {
	r := bufio.NewReaderSize(in, 1<<16)
	bar := newProgress(s.err, "load", 0)
	defer bar.clear()
	batch, seen, n := map[string][]types.WriteRequest{}, map[string]bool{}, 0
	flush := func() error {
		written, err := s.put(ctx, batch)
		n += written
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
	s.err.line("%s written", count(n, "item"))
	return nil
}

// parse reads a line of a dump. problem says what is wrong, without values.
func (s *session) parse(text []byte) (e *entityModel, it item.Item, problem string) {
	var line dumped
	if json.Unmarshal(text, &line) != nil || len(line.Item) == 0 {
		return nil, nil, "is no item as dump writes them"
	}
	it = item.Item{}
	for name, raw := range line.Item {
		av, ok := untyped(raw)
		if !ok {
			return nil, nil, "attribute " + name + " is no value of DynamoDB"
		}
		it[name] = av
	}
	for _, e := range s.m.entities {
		if e.s.Table == line.Table && layout.Identify(e.s, it).Role != layout.Foreign {
			return e, it, ""
		}
	}
	return nil, nil, "is of no declared entity"
}

// put writes a batch, and what DynamoDB leaves of it again.
func (s *session) put(ctx context.Context, batch map[string][]types.WriteRequest) (n int, err error) {
	for _, requests := range batch {
		n += len(requests)
	}
	for len(batch) > 0 {
		out, err := s.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: batch})
		if err != nil {
			return 0, failed("write items", err)
		}
		batch = out.UnprocessedItems
	}
	return n, nil
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
	return map[string]any{typeOf(av): plain(av)}
}

// untyped reads a value of DynamoDB's JSON.
func untyped(raw json.RawMessage) (types.AttributeValue, bool) {
	var one map[string]json.RawMessage
	if json.Unmarshal(raw, &one) != nil || len(one) != 1 {
		return nil, false
	}
	for kind, text := range one {
		switch kind {
		case "S":
			return scalar(text, func(v string) types.AttributeValue { return item.S(v) })
		case "N":
			av, ok := scalar(text, func(v string) types.AttributeValue { return item.N(v) })
			if !ok {
				return nil, false
			}
			_, err := item.ParseDecimal(av.(*types.AttributeValueMemberN).Value)
			return av, err == nil
		case "B":
			return scalar(text, func(v []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: v} })
		case "BOOL":
			return scalar(text, func(v bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: v} })
		case "NULL":
			return scalar(text, func(v bool) types.AttributeValue { return &types.AttributeValueMemberNULL{Value: v} })
		case "SS":
			return scalar(text, func(v []string) types.AttributeValue { return &types.AttributeValueMemberSS{Value: v} })
		case "NS":
			return scalar(text, func(v []string) types.AttributeValue { return &types.AttributeValueMemberNS{Value: v} })
		case "BS":
			return scalar(text, func(v [][]byte) types.AttributeValue { return &types.AttributeValueMemberBS{Value: v} })
		case "L":
			var list []json.RawMessage
			if json.Unmarshal(text, &list) != nil {
				return nil, false
			}
			l := &types.AttributeValueMemberL{Value: []types.AttributeValue{}}
			for _, e := range list {
				av, ok := untyped(e)
				if !ok {
					return nil, false
				}
				l.Value = append(l.Value, av)
			}
			return l, true
		case "M":
			var fields map[string]json.RawMessage
			if json.Unmarshal(text, &fields) != nil {
				return nil, false
			}
			m := &types.AttributeValueMemberM{Value: item.Item{}}
			for name, e := range fields {
				av, ok := untyped(e)
				if !ok {
					return nil, false
				}
				m.Value[name] = av
			}
			return m, true
		}
	}
	return nil, false
}

func scalar[V any](text json.RawMessage, of func(V) types.AttributeValue) (types.AttributeValue, bool) {
	var v V
	if json.Unmarshal(text, &v) != nil {
		return nil, false
	}
	return of(v), true
}
