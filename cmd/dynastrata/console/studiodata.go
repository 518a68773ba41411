package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/internal/studio"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// studioData is what the command knows, for the pages of the studio. Its session has a metered client.
type studioData struct {
	s        *session
	entities []studio.Entity
}

func newStudioData(s *session) *studioData {
	d := &studioData{s: s}
	for _, e := range s.m.entities {
		d.entities = append(d.entities, d.entity(e))
	}
	return d
}

// Entities implements studio.Data.
func (d *studioData) Entities() []studio.Entity { return d.entities }

// entity describes an entity.
func (d *studioData) entity(e *entityModel) studio.Entity {
	m := d.s.m
	v := m.show(e)
	out := studio.Entity{
		Name: e.s.Name, Table: e.table, Derived: e.derived != "", Series: e.has("timeseries.Events"),
		Features: v.Features, Secrets: v.Secrets, HidesKey: m.hidesKey(e),
		Writable: slices.ContainsFunc(d.s.stores, func(x store) bool { return x.name() == e.s.Name }),
	}
	for i, k := range v.Keys {
		path := studio.KeyPath{Index: k.Index, Partition: k.Partition, Sort: k.Sort, Projection: k.Projection, When: k.When}
		pk, sk := e.s.PK, e.s.SK
		if i > 0 {
			x := e.s.Indexes[i-1]
			path.Name, pk, sk = k.Of, x.PK, x.SK
		}
		path.Parts, path.SortParts = m.studioParts(e, pk), m.studioParts(e, sk)
		path.Secret = slices.ContainsFunc(slices.Concat(path.Parts, path.SortParts), func(p studio.Part) bool { return p.Secret })
		out.Keys = append(out.Keys, path)
	}
	for _, x := range v.Stored {
		out.Stored = append(out.Stored, studio.Stored{Kind: string(x.Kind), Partition: x.Partition, Sort: x.Sort, Lives: x.Lives})
	}
	for _, a := range v.Attrs {
		if strings.ContainsAny(a.Name, ".[{") {
			continue
		}
		kind, _, _ := strings.Cut(a.Type, " ")
		attr := e.s.Attr(unescaped(a.Name))
		if attr == nil || m.hides(e, attr.Name) || kind != "S" && kind != "N" && kind != "BOOL" {
			continue
		}
		out.Attrs = append(out.Attrs, studio.Attr{Name: attr.Name, Type: kind, Time: attr.Time, Numeric: out.Series && attr.Append && kind == "N" && !attr.Time})
	}
	return out
}

// kindNames name what a key part is.
var kindNames = map[key.Kind]string{key.String: "string", key.Int: "int", key.Uint: "uint", key.Bool: "bool", key.Time: "time"}

// studioParts describes the parts of a key.
func (m *model) studioParts(e *entityModel, k *schema.KeyDef) (all []studio.Part) {
	if k == nil {
		return nil
	}
	for i, a := range k.Parts {
		p := studio.Part{Name: a.Name, Secret: m.hides(e, a.Name), Kind: "string"}
		switch {
		case k.Written():
			p.Kind = kindNames[k.Template.Fields()[i].Kind]
		case a.Time:
			p.Kind = "time"
		case a.Scalar == types.ScalarAttributeTypeN:
			p.Kind = "number"
		case a.Scalar == types.ScalarAttributeTypeB:
			p.Kind = "binary"
		}
		p.Example = map[string]string{"int": "42", "uint": "42", "number": "42", "bool": "true", "time": "2026-04-22T12:00:00Z"}[p.Kind]
		if !slices.ContainsFunc(all, func(x studio.Part) bool { return x.Name == p.Name }) {
			all = append(all, p)
		}
	}
	return all
}

// Tables implements studio.Data.
func (d *studioData) Tables(ctx context.Context) (all []studio.Table, err error) {
	for _, name := range d.s.m.tables() {
		t, err := d.s.describe(ctx, name)
		if err != nil {
			return nil, err
		}
		bytes := aws.ToInt64(t.TableSizeBytes)
		strong := math.Ceil(float64(bytes) / 4096)
		all = append(all, studio.Table{Name: name, Items: aws.ToInt64(t.ItemCount), Bytes: bytes, Units: strong / 2, Strong: strong})
	}
	return all, nil
}

// named returns the entity with a name, and the primary key with parts.
func (d *studioData) named(name string, parts studio.Key) (e *entityModel, primary item.Item, err error) {
	if e, err = d.s.m.entity(name); err != nil {
		return nil, nil, &studio.Mistaken{Err: err}
	}
	if primary, err = e.primary(given(parts)); err != nil {
		return nil, nil, &studio.Mistaken{Err: err}
	}
	return e, primary, nil
}

