package write

import (
	"slices"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Recompose composes all index keys of it.
func Recompose(s *schema.Schema, it item.Item) error { return ComposeIndexKeys(s, it, nil) }

// scope is how much of the item a write without a read knows.
type scope int

const (
	someParts scope = iota // an update: the item exists
	mayCreate              // the item may be new, and attributes that are not given may be stored
	appended               // as mayCreate, but unknown keys are left to other writes
)

// checkIndexBytes rejects an index key of n bytes, if that is too long for DynamoDB.
func checkIndexBytes(s *schema.Schema, k *schema.KeyDef, n int, sortKey bool) error {
	limit := key.MaxPartitionKey
	if sortKey {
		limit = key.MaxSortKey
	}
	if n > limit {
		return TooLarge(s, "the index key %s is %d bytes long, %d are allowed", k, n, limit)
	}
	return nil
}

// indexText returns the text of index key k for it, or "" if a part is absent.
func indexText(s *schema.Schema, k *schema.KeyDef, it item.Item, sortKey bool) (string, error) {
	text, missing, err := k.Template.Compose(it)
	if err != nil {
		return "", KeyError(s, err)
	}
	if len(missing) > 0 {
		return "", nil
	}
	return text, checkIndexBytes(s, k, len(text), sortKey)
}

// isIndexSortKey reports whether k is the sort key of an index.
func isIndexSortKey(s *schema.Schema, k *schema.KeyDef) bool {
	return slices.ContainsFunc(s.Indexes, func(x *schema.Index) bool { return x.SK == k })
}

// indexKeyChange sets an index key whose parts are all known, or removes it if one is absent.
func indexKeyChange(s *schema.Schema, k *schema.KeyDef, it item.Item) (expr.Change, error) {
	text, err := indexText(s, k, it, isIndexSortKey(s, k))
	if err != nil {
		return expr.Change{}, err
	}
	if text == "" {
		return expr.Change{Kind: expr.Remove, Path: expr.Attr(k.Attr)}, nil
	}
	return expr.Change{Kind: expr.Set, Path: expr.Attr(k.Attr), Value: item.S(text)}, nil
}

// leaveIndex removes an item that lacks a key part from index x. set are the changes of the keys that are known.
func leaveIndex(s *schema.Schema, x *schema.Index, set []expr.Change) []expr.Change {
	var changes []expr.Change
	for _, k := range x.Keys() {
		if !s.UpdatedByAppends(k) {
			changes = append(changes, expr.Change{Kind: expr.Remove, Path: expr.Attr(k.Attr)})
			continue
		}
		for _, c := range set {
			if c.Path.Root() == k.Attr {
				changes = append(changes, c)
			}
		}
	}
	return changes
}

// syncTogether is SyncIndexKeys for an index whose two keys are stored both or not at all. Keys that appends maintain
// are an exception: an append does not know the other key, which enrichment sets.
func syncTogether(s *schema.Schema, x *schema.Index, after item.Item, touched map[string]expr.Change, by scope) (extra []expr.Change, needRead bool, err error) {
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
	if !affected && !(keysOnly && by != someParts) {
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
		return leaveIndex(s, x, extra), false, nil
	}
	for _, k := range unknown {
		if !s.UpdatedByAppends(k) && by != appended {
			return nil, true, nil
		}
	}
	return extra, false, nil
}

// foresee says what a write knows of the condition of k: whether it holds, and whether the write changes what it is about. If that
// depends on the stored item, decided is false, and holds is for a new item, which has no attributes but the known ones.
func foresee(s *schema.Schema, k *schema.KeyDef, after item.Item, touched map[string]expr.Change) (holds, decided, affected bool) {
	holds, decided = true, true
	refuted := false // by a clause, whatever the others are
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
	return holds, decided || refuted, affected
}

// Copies reports whether an index key is a plain copy of one attribute that is stored as text.
func Copies(k *schema.KeyDef) bool {
	if k.Prefixed || len(k.Template.Segments) != 1 || k.Template.Shards != nil {
		return false
	}
	f := k.Template.Segments[0]
	return f.Literal == "" && f.Field != nil && !f.Field.Lower && (f.Field.Kind == key.String || f.Field.Kind == key.Time && f.Field.Time.Text())
}

// writtenOnce reports whether a, once stored, never changes and is never removed.
func writtenOnce(a *schema.Attr) bool {
	return a.Role.Has(schema.CreatedAt) || a.Role.Has(schema.SetOnce)
}

// copyOnce makes an index key copy an attribute that is written once, whether it is stored already or set now.
func copyOnce(k *schema.KeyDef, a *schema.Attr, c expr.Change) expr.Change {
	return expr.Change{Kind: expr.SetIfNotExists, Path: expr.Attr(k.Attr), Source: a.Path, Value: c.Value}
}

// syncSeparately is SyncIndexKeys for an index whose keys are kept independently.
func syncSeparately(s *schema.Schema, x *schema.Index, after item.Item, touched map[string]expr.Change, by scope) (extra []expr.Change, needRead bool, err error) {
	for _, k := range x.Keys() {
		if s.HasDeletedAt(k) {
			continue // current items do not have it
		}
		if !k.Written() {
			for _, a := range k.Native {
				c := touched[a.Name]
				if err := checkIndexBytes(s, k, keyBytes(c.Value), isIndexSortKey(s, k)); err != nil && len(c.Path) == 1 {
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
			holds, decided, changes := foresee(s, k, after, touched)
			affected = affected || changes
			switch {
			case decided:
				lacks = lacks || !holds
			case lacks:
			case affected, holds && by == mayCreate && !partly:
				return nil, true, nil
			default: // neither the key nor its condition changes, and a new item does not have the key
				continue
			}
		}
		switch {
		case lacks && (affected || by != someParts): // a part is removed or the condition does not hold, so the others do not count
			extra = append(extra, expr.Change{Kind: expr.Remove, Path: expr.Attr(k.Attr)})
		case lacks, !affected && (partly || by == someParts):
			// No part of the key changes, or the item is new and lacks a part.
		case once != nil && !partly && Copies(k) && writtenOnce(once):
			c := copyOnce(k, once, touched[once.Name])
			if err := checkIndexBytes(s, k, keyBytes(c.Value), isIndexSortKey(s, k)); err != nil {
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

func indexKeyChanges(s *schema.Schema, known item.Item, changes []expr.Change, by scope) (extra []expr.Change, needRead bool, err error) {
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
		if err != nil || needRead {
			return nil, needRead, err
		}
		extra = append(extra, more...)
	}
	return extra, false, nil
}

// SyncIndexKeys returns the changes of index keys that follow from changes to an item. known are the parts of the item
// that are known. needRead is set if an index key cannot be composed without the stored item. all includes the index
// keys that no change affects, because the item may be new.
func SyncIndexKeys(s *schema.Schema, known item.Item, changes []expr.Change, all bool) (extra []expr.Change, needRead bool, err error) {
	by := someParts
	if all {
		by = mayCreate
	}
	return indexKeyChanges(s, known, changes, by)
}

// SyncAppendedKeys returns the changes of index keys for a write that knows every changed part. The item may be new. A
// key that needs the stored item is an error, which the check of the declaration should have found.
func SyncAppendedKeys(s *schema.Schema, known item.Item, changes []expr.Change) ([]expr.Change, error) {
	extra, needRead, err := indexKeyChanges(s, known, changes, appended)
	if needRead {
		return nil, Invalid(s, schema.CodeMixedIndexKey, nil, "an index key cannot be composed without the stored item")
	}
	return extra, err
}

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

// checkNative rejects index key attributes that are too long for DynamoDB.
func checkNative(s *schema.Schema, k *schema.KeyDef, it item.Item, sortKey bool) error {
	for _, a := range k.Native {
		if err := checkIndexBytes(s, k, keyBytes(it[a.Name]), sortKey); err != nil {
			return err
		}
	}
	return nil
}

// ComposeIndexKey composes index key k of it in place. It removes the key if a part is absent, or its condition does not hold.
func ComposeIndexKey(s *schema.Schema, k *schema.KeyDef, it item.Item, sortKey bool) error {
	if k.Native != nil {
		for _, a := range k.Native {
			if item.Absent(it[a.Name]) {
				delete(it, a.Name) // an empty key attribute would make the whole write fail
			}
		}
		return checkNative(s, k, it, sortKey)
	}
	if k.When != nil && !k.Admits(it) {
		delete(it, k.Attr)
		return nil
	}
	text, err := indexText(s, k, it, sortKey)
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

// ComposeIndexKeys composes the index keys of a whole item in place. was is the item that it replaces, or nil for a new
// one.
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
			if err := ComposeIndexKey(s, k, it, k == x.SK); err != nil && (together || was == nil || !sameParts([]*schema.KeyDef{k}, was, it)) {
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
			if err := ComposeIndexKey(s, k, copied, k == x.SK); err != nil {
				return err
			}
		}
	}
	return nil
}
