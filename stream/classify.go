package stream

import (
	"cmp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// A meaning says what a record means for one entity.
type meaning struct {
	kind     Kind
	part     itemPart
	old, new item.Item // images of the entity's items; nil if absent
}

// classify returns what r means for the entity of c. ok is false if r is not about one of its items. An error means
// that this cannot be determined.
func classify(c *engine.Core, r *Record) (x meaning, ok bool, err error) {
	s := c.Schema
	if !sameTable(c.Table, r) || !hasKeyOf(s, r.Keys) {
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
	kind, known := layout.KindOf(s, image)
	if !known {
		return meaning{}, false, nil
	}
	x.part = itemPart(kind)
	op := r.Operation
	if old != nil && new != nil { // another program may add or remove the entity marker
		switch {
		case x.old == nil:
			op = streamtypes.OperationTypeInsert
		case x.new == nil:
			op = streamtypes.OperationTypeRemove
		}
	}
	late := x.part == currentItem && s.RelatedKeys != nil // may be the mark of a late event of a series
	if (late || x.part == deletedCopy) && op == streamtypes.OperationTypeModify && marked(old, new) {
		return meaning{}, false, nil
	}
	if w := x.old[schema.WriteAttr]; x.part == eventItem && w != nil && x.new != nil && !item.Equal(w, x.new[schema.WriteAttr]) {
		op, x.old = streamtypes.OperationTypeInsert, nil // an append takes the place of an expired event, for reads of none
	}
	x.kind, err = kindOf(s, r, op, x)
	return x, err == nil, err
}

// marked reports whether two images differ in nothing but the write id, with which a later delete marks a deleted copy, and a late event
// the current item of its series.
func marked(old, new item.Item) bool {
	if old == nil || new == nil {
		return false
	}
	was, is := item.Clone(old), item.Clone(new)
	delete(was, schema.WriteAttr)
	delete(is, schema.WriteAttr)
	return item.Equal(&types.AttributeValueMemberM{Value: was}, &types.AttributeValueMemberM{Value: is})
}

// kindOf returns the kind of a change by operation op, which is the record's unless the entity marker was added or
// removed.
func kindOf(s *schema.Schema, r *Record, op streamtypes.OperationType, x meaning) (Kind, error) {
	stored, changed, removed, expired := Created, Updated, Deleted, Expired
	_, moves := schema.Feature[plan.SoftDeleter](s)
	if kinds, beside := relatedKinds[x.part]; beside {
		stored, changed, removed, expired = kinds[0], kinds[1], kinds[2], kinds[3]
	} else if moves {
		if op == streamtypes.OperationTypeInsert && x.new == nil {
			return "", missingImage(s, r, "NewImage") // which distinguishes a new item from a restored one
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
	case r.ByTTL || hadEnded(s, r, x):
		return expired, nil
	}
	return removed, nil
}

// hadEnded reports whether an item had expired when it was removed. Only the Region that removed it names the remover; the
// others of a global table have the old image. DynamoDB Local has one Region, and not the clock of the program.
func hadEnded(s *schema.Schema, r *Record, x meaning) bool {
	return (s.Expires || x.part != currentItem) && r.Operation == streamtypes.OperationTypeRemove && r.Region != localRegion && layout.Expired(s, x.old, r.Time)
}

func missingImage(s *schema.Schema, r *Record, needs string) error {
	return &ImageError{Entity: s.Name, Operation: r.Operation, View: r.View, Needs: needs}
}

// sameTable reports whether a record's stream, if known, is that of the store's table. A store may be configured with
// an ARN, since another account or region can have tables of the same name; a record from Kinesis has no account. DynamoDB
// Local has one region for all.
func sameTable(store string, r *Record) bool {
	source, name := r.SourceARN, tableOf(store)
	if source == "" {
		region := ":" + r.Region + ":"
		return r.Table == "" || r.Table == cmp.Or(name, store) && (name == "" || r.Region == "" || strings.Contains(store, region))
	}
	switch {
	case name == "":
		return tableOf(source) == store
	case strings.Contains(source, ":"+localRegion+":"):
		return tableOf(source) == name
	}
	return tableARN(source) == tableARN(store)
}

// hasKeyOf reports whether a primary key has the attributes and types of s, and the prefix of its items.
func hasKeyOf(s *schema.Schema, keys item.Item) bool {
	n := 0
	for _, h := range []*schema.KeyDef{s.PK, s.SK} {
		for _, name := range h.Attributes() {
			if n++; !hasKeyType(keys[name], h) {
				return false
			}
		}
	}
	return len(keys) == n && (!s.Templated || identify.UnderPrefix(s, keys))
}

// hasKeyType reports whether av has the type of key h.
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

// belongsTo reports whether an image is of an item of s, current or not, by the same rule as reads: `$` entities by
// name, verbatim ones by their kind attribute, and never an item marked as another entity's.
func belongsTo(s *schema.Schema, image item.Item) bool {
	if image == nil {
		return false
	}
	if _, marked := image[schema.EntityAttr]; marked && !s.Templated {
		return false
	}
	return s.Own.Holds(image)
}

// classifyByKey classifies a record without images, by its key, if that is enough.
func classifyByKey(c *engine.Core, r *Record) (meaning, bool, error) {
	s := c.Schema
	x, ok := meaning{}, true
	switch {
	case s.HasMetadata:
		var kind string
		kind, ok = identify.KindByKey(s, r.Keys)
		x.part = itemPart(kind)
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

// aloneInTable reports that nothing declared on the table of c leaves other items there.
func aloneInTable(c *engine.Core) bool {
	return len(plan.UniqueConstraints(c.Schema)) == 0 && len(c.DB.On(c.Table)) == 1
}
