// Package expr has conditions and changes as trees over attribute paths and encoded values. The same tree is rendered
// for a request, printed for a reader, and evaluated on, or applied to, an item in memory.
package expr

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Step is one step of a path: an attribute or map key if Name is set, else a list index.
type Step struct {
	Name  string
	Index int
}

// Path names an attribute, top-level or nested.
type Path []Step

// Attr returns the path of a top-level attribute.
func Attr(name string) Path { return Path{{Name: name}} }

// Child returns p extended by one step; p is not changed.
func (p Path) Child(s Step) Path {
	return append(p[:len(p):len(p)], s)
}

// Root returns the name of the top-level attribute of p.
func (p Path) Root() string { return p[0].Name }

// String returns the path for a reader, such as a.b[0]. Names are as in [item.Text]; dots and brackets inside one are not marked.
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Name == "":
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case i == 0:
			b.WriteString(item.Text(s.Name))
		default:
			b.WriteString("." + item.Text(s.Name))
		}
	}
	return b.String()
}

// Overlaps reports whether p and q are equal or one is inside the other. DynamoDB refuses both in one update.
func (p Path) Overlaps(q Path) bool {
	for i := range min(len(p), len(q)) {
		if p[i] != q[i] {
			return false
		}
	}
	return true
}

// Disagrees reports whether the first step in which p and q differ is a name in one and a list index in the other. No item can have both.
func (p Path) Disagrees(q Path) bool {
	for i := range min(len(p), len(q)) {
		if p[i] != q[i] {
			return (p[i].Name == "") != (q[i].Name == "")
		}
	}
	return false
}

// Lookup returns the value at p in it. ok is false if the item has no value there.
func (p Path) Lookup(it item.Item) (av types.AttributeValue, ok bool) {
	av, ok = it[p.Root()]
	for _, s := range p[1:] {
		switch v := av.(type) {
		case *types.AttributeValueMemberM:
			av, ok = v.Value[s.Name]
			ok = ok && s.Name != ""
		case *types.AttributeValueMemberL:
			if ok = s.Name == "" && s.Index < len(v.Value); ok {
				av = v.Value[s.Index]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return av, ok
}

// Parent returns p without its last step. p must be nested.
func (p Path) Parent() Path { return p[:len(p)-1] }

// HasParent reports whether it has the map or list that the last step of p leads into. It is true for a top-level p.
func (p Path) HasParent(it item.Item) bool {
	if len(p) == 1 {
		return true
	}
	av, _ := p.Parent().Lookup(it)
	if p[len(p)-1].Name != "" {
		_, ok := av.(*types.AttributeValueMemberM)
		return ok
	}
	_, ok := av.(*types.AttributeValueMemberL)
	return ok
}
