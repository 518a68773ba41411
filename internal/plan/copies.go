package plan

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// newer is which of two copies Newest is about: found, which is nil when there was none yet, or it, which is older.
func (op *Op) newer(found, it item.Item, now time.Time) item.Item {
	switch {
	case Expired(op.Schema, it, now):
		return found
	case found == nil, op.sameCase(found) != nil && op.sameCase(it) == nil:
		return it
	}
	return found
}

// Around reads op's item and its deleted copies in one query, so that an item that moves between these places is seen in
// one of them: the current item, and the copy that Newest is about or, where chosen is a key, that copy.
func Around(ctx context.Context, r Reader, op *Op, chosen item.Item, now time.Time) (current, copied item.Item, err error) {
	infix := softDeleter(op.Schema).Infix()
	desc, strong := false, true
	in := &dynamodb.QueryInput{TableName: &op.Table, ScanIndexForward: &desc, ConsistentRead: &strong}
	upTo(in, op.Schema, op.Key, infix)
	for {
		out, err := r.Query(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		for _, it := range out.Items {
			switch place := placeOf(op.Schema, op.Key, it, infix); {
			case place == itself:
				current = it
			case place == beside && (chosen == nil || KeyID(chosen) == KeyID(KeyOf(op.Schema, it))):
				copied = op.newer(copied, it, now)
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return current, copied, nil
		}
	}
}

// withCopies is how much is read with an item: the item, one deleted copy, and what shows that there are more.
const withCopies = int32(3)

// WithCopies reads op's item and the newest of its deleted copies, expired or not, of whatever spelling: in one request, or
// two when there are several copies.
func WithCopies(ctx context.Context, r Reader, op *Op) (current, newestCopy item.Item, err error) {
	infix := softDeleter(op.Schema).Infix()
	limit, strong := withCopies, true
	in := &dynamodb.QueryInput{TableName: &op.Table, ConsistentRead: &strong, Limit: &limit}
	upTo(in, op.Schema, op.Key, infix)
	out, err := r.Query(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	for _, it := range out.Items {
		switch placeOf(op.Schema, op.Key, it, infix) {
		case itself:
			current = it
		case beside:
			newestCopy = it
		}
	}
	if len(out.LastEvaluatedKey) > 0 {
		newestCopy, err = NewestCopy(ctx, r, op)
	}
	return current, newestCopy, err
}

// NewestCopy reads the newest deleted copy of op's item, expired or not, of whatever spelling; nil if absent.
func NewestCopy(ctx context.Context, r Reader, op *Op) (item.Item, error) {
	it, _, err := newest(ctx, r, op, softDeleter(op.Schema).Infix(), time.Time{}, false)
	return it, err
}

// IndexCopy gives a deleted copy the keys of the indexes that hold copies.
func IndexCopy(s *schema.Schema, copied item.Item) error {
	for _, x := range s.Indexes {
		if !s.OfCopies(x) {
			continue
		}
		for _, h := range x.Keys() {
			if err := SetIndexHalf(s, h, copied, h == x.SK); err != nil {
				return err
			}
		}
	}
	return nil
}

// place is where an item lies, seen from another one.
type place int

const (
	elsewhere place = iota
	itself
	beside
)

// placeOf says whether it is the item under a primary key, or one of its satellites under an infix.
func placeOf(s *schema.Schema, primary, it item.Item, infix string) place {
	own, _ := SortKey(s, primary)
	switch sk, ok := SortKey(s, it); {
	case !ok:
		return elsewhere
	case sk == own:
		return itself
	case strings.HasPrefix(sk, own+infix):
		return beside
	}
	return elsewhere
}

// upTo sets the key condition of in to an item and its satellites under an infix.
func upTo(in *dynamodb.QueryInput, s *schema.Schema, primary item.Item, infix string) {
	pk := s.PK.Attributes()[0]
	sk, _ := SortKey(s, primary)
	var e expr.Renderer
	cond := e.Cond(expr.All(
		expr.Compare(expr.Eq, expr.Attr(pk), primary[pk]),
		expr.Compare(expr.Between, expr.Attr(s.SK.Attr), item.S(sk), item.S(strings.TrimSuffix(sk+infix, "#")+"$")),
	))
	in.KeyConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = &cond, e.Names, e.Values
}
