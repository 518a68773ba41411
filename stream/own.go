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
func own(s *schema.Schema, image item.Item) bool {
	if image == nil {
		return false
	}
	name, named := image[schema.EntityAttr]
	switch {
	case s.Templated:
		return item.Equal(name, item.S(s.Name))
	case named:
		return false
	case s.Discriminator != nil:
		return item.Equal(image[s.Discriminator.Attr], item.S(s.Discriminator.Value))
	}
	return true
}

// lies says which of the entity's items an image is of; false for one that this version does not know.
func lies(s *schema.Schema, image item.Item) (stratum, bool) {
	if s.HasMetadata {
		k, beside := image[schema.KindAttr].(*types.AttributeValueMemberS)
		if !beside {
			return current, true
		}
		_, known := satellites[stratum(k.Value)]
		return stratum(k.Value), known
	}
	if !s.Templated || s.SK == nil {
		return current, true
	}
	// In a table that is shared with effect-dynamodb only the sort key shows it, and the attributes that it is made of.
	text, _ := plan.SortKey(s, image)
	composed, ok := s.SK.Template.AsStored(image)
	if !ok {
		return "", false
	}
	text, composed = strings.ToLower(text), strings.ToLower(composed)
	for _, x := range infixes {
		if rest, beside := strings.CutPrefix(text, composed+x.text); beside && rest != "" {
			return x.of, true
		}
	}
	return current, text == composed
}

var infixes = []struct {
	text string
	of   stratum
}{{schema.EventInfix, event}, {schema.SnapshotInfix, snapshot}, {schema.CopyInfix, copied}}

// below returns what follows the prefix of a `$` entity in its own key: the segments of the template, and those of a
// satellite. It is nil for a key of another entity, constraint or namespace.
func below(s *schema.Schema, keys item.Item) []string {
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
func blind(c *core.Core, r *Record) (found, bool, error) {
	s := c.Schema
	x, ok := found{}, true
	switch {
	case s.HasMetadata:
		x.of, ok = placed(s, r.Keys)
	case s.Templated || s.Discriminator != nil || !alone(c):
		return found{}, false, missing(s, r, "NewImage or OldImage")
	}
	if !ok {
		return found{}, false, nil
	}
	var err error
	x.kind, err = kindOf(s, r, r.Operation, x)
	return x, err == nil, err
}

// placed finds by a key alone which item it is of: no escaped value has a separator in it.
func placed(s *schema.Schema, keys item.Item) (stratum, bool) {
	h := s.SK
	if h == nil {
		h = s.PK
	}
	n := len(h.Template.Segments)
	segments := below(s, keys)[1:]
	switch len(segments) {
	case n:
		return current, true
	case n + 2:
		for _, x := range infixes {
			if "#"+segments[n]+"#" == x.text {
				return x.of, s.SK != nil
			}
		}
	}
	return "", false
}

// alone reports that nothing declared on the table of c leaves other items there.
func alone(c *core.Core) bool {
	if len(plan.UniqueConstraints(c.Schema)) > 0 {
		return false
	}
	return len(c.DB.On(c.Table)) == 1
}
