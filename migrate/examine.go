package migrate

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// A finding says what a stored item is, and what it should be.
type finding struct {
	image   item.Item
	kind    string
	owner   item.Item // primary key of the current item that it is or belongs to
	want    item.Item // the item as it should be, its write id aside
	reasons []Reason
	expired bool
	problem Problem // "" if it can be rewritten
	filled  bool    // the attribute that its end is counted from was absent, and has its default
	endless bool    // it has no end, though items get one

	values []value                 // unique values of a current item
	claims []plan.UniqueConstraint // the constraints whose values nothing claims
}

// value is a unique value of an item.
type value struct {
	constraint plan.UniqueConstraint
	sentinel   item.Item // primary key
}

// due reports whether something is to be written.
func (f *finding) due() bool { return f.problem == "" && len(f.reasons) > 0 }

// rewriting returns what is to be written.
func (f *finding) rewriting() plan.Rewriting {
	if !f.due() {
		return plan.Rewriting{}
	}
	form := !slices.ContainsFunc(f.reasons, func(r Reason) bool { return r != Payload && r != IndexKeys })
	rw := plan.Rewriting{Item: f.want, Current: f.kind == layout.CurrentKind, SameState: form && f.reasons[0] == Payload, Claims: f.claims}
	if len(f.reasons) == 1 && f.reasons[0] == Claims {
		rw.Item = nil
	}
	return rw
}

// examiner compares stored items with a declaration.
type examiner struct {
	c    *engine.Core
	s    *schema.Schema
	ends bool // missing ends are set
}

// own returns the finding of an item of the entity, and false for any other item.
func (e examiner) own(it item.Item) (f *finding, ok bool) {
	id := identify.Of(e.s, it)
	f = &finding{image: it, kind: id.Kind, owner: id.Owner}
	if !id.Known {
		f.problem = UnknownKind
	}
	return f, id.Role == identify.Own
}

// examine completes the finding of an item of the entity.
func (e examiner) examine(f *finding, now time.Time) {
	s := e.s
	switch f.expired = layout.Expired(s, f.image, now) && (s.Expires || f.kind != layout.CurrentKind); {
	case f.expired, f.problem != "":
		return
	}
	f.want = item.Clone(f.image)
	for _, step := range []func(*finding) Problem{e.upgraded, e.decoded, e.marked, e.keyed, e.eventKeyed, e.defaulted, e.ended, e.indexed, e.valued} {
		if f.problem = step(f); f.problem != "" {
			return
		}
	}
	if bind.CheckSize(s, item.Size(f.want)) != nil {
		f.problem = Unstorable
	}
}

// upgraded replaces the attributes of an earlier payload version.
func (e examiner) upgraded(f *finding) Problem {
	stored, err := layout.Open(e.s, f.want)
	switch {
	case err != nil:
		return NotUpgraded
	case layout.Outdated(e.s, f.want):
		f.want = item.Clone(stored.Item)
		f.reasons = append(f.reasons, Payload)
	}
	return ""
}

// decoded sets attributes of the primary key that the item lacks, from the text of its key. The item must decode.
func (e examiner) decoded(f *finding) Problem {
	s, it := e.s, item.Clone(f.want)
	for name, av := range f.owner {
		it[name] = av // the texts of keys of related items continue that of the current item
	}
	v := reflect.New(s.Type)
	if err := s.Codec.Decode(it, v); err != nil {
		return Undecodable
	}
	if s.Templated && !s.HasMetadata {
		return "" // KindOf has compared the attributes with the key
	}
	before := len(f.reasons)
	for _, k := range []*schema.KeyDef{s.PK, s.SK} {
		if k == nil {
			continue
		}
		for _, a := range k.Parts {
			if _, has := f.want[a.Name]; has {
				continue
			}
			av, err := bind.EncodeAttr(s, a, v.Elem())
			if err != nil || item.Absent(av) {
				return WrongKey
			}
			if f.want[a.Name] = av; len(f.reasons) == before {
				f.reasons = append(f.reasons, KeyParts)
			}
		}
	}
	return ""
}

// marked sets the hidden attributes that the item lacks.
func (e examiner) marked(f *finding) Problem {
	s, lacks := e.s, false
	if s.Templated {
		if _, has := f.want[schema.EntityAttr]; !has {
			f.want[schema.EntityAttr], lacks = item.S(s.Name), true
		}
	}
	if s.HasMetadata {
		kind, has := f.want[schema.KindAttr]
		switch {
		case has && (f.kind == layout.CurrentKind || !item.Equal(kind, item.S(f.kind))):
			return WrongKey
		case !has && f.kind != layout.CurrentKind:
			f.want[schema.KindAttr], lacks = item.S(f.kind), true
		}
		_, has = f.want[schema.WriteAttr]
		lacks = lacks || !has
	}
	if lacks {
		f.reasons = append(f.reasons, Marks)
	}
	return ""
}

