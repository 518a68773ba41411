package stream

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

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
