package layout

import (
	"context"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// A Range selects the items that one request reads: in a partition or, without Key, in a whole table or index.
type Range struct {
	Table    string
	Index    string    // "" for the table itself
	Local    bool      // it is a local one, which can be read with strong consistency
	Key      expr.Cond // on the partition key and the sort key
	Filter   expr.Cond
	Project  []string  // attributes to return; nil: all
	Count    bool      // return no items
	Start    item.Item // where the page before ended; nil for the first page
	Limit    int       // how many items to evaluate; 0: as many as an answer holds
	Strong   bool
	Desc     bool
	Segment  int  // of Segments, to be scanned
	Segments int  // 0: the whole
	Units    bool // return the consumed capacity
}

// Page is the answer to one request for a Range.
type Page struct {
	Rows      []wire.Item // to be released
	Count     int         // items that passed the filter
	Evaluated int         // items that were read and charged
	Last      item.Item   // where the next page starts; nil after the last
	Units     float64     // read units, if the range asked for them
}

// Items returns the rows as attribute values and releases them.
func (p Page) Items() []item.Item { return wire.DetachAll(p.Rows) }

func queryItems(s *schema.Schema, table string, primary item.Item, sk expr.Cond) *Range {
	pk := s.PK.Attribute()
	return &Range{Table: table, Strong: true, Key: expr.All(expr.Compare(expr.Eq, expr.Attr(pk), primary[pk]), sk)}
}

// QueryRelated returns a consistent query of the related items under infix, ordered by sort key.
func QueryRelated(s *schema.Schema, table string, primary item.Item, infix string) *Range {
	sk, _ := SortKey(s, primary)
	return queryItems(s, table, primary, expr.Compare(expr.BeginsWith, s.SK.Path, item.S(sk+infix)))
}

// QueryBetween returns a consistent query of the items between two suffixes of an item's sort key, both included. The
// suffix "" stands for the current item.
func QueryBetween(s *schema.Schema, table string, primary item.Item, from, to string) *Range {
	sk, _ := SortKey(s, primary)
	return queryItems(s, table, primary, expr.Compare(expr.Between, s.SK.Path, item.S(sk+from), item.S(sk+to)))
}

// Reader reads stored items as they stand in the table, for [Open]. It retries reads that may succeed later.
type Reader interface {
	Get(ctx context.Context, table string, key item.Item, consistent bool) (item.Item, error)
	ReadPage(ctx context.Context, in *Range) (Page, error)
}