// keyed compares the primary key with the attributes that it is composed of.
func (e examiner) keyed(f *finding) Problem {
	if e.s.Templated && !e.s.HasMetadata {
		return ""
	}
	for _, k := range []*schema.KeyDef{e.s.PK, e.s.SK} {
		if !k.Written() {
			continue
		}
		text, missing, err := k.Template.Compose(f.want)
		if err != nil || len(missing) > 0 || !item.Equal(f.owner[k.Attr], item.S(text)) {
			return WrongKey
		}
	}
	return ""
}

// eventKeyed gives an event the key with its id.
func (e examiner) eventKeyed(f *finding) Problem {
	if f.kind != layout.EventKind || e.s.EventID == nil {
		return ""
	}
	text, missing, err := e.s.RelatedKeys[0].Template.Compose(f.want)
	key := layout.EventKey(e.s, f.owner, text)
	switch {
	case slices.Contains(missing, e.s.EventID.Name):
		return NoEventID
	case err != nil || len(missing) > 0:
		return WrongKey
	case layout.KeyID(key) != layout.KeyID(layout.KeyOf(e.s, f.image)):
		maps.Copy(f.want, key)
		f.reasons = append(f.reasons, EventKeys)
	}
	return ""
}

// defaulted sets the attributes with a default that a current item lacks, as a write of the whole value would.
func (e examiner) defaulted(f *finding) Problem {
	if f.kind != layout.CurrentKind {
		return ""
	}
	lacks, v, x := false, reflect.New(e.s.Type).Elem(), bind.Expiry(e.s)
	for _, a := range e.s.Filled {
		if _, has := f.want[a.Name]; has || a.Role.Default == "" {
			continue
		}
		a.SetDefault(v.FieldByIndex(a.Index))
		av, err := bind.EncodeAttr(e.s, a, v)
		if err != nil {
			return Unstorable
		}
		f.want[a.Name], lacks = av, true
		f.filled = f.filled || x != nil && x.From() == a
	}
	if lacks {
		f.reasons = append(f.reasons, Defaults)
	}
	return ""
}

// ended sets the end that a current item lacks, if it is counted from an attribute that was filled, or by the option Ends. An end
// that the item has stays: it may be one that a program chose.
func (e examiner) ended(f *finding) Problem {
	x := bind.Expiry(e.s)
	if f.kind != layout.CurrentKind || x == nil || !x.Derives() || e.s.Options.Derived || x.Chosen(f.want[x.Stamps()]) {
		return "" // rows get an end when others take their place
	}
	from := x.From()
	if f.endless = from == nil; f.endless {
		return "" // nothing says when it was created
	}
	end, err := x.Stamp(f.want[from.Name], time.Time{})
	switch sets := f.filled || e.ends; {
	case err == nil && end == nil: // it lives for ever until the attribute is set
	case !sets:
		f.endless = true
	case err != nil || bind.CheckSeconds(e.s, from, end) != nil:
		return Unstorable
	default:
		if f.want[x.Stamps()] = end; !f.filled {
			f.reasons = append(f.reasons, Ending)
		}
	}
	return ""
}

// indexed sets the keys of indexes that the item belongs to, and removes the others.
func (e examiner) indexed(f *finding) Problem {
	s, it := e.s, item.Clone(f.want)
	if f.kind == layout.CurrentKind {
		if bind.ComposeIndexKeys(s, it, nil) != nil {
			return Unstorable
		}
	} else {
		for _, k := range s.IndexKeys() {
			if k.Written() {
				delete(it, k.Attr)
			}
		}
		if f.kind == layout.CopyKind && bind.IndexCopy(s, it) != nil {
			return Unstorable
		}
	}
	stale := false
	for _, k := range s.IndexKeys() {
		for _, name := range k.Attributes() {
			if item.Equal(it[name], f.want[name]) || e.foreign(k, f.want) {
				continue
			}
			stale = true
			if av, has := it[name]; has {
				f.want[name] = av
			} else {
				delete(f.want, name)
			}
		}
	}
	if stale {
		f.reasons = append(f.reasons, IndexKeys)
	}
	return ""
}

