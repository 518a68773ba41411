package bind

import (
	"slices"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Scope says how much of the item a write without a read knows.
type Scope int

const (
	SomeParts Scope = iota // an update: the item exists
	MayCreate              // the item may be new, and attributes that are not given may be stored
	Appended               // as MayCreate, but unknown keys are left to other writes
)

// checkIndexBytes rejects an index key of n bytes, if that is too long for DynamoDB.
func checkIndexBytes(s *schema.Schema, k *schema.KeyDef, n int) error {
	limit := key.MaxPartitionKey
	if slices.ContainsFunc(s.Indexes, func(x *schema.Index) bool { return x.SK == k }) {
		limit = key.MaxSortKey
	}
	if n > limit {
		return TooLarge(s, "the index key %s is %d bytes long, %d are allowed", k, n, limit)
	}
	return nil
}

// indexText returns the text of index key k for it, or "" if a part is absent.
func indexText(s *schema.Schema, k *schema.KeyDef, it item.Item) (string, error) {
	text, missing, err := k.Template.Compose(it)
	if err != nil {
		return "", KeyError(s, err)
	}
	if len(missing) > 0 {
		return "", nil
	}
	return text, checkIndexBytes(s, k, len(text))
}

// indexKeyChange sets an index key whose parts are all known, or removes it if one is absent.
func indexKeyChange(s *schema.Schema, k *schema.KeyDef, it item.Item) (expr.Change, error) {
	text, err := indexText(s, k, it)
	if err != nil {
		return expr.Change{}, err
	}
	if text == "" {
		return expr.Change{Kind: expr.Remove, Path: k.Path}, nil
	}
	return expr.Change{Kind: expr.Set, Path: k.Path, Value: item.S(text)}, nil
}

// syncTogether is SyncIndexKeys for an index whose two keys are stored both or not at all. Keys that appends maintain
// are an exception: an append does not know the other key, which enrichment sets.
func syncTogether(s *schema.Schema, x *schema.Index, after item.Item, touched map[string]expr.Change, by Scope) (extra []expr.Change, needRead bool, err error) {
	affected, keysOnly := false, true
	var known, unknown []*schema.KeyDef
	for _, k := range x.Keys() {
		complete := true
		for _, a := range k.Parts {
			if s.KeyPart(a) {
				continue
			}
			keysOnly = false
			c, changed := touched[a.Name]
			_, isKnown := after[a.Name]
			affected = affected || changed || isKnown
			if changed && (c.Kind != expr.Set || len(c.Path) > 1) {
				return nil, true, nil
			}
			complete = complete && isKnown
		}
		if complete {
			known = append(known, k)
		} else {
			unknown = append(unknown, k)
		}
	}
	if !affected && !(keysOnly && by != SomeParts) {
		return nil, false, nil
	}
	absent := false
	for _, k := range known {
		c, err := indexKeyChange(s, k, after)
		if err != nil {
			return nil, false, err
		}
		absent = absent || c.Kind == expr.Remove
		extra = append(extra, c)
	}
	if absent {
		var leave []expr.Change // which removes the item from x
		for _, k := range x.Keys() {
			if !s.UpdatedByAppends(k) {
				leave = append(leave, expr.Change{Kind: expr.Remove, Path: k.Path})
			} else if c := ChangeOf(extra, k.Attr); c != nil {
				leave = append(leave, *c)
			}
		}
		return leave, false, nil
	}
	for _, k := range unknown {
		if !s.UpdatedByAppends(k) && by != Appended {
			return nil, true, nil
		}
	}
	return extra, false, nil
}

// Copies reports whether an index key is a plain copy of one attribute that is stored as text.
func Copies(k *schema.KeyDef) bool {
	if k.Prefixed || len(k.Template.Segments) != 1 || k.Template.Shards != nil {
		return false
	}
	f := k.Template.Segments[0]
	return f.Literal == "" && f.Field != nil && !f.Field.Lower && (f.Field.Kind == key.String || f.Field.Kind == key.Time && f.Field.Time.Text())
}

// syncSeparately is SyncIndexKeys for an index whose keys are kept independently.
func syncSeparately(s *schema.Schema, x *schema.Index, after item.Item, touched map[string]expr.Change, by Scope) (extra []expr.Change, needRead bool, err error) {
	for _, k := range x.Keys() {
		if s.HasDeletedAt(k) {
			continue // current items do not have it
		}
		if !k.Written() {
			for _, a := range k.Native {
				c := touched[a.Name]
				if err := checkIndexBytes(s, k, item.ValueSize(c.Value)); err != nil && len(c.Path) == 1 {
					return nil, false, err
				}
			}
			continue
		}
		affected, partly, lacks, once := false, false, false, (*schema.Attr)(nil)
		for _, a := range k.Parts {
			c, ok := touched[a.Name]
			av, isKnown := after[a.Name]
			affected = affected || ok && !s.KeyPart(a)
			switch {
			case ok && c.Kind == expr.SetIfNotExists:
				once = a
			case ok && (c.Kind != expr.Set || len(c.Path) > 1) || !isKnown:
				partly = true
			case !ok:
				lacks = lacks || item.Absent(av)
			}
		}
		if k.When != nil {
			// Whether the condition holds for a new item, which has no attributes but the known ones; whether that depends on nothing stored; and
			// whether a clause alone refutes it, whatever the others are.
			holds, decided, refuted := true, true, false
			for i := range k.When {
				a := k.When[i].Attr
				av, known := after[a.Name]
				c, changed := touched[a.Name]
				if changed {
					known = len(c.Path) == 1 && (c.Kind == expr.Set || c.Kind == expr.Remove)
				}
				affected = affected || (changed || known) && !s.KeyPart(a)
				if !k.When[i].Holds(av) {
					holds, refuted = false, refuted || known
				}
				decided = decided && known
			}
			switch {
			case decided || refuted:
				lacks = lacks || !holds
			case lacks:
			case affected, holds && by == MayCreate && !partly:
				return nil, true, nil
			default: // neither the key nor its condition changes, and a new item does not have the key
				continue
			}
		}
		switch {
		case lacks && (affected || by != SomeParts): // a part is removed or the condition does not hold, so the others do not count
			extra = append(extra, expr.Change{Kind: expr.Remove, Path: k.Path})
		case lacks, !affected && (partly || by == SomeParts):
			// No part of the key changes, or the item is new and lacks a part.
		case once != nil && !partly && Copies(k) && (once.Role.Has(schema.CreatedAt) || once.Role.Has(schema.SetOnce)):
			// The part, once stored, never changes, so the key copies it, whether it is stored already or set now.
			c := expr.Change{Kind: expr.SetIfNotExists, Path: k.Path, Source: once.Path, Value: touched[once.Name].Value}
			if err := checkIndexBytes(s, k, item.ValueSize(c.Value)); err != nil {
				return nil, false, err
			}
			extra = append(extra, c)
		case partly || once != nil:
			return nil, true, nil
		default:
			c, err := indexKeyChange(s, k, after)
			if err != nil {
				return nil, false, err
			}
			extra = append(extra, c)
		}
	}
	return extra, false, nil
}

// SyncIndexKeys returns the changes of index keys that follow from changes to an item. known are the parts of the item
// that are known. needRead is set if an index key cannot be composed without the stored item; for Appended that is an error, which the
// check of the declaration should have found. Except with SomeParts, extra includes the index keys that no change affects.
func SyncIndexKeys(s *schema.Schema, known item.Item, changes []expr.Change, by Scope) (extra []expr.Change, needRead bool, err error) {
	if len(s.Indexes) == 0 {
		return nil, false, nil
	}
	touched := make(map[string]expr.Change, len(changes))
	after := item.Clone(known)
	for _, c := range changes {
		touched[c.Path.Root()] = c
		if c.Kind == expr.Set && len(c.Path) == 1 {
			after[c.Path.Root()] = c.Value
		}
	}
	for _, x := range s.Indexes {
		var more []expr.Change
		if s.Profile.SyncsIndexKeys(x) {
			more, needRead, err = syncTogether(s, x, after, touched, by)
		} else {
			more, needRead, err = syncSeparately(s, x, after, touched, by)
		}
		if needRead && by == Appended {
			err = Invalid(s, schema.CodeMixedIndexKey, nil, "an index key cannot be composed without the stored item")
		}
		if err != nil || needRead {
			return nil, needRead, err
		}
		extra = append(extra, more...)
	}
	return extra, false, nil
}

// sameParts reports whether an item that becomes is keeps what its index keys are made of.
func sameParts(keys []*schema.KeyDef, was, is item.Item) bool {
	for _, k := range keys {
		for _, a := range k.Parts {
			if !item.Equal(was[a.Name], is[a.Name]) {
				return false
			}
		}
		if k.When != nil && !k.Admits(was) && k.Admits(is) {
			return false
		}
	}
	return true
}

// ComposeIndexKey composes index key k of it in place. It removes the key if a part is absent, or its condition does not hold.
func ComposeIndexKey(s *schema.Schema, k *schema.KeyDef, it item.Item) error {
	if k.Native != nil {
		for _, a := range k.Native {
			if item.Empty(it[a.Name]) {
				delete(it, a.Name) // an empty key attribute would make the whole write fail
			}
		}
		for _, a := range k.Native {
			if err := checkIndexBytes(s, k, item.ValueSize(it[a.Name])); err != nil {
				return err
			}
		}
		return nil
	}
	if k.When != nil && !k.Admits(it) {
		delete(it, k.Attr)
		return nil
	}
	text, err := indexText(s, k, it)
	if err != nil {
		return err
	}
	if text == "" {
		delete(it, k.Attr)
	} else {
		it[k.Attr] = item.S(text)
	}
	return nil
}

// ComposeIndexKeys composes the index keys of a whole item in place. was is the item that it replaces, or nil for a new one.
func ComposeIndexKeys(s *schema.Schema, it, was item.Item) error {
	for _, x := range s.Indexes {
		keys, together := x.Keys(), s.Profile.SyncsIndexKeys(x)
		// effect-dynamodb may have composed keys of values that are rejected here. Such keys stay while the values stay.
		if together && was != nil && sameParts(keys, was, it) {
			continue
		}
		whole := true
		for _, k := range keys {
			// Other programs may have stored parts that cannot be composed here, such as a more precise time.
			if err := ComposeIndexKey(s, k, it); err != nil && (together || was == nil || !sameParts([]*schema.KeyDef{k}, was, it)) {
				return err
			}
			_, there := it[k.Attr]
			whole = whole && there
		}
		if whole || !together {
			continue
		}
		for _, k := range keys {
			if !s.UpdatedByAppends(k) {
				delete(it, k.Attr)
			}
		}
	}
	return nil
}

// IndexCopy sets the keys of the indexes that contain deleted copies.
func IndexCopy(s *schema.Schema, copied item.Item) error {
	for _, x := range s.Indexes {
		if !s.HoldsCopies(x) {
			continue
		}
		for _, k := range x.Keys() {
			if err := ComposeIndexKey(s, k, copied); err != nil {
				return err
			}
		}
	}
	return nil
}
