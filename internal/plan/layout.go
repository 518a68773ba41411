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

// Kinds of satellites, as schema.KindAttr names them; docs/layout.md describes them.
const (
	EventKind    = "e"
	SnapshotKind = "v"
	CopyKind     = "d"
)

// SatelliteKind is a kind of item that is stored with a current item.
type SatelliteKind struct {
	Kind  string // value of schema.KindAttr
	Infix string // between the current item's sort key and the rest of the satellite's
}

// SatelliteKinds lists the kinds of satellites.
var SatelliteKinds = []SatelliteKind{
	{EventKind, schema.EventInfix},
	{SnapshotKind, schema.SnapshotInfix},
	{CopyKind, schema.CopyInfix},
}

// OwnItems holds for the items of s, current or not, among those of other entities in its table or index. It is the zero
// condition for a verbatim entity that has its table to itself.
func OwnItems(s *schema.Schema) expr.Cond {
	switch {
	case s.Templated:
		return expr.Compare(expr.Eq, expr.Attr(schema.EntityAttr), item.S(s.Name))
	case s.Discriminator != nil:
		return expr.Compare(expr.Eq, expr.Attr(s.Discriminator.Attr), item.S(s.Discriminator.Value))
	}
	return expr.Cond{}
}

// InNamespace holds for the items of s among those of an entity of the same name in another namespace or version of one.
// A query on a $ partition does not need this filter.
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

// SortKey returns the text of the sort key of an item or primary key. It reports false when the entity has no sort key or
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

// SatelliteKey returns the primary key of the satellite whose sort key is that of the current item followed by suffix.
func SatelliteKey(s *schema.Schema, primary item.Item, suffix string) item.Item {
	k := item.Clone(primary)
	sk, _ := SortKey(s, primary)
	k[s.SK.Attr] = item.S(sk + suffix)
	return k
}

// CurrentKey returns the primary key of the current item that a satellite under infix belongs to. It reports false when
// the sort key does not contain infix.
func CurrentKey(s *schema.Schema, satellite item.Item, infix string) (item.Item, bool) {
	sk, _ := SortKey(s, satellite)
	at := strings.LastIndex(sk, infix)
	if at < 0 {
		return nil, false
	}
	k := KeyOf(s, satellite)
	k[s.SK.Attr] = item.S(sk[:at])
	return k, true
}

// SatelliteSortKey returns the definition of the sort key of the satellites under infix. It is that of the current items
// followed by infix and the value of a, written as f says.
func SatelliteSortKey(s *schema.Schema, infix string, a *schema.Attr, f *key.Field) *schema.KeyDef {
	t := *s.SK.Template
	t.Segments = append(slices.Clone(t.Segments), key.Segment{Literal: strings.Trim(infix, "#")}, key.Segment{Field: f})
	return &schema.KeyDef{Attr: s.SK.Attr, Template: &t, Parts: append(slices.Clone(s.SK.Parts), a), Prefixed: true, Type: s.SK.Type}
}

// Satellite returns a copy of an item as it is stored with the current item: under the sort key with suffix, and without
// index keys, time to live and the mark of a restore, which only current items have.
func Satellite(s *schema.Schema, it item.Item, suffix, kind string) item.Item {
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

// DeletedAttr returns the name and format of the attribute that holds when a deleted state was deleted.
func DeletedAttr(s *schema.Schema) (string, key.TimeFormat) {
	if a := s.DeletedAt; a != nil {
		return a.Name, a.Format
	}
	return schema.DeletedAtAttr, s.Options.Precision
}

// IsDeletedState reports whether a stored item is a deleted state: a deleted copy, or the snapshot of a deleted state. In a
// shared table only the time of the deletion shows it, also in what effect-dynamodb keeps of a copy that it has restored.
func IsDeletedState(s *schema.Schema, it item.Item) bool {
	if _, marked := it[schema.DeletedAttr]; marked || item.Equal(it[schema.KindAttr], item.S(CopyKind)) {
		return true
	}
	name, _ := DeletedAttr(s)
	_, dated := it[name]
	return dated && !s.Profile.MarksItems()
}

// QuerySatellites returns a consistent query of the satellites of an item under infix, in the order of their sort keys.
func QuerySatellites(s *schema.Schema, table string, primary item.Item, infix string) *dynamodb.QueryInput {
	sk, _ := SortKey(s, primary)
	return queryItems(s, table, primary, expr.Compare(expr.BeginsWith, expr.Attr(s.SK.Attr), item.S(sk+infix)))
}

// QueryBetween returns a consistent query of what is stored between two suffixes of an item's sort key, both included. The
// suffix "" is that of the current item itself.
func QueryBetween(s *schema.Schema, table string, primary item.Item, from, to string) *dynamodb.QueryInput {
	sk, _ := SortKey(s, primary)
	return queryItems(s, table, primary, expr.Compare(expr.Between, expr.Attr(s.SK.Attr), item.S(sk+from), item.S(sk+to)))
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

// Pages runs a query and yields its pages, one request each, until the last page or an error. in is changed from page to
// page; the caller may change it, too, before the next one.
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
