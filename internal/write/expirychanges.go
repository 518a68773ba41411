package write

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// expiryOf returns the expiry of it.
func expiryOf(s *schema.Schema, x ExpirySetter, it item.Item, in Input) (av types.AttributeValue, err error) {
	from := x.From()
	if from == nil {
		return x.Stamp(nil, in.Now)
	}
	if from.Format == key.Unix {
		if err := CheckSeconds(s, from, it[from.Name]); err != nil {
			return nil, err
		}
	}
	if av, err = x.Stamp(it[from.Name], in.Now); err != nil {
		return nil, ValueError(s, from, err)
	}
	return av, CheckSeconds(s, from, av)
}

// expiryChanges returns the changes of the expiry that follow from changes, which include those of the library's own
// attributes. known are the key parts of the item. needRead is set if the expiry depends on the stored item.
func expiryChanges(s *schema.Schema, changes []expr.Change, known item.Item, in Input, on WriteKind) (extra []expr.Change, needRead bool, err error) {
	x := Expiry(s)
	if x == nil || ChangeOf(changes, x.Stamps()) != nil {
		return nil, false, nil
	}
	path, from := expr.Attr(x.Stamps()), x.From()
	change := func(kind expr.Kind, it item.Item) ([]expr.Change, bool, error) {
		av, err := expiryOf(s, x, it, in)
		if err != nil {
			return nil, false, err
		}
		if av == nil {
			kind = expr.Remove
		}
		return []expr.Change{{Kind: kind, Path: path, Value: av}}, false, nil
	}
	if from == nil || !x.Derives() {
		switch {
		case on == OnPut:
			return change(expr.Set, nil)
		case !x.Derives():
		case on == OnUpsert:
			return change(expr.SetIfNotExists, nil)
		}
		return nil, false, nil
	}
	switch c := ChangeOf(changes, from.Name); {
	case c != nil && c.Kind == expr.Remove:
		return change(expr.Set, nil)
	case c != nil && c.Kind == expr.Set && len(c.Path) == 1:
		return change(expr.Set, item.Item{from.Name: c.Value})
	case c != nil:
		return nil, true, nil
	case on == OnUpdate:
		return nil, false, nil
	case s.KeyPart(from):
		return change(expr.Set, known)
	}
	return nil, on == OnPut, nil // a put omits only attributes that are written once, which stay as stored
}

func setExpiry(s *schema.Schema, x ExpirySetter, it item.Item, in Input) error {
	av, err := expiryOf(s, x, it, in)
	if err != nil {
		return err
	}
	if av == nil {
		delete(it, x.Stamps())
	} else {
		it[x.Stamps()] = av
	}
	return nil
}

// setNewExpiry sets the expiry of a new item, unless the caller set it in the value or by one of changes.
func setNewExpiry(s *schema.Schema, it item.Item, changes []expr.Change, in Input) error {
	x := Expiry(s)
	if x == nil || x.Chosen(it[x.Stamps()]) || ChangeOf(changes, x.Stamps()) != nil {
		return nil
	}
	return setExpiry(s, x, it, in)
}

// updateExpiry updates the expiry of it after changes to the item that was read.
func updateExpiry(s *schema.Schema, it item.Item, in Input, changes []expr.Change, on WriteKind) error {
	x := Expiry(s)
	if x == nil || on == OnRewrite || ChangeOf(changes, x.Stamps()) != nil || !x.Derives() && on != OnPut {
		return nil
	}
	from := x.From()
	if from == nil {
		if _, stamped := it[x.Stamps()]; on == OnPut || on == OnUpsert && !stamped {
			return setExpiry(s, x, it, in)
		}
		return nil
	}
	c := ChangeOf(changes, from.Name)
	if on == OnPut || on == OnUpsert && s.KeyPart(from) || c != nil && c.Kind == expr.Set || !item.Equal(it[from.Name], in.Image[from.Name]) {
		return setExpiry(s, x, it, in)
	}
	return nil
}

// movesExpiry reports whether one of changes sets or removes the expiry of the item.
func movesExpiry(s *schema.Schema, changes []expr.Change) bool {
	x := Expiry(s)
	return x != nil && ChangeOf(changes, x.Stamps()) != nil
}

// countsFrom reports whether the expiry of an item is counted from a.
func countsFrom(s *schema.Schema, a *schema.Attr) bool {
	x := Expiry(s)
	return x != nil && x.Derives() && x.From() == a
}

// isExpiry reports whether a holds the expiry.
func isExpiry(s *schema.Schema, a *schema.Attr) bool {
	x := Expiry(s)
	return x != nil && x.Stamps() == a.Name
}
