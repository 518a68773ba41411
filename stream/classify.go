package stream

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// found is what a record means to one entity.
type meaning struct {
	kind     Kind
	part     itemPart
	old, new item.Item // the images that are the entity's; nil where absent
}

// classify tells what r means to the entity of c; ok is false when it is not one of its records. An error says that this
// is unknown.
func classify(c *core.Core, r *Record) (x meaning, ok bool, err error) {
	s := c.Schema
	if !sameTable(c.Table, r.SourceARN) || !hasKeyOf(s, r.Keys) {
		return meaning{}, false, nil
	}
	old, new := r.images()
	if old == nil && new == nil {
		return classifyByKey(c, r)
	}
	if belongsTo(s, old) {
		x.old = old
	}
	if belongsTo(s, new) {
		x.new = new
	}
	image := x.new
	if image == nil {
		image = x.old
	}
	if image == nil {
		return meaning{}, false, nil
	}
	if x.part, ok = partOf(s, image); !ok {
		return meaning{}, false, nil
	}
	op := r.Operation
	if old != nil && new != nil { // an item can become the entity's, or cease to be, by another hand
		switch {
		case x.old == nil:
			op = streamtypes.OperationTypeInsert
		case x.new == nil:
			op = streamtypes.OperationTypeRemove
		}
	}
	x.kind, err = kindOf(s, r, op, x)
	return x, err == nil, err
}

// kindOf is the kind of a change by operation op, which is the record's unless the item changed hands.
func kindOf(s *schema.Schema, r *Record, op streamtypes.OperationType, x meaning) (Kind, error) {
	stored, changed, removed, expired := Created, Updated, Deleted, Expired
	_, moves := schema.Feature[plan.SoftDeleter](s)
	if kinds, beside := satelliteKinds[x.part]; beside {
		stored, changed, removed, expired = kinds[0], kinds[1], kinds[2], kinds[3]
	} else if moves {
		if op == streamtypes.OperationTypeInsert && x.new == nil {
			return "", missingImage(s, r, "NewImage") // which would tell a new item from a restored one
		}
		if item.Equal(x.new[schema.OpAttr], item.S("restore")) {
			stored = Restored
		}
		if r.Operation == streamtypes.OperationTypeRemove {
			removed = CurrentRemoved
		}
	}
	switch {
	case op == streamtypes.OperationTypeInsert:
		return stored, nil
	case op == streamtypes.OperationTypeModify:
		return changed, nil
	case r.ByTTL:
		return expired, nil
	}
	return removed, nil
}

func missingImage(s *schema.Schema, r *Record, needs string) error {
	return &ImageError{Entity: s.Name, Operation: r.Operation, View: r.View, Needs: needs}
}

// sameTable reports that the table whose stream a record is from, if it says so, is the store's. A store may be configured
// with an ARN: another account or region has tables of the same name. DynamoDB Local has one region, whatever it is asked for.
func sameTable(store, source string) bool {
	if source == "" {
		return true
	}
	name := tableOf(store)
	switch {
	case name == "":
		return tableOf(source) == store
	case strings.Contains(source, ":"+localRegion+":"):
		return tableOf(source) == name
	}
	return tableARN(source) == tableARN(store)
}

// keyed reports that a primary key has the attributes and types of s, and lies where the items of s do.
func hasKeyOf(s *schema.Schema, keys item.Item) bool {
	n := 0
	for _, h := range []*schema.KeyDef{s.PK, s.SK} {
		for _, name := range h.Attributes() {
			if n++; !hasKeyType(keys[name], h) {
				return false
			}
		}
	}
	return len(keys) == n && (!s.Templated || keySegments(s, keys) != nil)
}

