package migrate

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// A target says what the copy of a source item should be.
type target struct {
	key     item.Item // primary key; nil if there should be no copy
	item    item.Item // without hidden attributes and index keys
	omitted bool      // the function leaves the item out
	expired bool      // its copy would have expired
	problem Problem
	err     error // of the function
}

// current reports whether a stored item is a live current item of the source.
func (c *copier) current(it item.Item, now time.Time) bool {
	if it == nil || !identify.ByEntityOrUnmarked(c.from.s).Holds(it) {
		return false
	}
	f, ok := c.from.own(it)
	return ok && f.problem == "" && f.kind == layout.CurrentKind && layout.Live(c.from.s, it, now)
}

// target converts a stored source item, nil for an absent one.
func (c *copier) target(image item.Item, now time.Time) target {
	if !c.current(image, now) {
		return target{}
	}
	stored, err := layout.Open(c.from.s, image)
	if err != nil {
		return target{problem: NotUpgraded}
	}
	b, err := c.convert(stored.Item)
	switch {
	case !b.IsValid():
		return target{problem: Undecodable}
	case errors.Is(err, Skip):
		return target{omitted: true}
	case err != nil:
		return target{problem: NotConverted, err: err}
	}
	t, err := c.encoded(b)
	if err == nil {
		err = c.takeExpiry(t, image)
	}
	if err == nil {
		err = c.storable(t, c.copyID(layout.KeyOf(c.from.s, image), text(image[schema.WriteAttr])))
	}
	switch {
	case err != nil:
		return target{problem: Unstorable, err: err}
	case !layout.Live(c.to.s, t.item, now):
		return target{expired: true}
	}
	return t
}

// encoded returns the item of a new value: with its version, 1 if it has none, and with the times and the values of contexts that it has.
func (c *copier) encoded(v reflect.Value) (t target, err error) {
	s := c.to.s
	done, err := bind.NewWhole(s, v, nil).AsGiven()
	if err != nil {
		return target{}, err
	}
	if t.key, t.item, err = bind.KeyAndItem(s, done.Value); err != nil {
		return target{}, err
	}
	for _, a := range append([]*schema.Attr{s.Version, s.CreatedAt, s.UpdatedAt}, s.Contexts...) {
		if a == nil {
			continue
		}
		fv, err := v.FieldByIndexErr(a.Index)
		if err != nil || fv.IsZero() {
			continue
		}
		if t.item[a.Name], err = bind.EncodeAttr(s, a, v); err != nil {
			return target{}, err
		}
	}
	if s.Version != nil && t.item[s.Version.Name] == nil {
		layout.SetVersion(s, t.item, 1)
	}
	return t, nil
}

// anyID is as long as ids usually are, for sizes.
const anyID = "01234567-89ab-cdef-0123-456789abcdef"

// storable returns why a copy, which gets write ids that begin with id, cannot be stored.
func (c *copier) storable(t target, id string) error {
	it, err := c.whole(t.item, t.key, copyID(id, anyID))
	if err != nil {
		return err
	}
	for _, g := range plan.UniqueConstraints(c.to.s) {
		if _, err := g.Sentinels(it); err != nil {
			return err
		}
	}
	return bind.CheckSize(c.to.s, item.Size(it))
}

// whole returns the item of a copy with its keys and hidden attributes.
func (c *copier) whole(it, key item.Item, writeID string) (item.Item, error) {
	it = item.Clone(it)
	for name, av := range key {
		it[name] = av
	}
	err := bind.ComposeIndexKeys(c.to.s, it, nil)
	layout.SetHidden(c.to.s, it, writeID)
	return it, err
}

// takeExpiry gives a copy the expiry that follows from an attribute, or that of its source, unless its value has one.
func (c *copier) takeExpiry(t target, image item.Item) (err error) {
	x := bind.Expiry(c.to.s)
	if x == nil || x.Chosen(t.item[x.Stamps()]) {
		return nil
	}
	end := layout.End(c.from.s, image)
	if from := x.From(); from != nil {
		end, err = x.Stamp(t.item[from.Name], time.Time{})
	}
	if end != nil {
		t.item[x.Stamps()] = end
	}
	return err
}

// stamped returns the item of a target with its expiry, if that is counted from the time of the write: that of a stored copy
// that has not expired, otherwise a new one.
func (c *copier) stamped(t target, old item.Item, now time.Time) (item.Item, error) {
	x := bind.Expiry(c.to.s)
	if x == nil || x.From() != nil || !x.Derives() || x.Chosen(t.item[x.Stamps()]) {
		return t.item, nil
	}
	it, end := item.Clone(t.item), old[x.Stamps()]
	if end == nil || !layout.Live(c.to.s, old, now) {
		var err error
		if end, err = x.Stamp(nil, now); err != nil || end == nil {
			return it, err
		}
	}
	it[x.Stamps()] = end
	return it, nil
}

// same reports whether a stored item is the copy that an item makes, its write id aside.
func (c *copier) same(stored, it item.Item, key item.Item) bool {
	want, err := c.whole(it, key, "")
	if err != nil {
		return false
	}
	is := item.Clone(stored)
	for _, m := range []item.Item{is, want} {
		delete(m, schema.WriteAttr)
	}
	return item.Equal(&types.AttributeValueMemberM{Value: is}, &types.AttributeValueMemberM{Value: want})
}

// An origin holds what the write id of a copy says of its source.
type origin struct {
	key   item.Item // primary key
	state string    // write id of the source; "" if it has none
}

// keyAttributes returns the attributes of the primary key of an entity.
func keyAttributes(s *schema.Schema) (names []string) {
	names = append(names, s.PK.Attributes()...)
	if s.SK != nil {
		names = append(names, s.SK.Attributes()...)
	}
	return names
}

// copyID returns the beginning of the write ids of copies of a source item, whose key suffices if state is unknown.
func (c *copier) copyID(source item.Item, state string) string {
	parts := []string{}
	for _, name := range keyAttributes(c.from.s) {
		parts = append(parts, keyPart(source[name]))
	}
	parts = append(parts, state)
	list, _ := json.Marshal(parts) // strings always can be
	return "copy/" + c.name + "/" + string(list)
}

func keyPart(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberB:
		return "B" + base64.StdEncoding.EncodeToString(v.Value)
	case *types.AttributeValueMemberN:
		return "N" + v.Value
	}
	return "S" + text(av)
}

// originOf returns where a stored item was copied from. ok is false if another program has written it, or another copy.
func (c *copier) originOf(stored item.Item) (o origin, ok bool) {
	rest, ok := strings.CutPrefix(text(stored[schema.WriteAttr]), "copy/"+c.name+"/")
	names := keyAttributes(c.from.s)
	var parts []string
	if !ok || json.NewDecoder(strings.NewReader(rest)).Decode(&parts) != nil || len(parts) != len(names)+1 {
		return origin{}, false
	}
	o = origin{key: item.Item{}, state: parts[len(names)]}
	for i, name := range names {
		if parts[i] == "" {
			return origin{}, false
		}
		switch value := parts[i][1:]; parts[i][0] {
		case 'B':
			b, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return origin{}, false
			}
			o.key[name] = &types.AttributeValueMemberB{Value: b}
		case 'N':
			o.key[name] = item.N(value)
		default:
			o.key[name] = item.S(value)
		}
	}
	return o, true
}