// partsOf returns the parts of the key of the current item that x is or belongs to, as text that [given] reads; nil if they do not
// make that key.
func (m *model) partsOf(x stored) studio.Key {
	e := x.model
	if e == nil || x.owner == nil {
		return nil
	}
	g := given{}
	for _, k := range []*schema.KeyDef{e.s.PK, e.s.SK} {
		if k == nil {
			continue
		}
		var values []key.Value
		if k.Written() {
			text, _ := x.owner[k.Attr].(*types.AttributeValueMemberS)
			if text == nil {
				return nil
			}
			var err error
			if values, err = k.Template.Parse(text.Value); err != nil {
				return nil
			}
		}
		for i, a := range k.Parts {
			if k.Written() {
				g[a.Name] = partText(values[i])
			} else {
				g[a.Name] = scalarText(x.owner[a.Name])
			}
		}
	}
	if primary, err := e.primary(g); err != nil || layout.KeyID(primary) != layout.KeyID(x.owner) {
		return nil
	}
	return studio.Key(g)
}

// partText is the inverse of [value].
func partText(v key.Value) string {
	switch v.Kind {
	case key.Int:
		return strconv.FormatInt(v.I, 10)
	case key.Uint:
		return strconv.FormatUint(v.U, 10)
	case key.Bool:
		return strconv.FormatBool(v.B)
	case key.Time:
		return v.T.UTC().Format(time.RFC3339Nano)
	}
	return v.S
}

// scalarText is the inverse of [native].
func scalarText(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	}
	return ""
}

// state returns a stored item as pages show it.
func (d *studioData) state(x stored) studio.State {
	out := studio.State{
		Entity: x.Entity, Kind: string(x.Kind), Name: x.Of, Ended: x.Deleted, Restored: x.Restored, Expires: x.Expires, Expired: x.Expired, Size: x.Size,
		Problem: printable(x.Problem, false), Label: printable(x.keyText(), false), Key: d.s.m.partsOf(x),
	}
	if x.model == nil {
		out.Label = d.s.m.unknownKey(x.Table, x.raw)
	}
	for _, f := range x.Attrs {
		v := d.shown(x, f)
		switch {
		case library(x, f.Name):
			out.Library = append(out.Library, v)
		case x.model != nil && contextRole(x.model.s.Attr(f.Name)):
			out.Who = append(out.Who, v)
		default:
			out.Values = append(out.Values, v)
		}
	}
	if x.model == nil {
		return out
	}
	s := x.model.s
	for _, f := range d.storage(x) {
		out.Storage = append(out.Storage, d.shown(x, f))
	}
	out.Version = layout.StoredVersion(s, x.raw)
	if out.Version > 0 && x.Kind == KindCurrent {
		out.Name = strconv.FormatInt(out.Version, 10)
	}
	out.At = writtenAt(x)
	if x.Kind == KindEvent {
		out.Accepted = instantOf(x.raw[schema.AtAttr])
	}
	if x.Kind == KindCurrent || x.Kind == KindDeleted {
		out.Seen = fingerprint(x.raw)
	}
	return out
}

// storage returns the primary key as it is stored.
func (d *studioData) storage(x stored) (all []field) {
	for _, name := range x.model.s.KeyNames() {
		f := fieldOf(name, x.raw[name])
		if d.s.m.hides(x.model, name) || x.Kind == KindSentinel && d.s.m.mayHaveSecrets(x.model) {
			f.Value, f.Plain = hidden, hidden
		}
		all = append(all, f)
	}
	return all
}

// contextRole reports whether an attribute holds what the context of a write had, such as who made it.
func contextRole(a *schema.Attr) bool {
	return a != nil && slices.ContainsFunc(a.Role.Roles, func(r schema.Role) bool { return strings.HasPrefix(string(r), "context=") })
}

// writtenAt returns when a state was written, or the time of an event; zero if that is unknown.
func writtenAt(x stored) time.Time {
	s := x.model.s
	switch {
	case x.Kind == KindEvent && len(x.model.order) > 0:
		if a := s.Attr(x.model.order[0]); a != nil && a.Time {
			t, _ := a.Format.FromValue(x.raw[a.Name])
			return t
		}
		return time.Time{}
	case x.Kind == KindDeleted || x.Deleted:
		name, format := layout.DeletedAttr(s)
		if t, err := format.FromValue(x.raw[name]); err == nil {
			return t
		}
		if at := instantOf(x.raw[name]); !at.IsZero() {
			return at
		}
	}
	if a := s.UpdatedAt; a != nil {
		t, _ := a.Format.FromValue(x.raw[a.Name])
		return t
	}
	if x.model.has("timeseries.Events") { // the current item changes with each event
		return time.Time{}
	}
	if at := instantOf(x.raw[schema.AtAttr]); !at.IsZero() {
		return at
	}
	if a := s.CreatedAt; a != nil && layout.StoredVersion(s, x.raw) <= 1 {
		t, _ := a.Format.FromValue(x.raw[a.Name])
		return t
	}
	return time.Time{}
}

// instantOf returns a time that is stored as text; zero for anything else.
func instantOf(av types.AttributeValue) time.Time {
	s, _ := av.(*types.AttributeValueMemberS)
	if s == nil {
		return time.Time{}
	}
	t, _ := time.Parse(time.RFC3339Nano, s.Value)
	return t
}

