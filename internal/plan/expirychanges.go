package plan

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/bind"
)

func expiryOf(s *schema.Schema, x bind.ExpirySetter, it item.Item, in *Input) (av types.AttributeValue, err error) {
	from := x.From()
	if from == nil {
		return x.Stamp(nil, in.Now)
	}
	if from.Format == key.Unix {
		if err := bind.CheckSeconds(s, from, it[from.Name]); err != nil {
			return nil, err
		}
	}
	if av, err = x.Stamp(it[from.Name], in.Now); err != nil {
		return nil, bind.ValueError(s, from, err)
	}
	return av, bind.CheckSeconds(s, from, av)
}

// expiryChanges returns the changes of the expiry that follow from changes, which include those of the library's own
// attributes. known are the key parts of the item. needRead is set if the expiry depends on the stored item.
func expiryChanges(s *schema.Schema, changes []expr.Change, known item.Item, in *Input, on bind.WriteKind) (extra []expr.Change, needRead bool, err error) {
	x := bind.Expiry(s)
	if x == nil || bind.ChangeOf(changes, x.Stamps()) != nil {
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
		case on == bind.OnPut:
			return change(expr.Set, nil)
		case !x.Derives():
		case on == bind.OnUpsert:
			return change(expr.SetIfNotExists, nil)
		}
		return nil, false, nil
	}
	switch c := bind.ChangeOf(changes, from.Name); {
	case c != nil && c.Kind == expr.Remove:
		return change(expr.Set, nil)
	case c != nil && c.Kind == expr.Set && len(c.Path) == 1:
		return change(expr.Set, item.Item{from.Name: c.Value})
	case c != nil:
		return nil, true, nil
	case on == bind.OnUpdate:
		return nil, false, nil
	case s.KeyPart(from):
		return change(expr.Set, known)
	}
	return nil, on == bind.OnPut, nil // a put omits only attributes that are written once, which stay as stored
}

func setExpiry(s *schema.Schema, x bind.ExpirySetter, it item.Item, in *Input) error {
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

// updateExpiry updates the expiry of it after changes to the item that was read.
func updateExpiry(s *schema.Schema, it item.Item, in *Input, changes []expr.Change, on bind.WriteKind) error {
	x := bind.Expiry(s)
	if x == nil || on == bind.OnRewrite || bind.ChangeOf(changes, x.Stamps()) != nil || !x.Derives() && on != bind.OnPut {
		return nil
	}
	from := x.From()
	if from == nil {
		if _, stamped := it[x.Stamps()]; on == bind.OnPut || on == bind.OnUpsert && !stamped {
			return setExpiry(s, x, it, in)
		}
		return nil
	}
	c := bind.ChangeOf(changes, from.Name)
	if on == bind.OnPut || on == bind.OnUpsert && s.KeyPart(from) || c != nil && c.Kind == expr.Set || !item.Equal(it[from.Name], in.Image[from.Name]) {
		return setExpiry(s, x, it, in)
	}
	return nil
}

// countsFrom reports whether the expiry of an item is counted from a.
func countsFrom(s *schema.Schema, a *schema.Attr) bool {
	x := bind.Expiry(s)
	return x != nil && x.Derives() && x.From() == a
}

func isExpiry(s *schema.Schema, a *schema.Attr) bool {
	x := bind.Expiry(s)
	return x != nil && x.Stamps() == a.Name
}
