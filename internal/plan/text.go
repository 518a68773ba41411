package plan

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// textNode resolves a path in text, such as features.colour or items[0].qty. The first name must be an attribute of
// the model; names with a dot or a bracket need a field address or entity.Entry.
func textNode(s *schema.Schema, text string) (*schema.Node, error) {
	path, ok := parsePath(text)
	if !ok {
		return nil, input(s, CodePointer, nil, "the path %q is malformed; write name.name[0]", text)
	}
	a := s.Attr(path.Root())
	if a == nil {
		return nil, input(s, CodePointer, nil, "the path %q begins with an attribute that the struct does not have", text)
	}
	n := &schema.Node{Path: path, Attr: a, Type: a.Type, Tag: a.Tag, Options: a.Options, Top: len(path) == 1}
	if len(path) > 1 {
		n = &schema.Node{Path: path, Attr: a, Type: reflect.TypeFor[any]()}
	}
	return n, nil
}

func parsePath(text string) (expr.Path, bool) {
	var path expr.Path
	for _, part := range strings.Split(text, ".") {
		name, indexes, _ := strings.Cut(part, "[")
		if name == "" || strings.Contains(name, "]") {
			return nil, false
		}
		path = append(path, expr.Step{Name: name})
		if len(indexes) == 0 {
			if strings.Contains(part, "[") {
				return nil, false
			}
			continue
		}
		for _, x := range strings.Split(strings.TrimSuffix(indexes, "]"), "][") {
			n, err := strconv.Atoi(x)
			if err != nil || n < 0 || !strings.HasSuffix(indexes, "]") {
				return nil, false
			}
			path = append(path, expr.Step{Index: n})
		}
	}
	return path, true
}
