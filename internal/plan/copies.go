package plan

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

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
	forward := false
	in := itemAndCopies(op)
	in.ScanIndexForward = &forward
	for page, err := range Pages(ctx, r, in) {
		if err != nil {
			return nil, nil, err
		}
		for _, it := range page {
			switch place := placeOf(op.Schema, op.Key, it, schema.CopyInfix); {
			case place == itself:
				current = it
			case place == beside && (chosen == nil || KeyID(chosen) == KeyID(KeyOf(op.Schema, it))):
				copied = op.newer(copied, it, now)
			}
		}
	}
	return current, copied, nil
}

// itemAndCopies returns a query of op's item and its deleted copies, in this order. Events and snapshots come after them.
func itemAndCopies(op *Op) *dynamodb.QueryInput {
	return QueryBetween(op.Schema, op.Table, op.Key, "", strings.TrimSuffix(schema.CopyInfix, "#")+"$")
}

// WithCopies reads op's item and the newest of its deleted copies, expired or not, of whatever spelling: in one request, or
// two when there are several copies.
func WithCopies(ctx context.Context, r Reader, op *Op) (current, newestCopy item.Item, err error) {
	limit := int32(3) // the item, one copy, and one more, which shows that there are several
	in := itemAndCopies(op)
	in.Limit = &limit
	out, err := r.Query(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	for _, it := range out.Items {
		switch placeOf(op.Schema, op.Key, it, schema.CopyInfix) {
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
	it, _, err := newest(ctx, r, op, schema.CopyInfix, time.Time{}, false)
	return it, err
}

// IndexCopy gives a deleted copy the keys of the indexes that hold copies.
func IndexCopy(s *schema.Schema, copied item.Item) error {
	for _, x := range s.Indexes {
		if !s.HoldsCopies(x) {
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