// foreign reports whether an index key is as effect-dynamodb composes it, which may differ from ours and stays.
func (e examiner) foreign(k *schema.KeyDef, it item.Item) bool {
	text, ok := it[k.Attr]
	if !ok || !k.Written() || !e.s.Templated || e.s.HasMetadata {
		return false
	}
	composed, ok := k.Template.AsStored(it)
	return ok && item.Equal(text, item.S(composed))
}

// valued lists the unique values of a current item.
func (e examiner) valued(f *finding) Problem {
	if f.kind != layout.CurrentKind {
		return ""
	}
	for _, g := range plan.UniqueConstraints(e.s) {
		keys, err := g.Sentinels(f.want)
		if err != nil {
			return Unstorable
		}
		for _, k := range keys {
			f.values = append(f.values, value{g, k})
		}
	}
	return ""
}

// claimed compares a unique value with its sentinel, nil if nothing claims it. A claim expires with its item. Under a
// constraint with a ttl of its own, a claim is not missing: it may have expired.
func (e examiner) claimed(f *finding, x value, sentinel item.Item, now time.Time) {
	s := e.s
	there := sentinel != nil && !layout.Expired(s, sentinel, now)
	if there && !layout.OwnedBy(s, f.owner).Holds(sentinel) {
		if !x.constraint.Limited() { // else the item's own claim has ended
			f.problem = ValueTaken
		}
		return
	}
	op := &plan.Op{Schema: s, Table: e.c.Table, Key: f.owner}
	parts, err := plan.ClaimsOf(op, &plan.Input{Now: now}, f.want, []plan.UniqueConstraint{x.constraint})
	if err != nil {
		f.problem = Unstorable
		return
	}
	end := layout.End(s, f.want)
	for _, p := range parts {
		if !item.Equal(p.Item[s.Options.TTL], end) {
			return
		}
	}
	if len(parts) == 0 || there && item.Equal(sentinel[s.Options.TTL], end) {
		return
	}
	if len(f.claims) == 0 {
		f.reasons = append(f.reasons, Claims)
	}
	f.claims = append(f.claims, x.constraint)
}

// findings examines the items of a page that are of the entity, together with the sentinels of their values. If settled is set,
// what seems to be wrong with a claim is read again, since item and sentinel were read one after the other; otherwise only a value
// that seems to belong to another item, because a write of the claim would find out.
func (e examiner) findings(ctx context.Context, r *engine.Runner, items []item.Item, settled bool) ([]*finding, error) {
	now := r.Clock()
	var found []*finding
	var keys []engine.Key
	for _, it := range items {
		f, ok := e.own(it)
		if !ok {
			continue
		}
		found = append(found, f)
		e.examine(f, now)
		for _, x := range f.values {
			keys = append(keys, engine.Key{Table: e.c.Table, Key: x.sentinel})
		}
	}
	sentinels, err := r.GetMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i, f := range found {
		for n, x := range f.values {
			if f.problem == "" {
				e.claimed(f, x, sentinels[n], now)
			}
		}
		sentinels = sentinels[len(f.values):]
		if f.problem == ValueTaken || settled && len(f.claims) > 0 {
			if found[i], err = e.reread(ctx, r, f); err != nil {
				return nil, err
			}
			if settled && found[i].problem == Busy { // nothing that it claims was ever seen to be wrong
				found[i].problem = ""
			}
		}
	}
	return found, nil
}

// reread examines an item again, whose claims seemed to be wrong. It reads the item and the sentinels of its values at one
// instant: between reads of their own, a value can move.
func (e examiner) reread(ctx context.Context, r *engine.Runner, f *finding) (*finding, error) {
	for range r.MaxAttempts {
		keys := []engine.Key{{Table: e.c.Table, Key: layout.KeyOf(e.s, f.image)}}
		for _, x := range f.values {
			keys = append(keys, engine.Key{Table: e.c.Table, Key: x.sentinel})
		}
		got, err := r.TransactGet(ctx, keys)
		if err != nil {
			return nil, err
		}
		again, ok := e.own(got[0])
		if !ok {
			return &finding{image: f.image}, nil
		}
		now := r.Clock()
		e.examine(again, now)
		same := func(a, b value) bool { return layout.KeyID(a.sentinel) == layout.KeyID(b.sentinel) }
		moved := !slices.EqualFunc(f.values, again.values, same)
		if f = again; moved {
			continue
		}
		for i, x := range f.values {
			if f.problem == "" {
				e.claimed(f, x, got[i+1], now)
			}
		}
		return f, nil
	}
	f.problem = Busy
	return f, nil
}
