// Package expr is the form in which this module holds conditions and changes before they become DynamoDB expressions:
// trees over attribute paths and encoded values. The same tree is rendered for a request, printed for a reader,
// and, for changes, applied to an item that was read.
package expr

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Step is one step of a path: an attribute or map key when Name is set, else a list index.
type Step struct {
	Name  string
	Index int
}

// Path names an attribute, top-level or nested.
type Path []Step

// Attr is the path of a top-level attribute.
func Attr(name string) Path { return Path{{Name: name}} }

// Child returns p extended by one step; p is not changed.
func (p Path) Child(s Step) Path {
	return append(p[:len(p):len(p)], s)
}

// Root is the top-level attribute that p is in.
func (p Path) Root() string { return p[0].Name }

// String is the path as people write it: a.b[0], and a["x.y"] where a name is no plain word.
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Name == "":
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case i == 0:
			b.WriteString(s.Name)
		default:
			b.WriteString("." + s.Name)
		}
	}
	return b.String()
}

// Overlaps reports that one path is the other or lies inside it, which DynamoDB refuses in one update.
func (p Path) Overlaps(q Path) bool {
	for i := range min(len(p), len(q)) {
		if p[i] != q[i] {
			return false
		}
	}
	return true
}

// Disagrees reports that the paths part at one step which is a name in one and a list index in the other, so that no
// item can have both.
func (p Path) Disagrees(q Path) bool {
	for i := range min(len(p), len(q)) {
		if p[i] != q[i] {
			return (p[i].Name == "") != (q[i].Name == "")
		}
	}
	return false
}

// Lookup returns the value at p in it, and whether there is one.
func (p Path) Lookup(it item.Item) (types.AttributeValue, bool) {
	av, ok := it[p.Root()]
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

// Parent is the path of what p lies in; p is nested.
func (p Path) Parent() Path { return p[:len(p)-1] }

// HasParent reports that p is top-level, or that what it lies in is a map or list in it, as p's last step needs.
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