// fingerprint names the content of a stored item.
func fingerprint(it item.Item) string {
	all := map[string]any{}
	for name, av := range it {
		all[name] = typed(av)
	}
	text, _ := json.Marshal(all) // with sorted names
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

const (
	longestText  = 2000 // bytes of a value that a page has
	mostElements = 100  // of a list, map or set
	deepest      = 8
)

// shown returns an attribute as pages show it.
func (d *studioData) shown(x stored, f field) studio.Value {
	v := studioValue(f.label(), f.Type, f.Plain, 0)
	v.Odd = f.Odd
	if f.Plain == hidden && f.Value == hidden {
		return studio.Value{Name: v.Name, Type: f.Type, Hidden: true, Odd: f.Odd}
	}
	if x.model == nil {
		return v
	}
	if v.Cut {
		v.Whole = placeOf(x, f)
	}
	if a := x.model.s.Attr(f.Name); a != nil && a.Time && f.Type == "N" {
		if t, err := a.Format.FromValue(x.raw[f.Name]); err == nil {
			v.Note = t.UTC().Format(time.RFC3339Nano)
		}
	}
	if f.Name == x.model.s.Options.TTL && f.Type == "N" && !x.Expires.IsZero() {
		v.Note = x.Expires.Format(time.RFC3339)
	}
	return v
}

// studioValue returns a plain value as pages show it.
func studioValue(name, kind string, plain any, depth int) studio.Value {
	v := studio.Value{Name: name, Type: kind}
	text := func(s string) {
		if len(s) > longestText {
			v.Cut, v.Bytes, s = true, len(s), strings.ToValidUTF8(s[:longestText], "")+"…"
		}
		v.Text = printable(s, false)
	}
	sub := func(name string, plain any) {
		v.Sub = append(v.Sub, studioValue(name, "", plain, depth+1))
		v.Cut = v.Cut || v.Sub[len(v.Sub)-1].Cut
	}
	list := func(n int, what string, each func(i int)) {
		v.Nested, v.Text = true, count(n, what)
		if depth >= deepest {
			v.Cut, v.Sub = true, []studio.Value{{Name: "…", Text: "deeper values are left out"}}
			return
		}
		for i := range min(n, mostElements) {
			each(i)
		}
		if n > mostElements {
			v.Cut = true
			v.Sub = append(v.Sub, studio.Value{Name: "…", Text: strconv.Itoa(n-mostElements) + " more"})
		}
	}
	switch p := plain.(type) {
	case nil:
		v.Text, v.Type = "null", cmp.Or(kind, "NULL")
	case string:
		if v.Type = cmp.Or(kind, "S"); p == "" {
			v.Note = "empty text"
		}
		text(p)
	case json.Number:
		v.Text, v.Type = p.String(), cmp.Or(kind, "N")
	case bool:
		v.Text, v.Type = strconv.FormatBool(p), cmp.Or(kind, "BOOL")
	case []byte:
		v.Type, v.Note = cmp.Or(kind, "B"), count(len(p), "byte")+", base64"
		text(base64.StdEncoding.EncodeToString(p))
	case []string:
		list(len(p), "element", func(i int) { sub(strconv.Itoa(i+1), p[i]) })
	case [][]byte:
		list(len(p), "element", func(i int) { sub(strconv.Itoa(i+1), p[i]) })
	case []any:
		list(len(p), "element", func(i int) { sub(strconv.Itoa(i), p[i]) })
	case map[string]any:
		names := make([]string, 0, len(p))
		for n := range p {
			names = append(names, n)
		}
		slices.Sort(names)
		list(len(p), "member", func(i int) { sub(item.Text(names[i]), p[names[i]]) })
	}
	return v
}

// partial returns why a read ended early, and any other error.
func partial(err error) (string, error) {
	for _, why := range []error{studio.ErrMinute, studio.ErrBudget} {
		if errors.Is(err, why) {
			return "What follows is left out: " + why.Error() + ".", nil
		}
	}
	return "", err
}

// mistaken marks an error of what was given.
func mistaken(err error) error {
	var input *entity.InputError
	if errors.As(err, &input) || errors.Is(err, errNotFound) {
		return &studio.Mistaken{Err: err}
	}
	return err
}

// counted adds one to the count of a kind.
func counted(all []studio.Count, entity string, kind Kind, bytes int) []studio.Count {
	i := slices.IndexFunc(all, func(c studio.Count) bool { return c.Entity == entity && c.Kind == string(kind) })
	if i < 0 {
		i, all = len(all), append(all, studio.Count{Entity: entity, Kind: string(kind)})
	}
	all[i].Items++
	all[i].Bytes += int64(bytes)
	return all
}

// badKey is a mistake in what was asked.
func badKey(format string, args ...any) error {
	return &studio.Mistaken{Err: invalid(bind.CodeConsoleKey, format, args...)}
}
