package plan

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Kinds of related items, as in schema.KindAttr. docs/layout.md describes them.
const (
	EventKind    = "e"
	SnapshotKind = "v"
	CopyKind     = "d"
)

// RelatedKind is a kind of item that is stored in the partition of a current item.
type RelatedKind struct {
	Kind  string // value of schema.KindAttr
	Infix string // between the sort key of the current item and the rest of its own
}

// RelatedKinds lists the kinds of related items.
var RelatedKinds = []RelatedKind{
	{EventKind, schema.EventInfix},
	{SnapshotKind, schema.SnapshotInfix},
	{CopyKind, schema.CopyInfix},
}

// OwnItems holds for the items of s, current or not, in a table or index shared with other entities. It is the zero
// condition for a verbatim entity with a table of its own.
func OwnItems(s *schema.Schema) expr.Cond {
	switch {
	case s.Templated:
		return expr.Compare(expr.Eq, expr.Attr(schema.EntityAttr), item.S(s.Name))
	case s.Discriminator != nil:
		return expr.Compare(expr.Eq, expr.Attr(s.Discriminator.Attr), item.S(s.Discriminator.Value))
	}
	return expr.Cond{}
}

// InNamespace holds for the items of s, and not for those of an entity with the same name in another namespace or
// version. A query on a $ partition does not need this filter.
func InNamespace(s *schema.Schema) expr.Cond {
	h := s.SK
	if h == nil {
		h = s.PK
	}
	if !h.Prefixed {
		return expr.Cond{}
	}
	return expr.Compare(expr.BeginsWith, expr.Attr(h.Attr), item.S(h.Template.Prefix))
}

// SortKey returns the text of the sort key of an item or primary key. It returns false if the entity has no sort key or
// the item has no text there.
func SortKey(s *schema.Schema, it item.Item) (string, bool) {
	if s.SK == nil || s.SK.Attr == "" {
		return "", false
	}
	sk, ok := it[s.SK.Attr].(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	return sk.Value, true
}

// RelatedKey returns the primary key of the related item whose sort key is that of the current item followed by suffix.
func RelatedKey(s *schema.Schema, primary item.Item, suffix string) item.Item {
	k := item.Clone(primary)
	sk, _ := SortKey(s, primary)
	k[s.SK.Attr] = item.S(sk + suffix)
	return k
}

// CurrentKey returns the primary key of the current item that a related item under infix belongs to. It returns false if
// the sort key does not contain infix.
func CurrentKey(s *schema.Schema, related item.Item, infix string) (item.Item, bool) {
	sk, _ := SortKey(s, related)
	at := strings.LastIndex(sk, infix)
	if at < 0 {
		return nil, false
	}
	k := KeyOf(s, related)
	k[s.SK.Attr] = item.S(sk[:at])
	return k, true
}

// RelatedSortKey returns the definition of the sort key of the related items under infix: the sort key of the current
// item, infix, and the value of a as f encodes it.
func RelatedSortKey(s *schema.Schema, infix string, a *schema.Attr, f *key.Field) *schema.KeyDef {
	t := *s.SK.Template
	t.Segments = append(slices.Clone(t.Segments), key.Segment{Literal: strings.Trim(infix, "#")}, key.Segment{Field: f})
	return &schema.KeyDef{Attr: s.SK.Attr, Template: &t, Parts: append(slices.Clone(s.SK.Parts), a), Prefixed: true, Type: s.SK.Type}
}

// RelatedItem returns a copy of an item as it is stored under the sort key with suffix: without index keys, time to live
// and the mark of a restore, which only current items have.
func RelatedItem(s *schema.Schema, it item.Item, suffix, kind string) item.Item {
	out := item.Clone(it)
	for _, h := range s.IndexKeys() {
		if h.Written() {
			delete(out, h.Attr)
		}
	}
	delete(out, schema.OpAttr)
	delete(out, s.Options.TTL)
	if sk, ok := SortKey(s, it); ok {
		out[s.SK.Attr] = item.S(sk + suffix)
	}
	if s.HasMetadata {
		out[schema.KindAttr] = item.S(kind)
	}
	return out
}

// DeletedAttr returns the name and format of the attribute that holds the time of deletion.
func DeletedAttr(s *schema.Schema) (string, key.TimeFormat) {
	if a := s.DeletedAt; a != nil {
		return a.Name, a.Format
	}
	return schema.DeletedAtAttr, s.Options.Precision
}

// IsDeletedState reports whether a stored item is a deleted state: a deleted copy, or the snapshot of a deleted state.
// In a shared table only the time of the deletion shows it. That includes copies that effect-dynamodb keeps after a
// restore.
func IsDeletedState(s *schema.Schema, it item.Item) bool {
	if _, marked := it[schema.DeletedAttr]; marked || item.Equal(it[schema.KindAttr], item.S(CopyKind)) {
		return true
	}
	name, _ := DeletedAttr(s)
	_, dated := it[name]
	return dated && !s.Profile.MarksItems()
}

func queryItems(s *schema.Schema, table string, primary item.Item, sk expr.Cond) *dynamodb.QueryInput {
	pk := s.PK.Attributes()[0]
	strong := true
	in := &dynamodb.QueryInput{TableName: &table, ConsistentRead: &strong}
	var e expr.Renderer
	cond := e.Cond(expr.All(expr.Compare(expr.Eq, expr.Attr(pk), primary[pk]), sk))
	in.KeyConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = &cond, e.Names, e.Values
	return in
}

// QueryRelated returns a consistent query of the related items under infix, ordered by sort key.
func QueryRelated(s *schema.Schema, table string, primary item.Item, infix string) *dynamodb.QueryInput {
	sk, _ := SortKey(s, primary)
	return queryItems(s, table, primary, expr.Compare(expr.BeginsWith, expr.Attr(s.SK.Attr), item.S(sk+infix)))
}

// QueryBetween returns a consistent query of the items between two suffixes of an item's sort key, both included. The
// suffix "" stands for the current item.
func QueryBetween(s *schema.Schema, table string, primary item.Item, from, to string) *dynamodb.QueryInput {
	sk, _ := SortKey(s, primary)
	return queryItems(s, table, primary, expr.Compare(expr.Between, expr.Attr(s.SK.Attr), item.S(sk+from), item.S(sk+to)))
}

// Pages runs a query and yields its pages, one request each, until the last page or an error. It changes in from page to
// page. The caller may change it too.
func Pages(ctx context.Context, r Reader, in *dynamodb.QueryInput) iter.Seq2[[]item.Item, error] {
	return func(yield func([]item.Item, error) bool) {
		for {
			out, err := r.Query(ctx, in)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(out.Items, nil) || len(out.LastEvaluatedKey) == 0 {
				return
			}
			in.ExclusiveStartKey = out.LastEvaluatedKey
		}
	}
}

// relation is how a stored item is related to a current item.
type relation int

const (
	unrelated relation = iota
	currentItem
	relatedItem
)

// relationOf reports whether it is the item with the primary key, or one of its related items under infix.
func relationOf(s *schema.Schema, primary, it item.Item, infix string) relation {
	own, _ := SortKey(s, primary)
	switch sk, ok := SortKey(s, it); {
	case !ok:
		return unrelated
	case sk == own:
		return currentItem
	case strings.HasPrefix(sk, own+infix):
		return relatedItem
	}
	return unrelated
}
