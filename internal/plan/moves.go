package plan

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/layout"
)

// followIndexKey composes index key k of an upgraded item if the upgrade changes what it is made of. Otherwise a key stays as it
// is stored, and one that the item lacks, as that of an index that was declared since, stays absent, whatever its parts are. An
// attribute that is a key itself must fit, or DynamoDB refuses every write of the item.
func followIndexKey(s *schema.Schema, k *schema.KeyDef, it, image item.Item) error {
	changed := func(a *schema.Attr) bool {
		av := it[a.Name]
		if s.KeyPart(a) || item.Equal(av, image[a.Name]) {
			return av == nil && image[k.Attr] != nil
		}
		for name, was := range image { // another name for it
			if _, is := it[name]; !is && item.Equal(av, was) {
				return false
			}
		}
		return true
	}
	if !k.Written() || slices.ContainsFunc(k.Parts, changed) || slices.ContainsFunc(k.When, func(c schema.Clause) bool { return changed(c.Attr) }) {
		return bind.ComposeIndexKey(s, k, it)
	}
	return nil
}

// NewUpgrade plans the upgrade of a stored item, as a rewrite without a version. The item keeps its write id: it is in the same
// state as before, of which it may have a snapshot.
func NewUpgrade(s *schema.Schema, table string, image item.Item) *Op {
	return NewRewrite(s, table, image, false, func(_ context.Context, _ layout.Reader, image item.Item) (Rewriting, error) {
		if !layout.Outdated(s, image) {
			return Rewriting{}, nil
		}
		stored, err := layout.Open(s, image)
		if err != nil {
			return Rewriting{}, err
		}
		it := item.Clone(stored.Item)
		for _, k := range s.IndexKeys() {
			if err := followIndexKey(s, k, it, image); err != nil {
				return Rewriting{}, err
			}
		}
		return Rewriting{Item: it, Current: true, SameState: true}, nil
	})
}

// EarlierSentinels returns the keys of the sentinels that may claim values of an item, stored as raw, for a form that it had
// before today's, the stored one or one between, without those in today. In each form it has the values of the constraint g under
// the one of that name in the struct of the form, or under g if that declares none.
func EarlierSentinels(s *schema.Schema, g UniqueConstraint, raw item.Item, today ...item.Item) (keys []item.Item) {
	if raw == nil || !layout.Outdated(s, raw) {
		return nil
	}
	add := func(u schema.Upgrade, form item.Item) {
		c := g
		for _, f := range u.Unique {
			if old := f.(UniqueConstraint); old.Name() == g.Name() {
				c = old
			}
		}
		more, _ := c.Sentinels(form) // a value that no key can hold has no sentinel
		for _, k := range more {
			if !slices.ContainsFunc(slices.Concat(today, keys), func(other item.Item) bool { return maps.EqualFunc(k, other, item.Equal) }) {
				keys = append(keys, k)
			}
		}
	}
	steps := s.Upgrades.Starting(layout.PayloadOf(raw))
	if steps == nil { // no step reads it
		steps = schema.Upgrades{{Old: s.Type, Codec: s.Codec}}
	}
	add(steps[0], raw)
	v := reflect.New(steps[0].Old)
	err := steps[0].Codec.Decode(raw, v)
	for v = v.Elem(); err == nil && len(steps) > 1; steps = steps[1:] {
		var next any
		if next, err = steps[0].Apply(v.Interface()); err == nil {
			v = reflect.ValueOf(next)
			if form, wrong := steps[1].Codec.Loose().Encode(v); wrong == nil {
				add(steps[1], form)
			}
		}
	}
	return keys
}

// GivenUp returns the actions that release what an item, stored as raw, has claimed for an earlier form, and does not claim in the
// form after.
func (op *Op) GivenUp(in *Input, raw, after item.Item) (parts []Action) {
	for _, g := range UniqueConstraints(op.Schema) {
		today, _ := g.Sentinels(after)
		for _, k := range EarlierSentinels(op.Schema, g, raw, today...) {
			parts = append(parts, g.GiveUp(&Mutation{Op: op, In: in}, k))
		}
	}
	return parts
}

// carried returns the actions that release what a current item claims for the form that is stored and not for the form it, and claim
// the new value instead: a claim that it has and that has not ended moves, with its end, unless another item has the value. Nothing
// else is claimed. claimed are constraints whose values are claimed anyway.
func (op *Op) carried(ctx context.Context, r layout.Reader, in *Input, it item.Item, claimed []UniqueConstraint) (parts []Action, err error) {
	if parts = op.GivenUp(in, in.Image, it); parts == nil {
		return nil, nil
	}
	live := func(k item.Item) item.Item { // the sentinel under k, if it has not ended
		sentinel, failed := r.Get(ctx, op.Table, k, true)
		if err = errors.Join(err, failed); layout.Expired(op.Schema, sentinel, in.Now) {
			return nil
		}
		return sentinel
	}
	for _, g := range UniqueConstraints(op.Schema) {
		today, _ := g.Sentinels(it)
		if len(today) == 0 || slices.Contains(claimed, g) {
			continue
		}
		for _, k := range EarlierSentinels(op.Schema, g, in.Image, today...) {
			was := live(k)
			if was == nil || !layout.OwnedBy(op.Schema, op.Key).Holds(was) {
				continue
			}
			if live(today[0]) == nil {
				a := g.Put(in, op.Table, today[0], op.Key, was[op.Schema.Options.TTL])
				a.Cond, a.Claims = expr.Any(op.Schema.Absent, layout.HasExpired(op.Schema, in.Now)), true
				a.Refusal = Again
				parts = append(parts, a)
			}
			break
		}
	}
	return parts, err
}