// typed reports that av has the type that half h of a primary key is stored in.
func hasKeyType(av types.AttributeValue, h *schema.KeyDef) bool {
	want := h.Type
	if h.Native != nil {
		want = h.Native[0].Scalar
	}
	var is types.ScalarAttributeType
	switch av.(type) {
	case *types.AttributeValueMemberS:
		is = types.ScalarAttributeTypeS
	case *types.AttributeValueMemberN:
		is = types.ScalarAttributeTypeN
	case *types.AttributeValueMemberB:
		is = types.ScalarAttributeTypeB
	}
	return is == want
}

// own reports that an image is of an item of s, current or not, as reads tell them: a `$` entity's by its name, a verbatim
// one's by its kind, and never what says that it is something else.
func belongsTo(s *schema.Schema, image item.Item) bool {
	if image == nil {
		return false
	}
	if _, marked := image[schema.EntityAttr]; marked && !s.Templated {
		return false
	}
	return plan.OwnItems(s).Holds(image)
}

// lies says which of the entity's items an image is of; false for one that this version does not know.
func partOf(s *schema.Schema, image item.Item) (itemPart, bool) {
	if s.HasMetadata {
		k, beside := image[schema.KindAttr].(*types.AttributeValueMemberS)
		if !beside {
			return currentItem, true
		}
		_, known := satelliteKinds[itemPart(k.Value)]
		return itemPart(k.Value), known
	}
	if !s.Templated || s.SK == nil {
		return currentItem, true
	}
	// In a table that is shared with effect-dynamodb only the sort key shows it, and the attributes that it is made of.
	text, _ := plan.SortKey(s, image)
	composed, ok := s.SK.Template.AsStored(image)
	if !ok {
		return "", false
	}
	text, composed = strings.ToLower(text), strings.ToLower(composed)
	for _, x := range plan.SatelliteKinds {
		if rest, ok := strings.CutPrefix(text, composed+x.Infix); ok && rest != "" {
			return itemPart(x.Kind), true
		}
	}
	return currentItem, text == composed
}

// below returns what follows the prefix of a `$` entity in its own key: the segments of the template, and those of a
// satellite. It is nil for a key of another entity, constraint or namespace.
func keySegments(s *schema.Schema, keys item.Item) []string {
	h := s.SK
	if h == nil {
		h = s.PK
	}
	av, _ := keys[h.Attr].(*types.AttributeValueMemberS)
	if av == nil {
		return nil
	}
	rest, ok := strings.CutPrefix(av.Value, h.Template.Prefix)
	if !ok || rest != "" && rest[0] != '#' {
		return nil
	}
	return strings.Split(rest, "#")
}

// blind is classify of a record without any image: by its key, where that is enough.
func classifyByKey(c *core.Core, r *Record) (meaning, bool, error) {
	s := c.Schema
	x, ok := meaning{}, true
	switch {
	case s.HasMetadata:
		x.part, ok = partByKey(s, r.Keys)
	case s.Templated || s.Discriminator != nil || !aloneInTable(c):
		return meaning{}, false, missingImage(s, r, "NewImage or OldImage")
	}
	if !ok {
		return meaning{}, false, nil
	}
	var err error
	x.kind, err = kindOf(s, r, r.Operation, x)
	return x, err == nil, err
}

// placed finds by a key alone which item it is of: no escaped value has a separator in it.
func partByKey(s *schema.Schema, keys item.Item) (itemPart, bool) {
	h := s.SK
	if h == nil {
		h = s.PK
	}
	n := len(h.Template.Segments)
	segments := keySegments(s, keys)[1:]
	switch len(segments) {
	case n:
		return currentItem, true
	case n + 2:
		for _, x := range plan.SatelliteKinds {
			if "#"+segments[n]+"#" == x.Infix {
				return itemPart(x.Kind), s.SK != nil
			}
		}
	}
	return "", false
}

// aloneInTable reports that nothing declared on the table of c leaves other items there.
func aloneInTable(c *core.Core) bool {
	return len(plan.UniqueConstraints(c.Schema)) == 0 && len(c.Entities()) == 1
}
