package unique_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Gadget is verbatim; its index turns the table's key round, so that every item of the table is in it.
type Gadget struct {
	_      entity.Key        `name:"Gadget" pk:"pk" sk:"sk"`
	_      entity.GSI        `name:"turned" index:"turned" pk:"sk" sk:"pk" project:"keys"`
	_      entity.GSI        `name:"byMaker" index:"maker" pk:"maker"`
	_      unique.Constraint `name:"serial" fields:"serial"`
	PK     string            `dynamodbav:"pk"`
	SK     string            `dynamodbav:"sk"`
	Maker  string            `dynamodbav:"maker,omitempty"`
	Serial string            `dynamodbav:"serial,omitempty"`
}

// Ledger has snapshots, copies and sentinels in a partition of verbatim text.
type Ledger struct {
	_       entity.Key        `name:"Ledger" pk:"pk={owner}" sk:"$#{id}"`
	_       unique.Constraint `name:"code" fields:"code"`
	_       versioned.Retain
	_       lifecycle.SoftDelete
	Owner   string `dynamodbav:"owner"`
	ID      string `dynamodbav:"id"`
	Code    string `dynamodbav:"code,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// What the library writes beside items is no item of a verbatim entity.
func TestReads_OfVerbatimEntitiesHideSentinelsSnapshotsAndCopies(t *testing.T) {
	t.Parallel()
	for name, mixed := range map[string]bool{"alone": false, "beside a $ entity": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, "pk", "sk")
			var ledgers *entity.Store[Ledger]
			if mixed {
				var err error
				ledgers, err = entity.New[Ledger](b.db)
				require.NoError(t, err)
			}
			s, l := prepare[Gadget](t, b, "serial")
			require.NoError(t, b.db.Verify(t.Context()), "the index carries what tells items apart")
			for _, g := range []Gadget{{PK: "p", SK: "1", Serial: "s1", Maker: "m"}, {PK: "p", SK: "2", Serial: "s2", Maker: "m"}} {
				_, err := s.Create(t.Context(), g)
				require.NoError(t, err)
			}
			rows := 4
			if mixed {
				_, err := ledgers.Create(t.Context(), Ledger{Owner: "p", ID: "l", Code: "c"})
				require.NoError(t, err)
				require.NoError(t, ledgers.Delete(t.Context(), Ledger{Owner: "p", ID: "l"}))
				_, err = ledgers.Create(t.Context(), Ledger{Owner: "p", ID: "k", Code: "c"})
				require.NoError(t, err)
				rows = len(b.rows(t))
				require.Greater(t, rows, 8)
			}
			turned, err := s.Index("turned")
			require.NoError(t, err)
			byMaker, err := s.Index("byMaker")
			require.NoError(t, err)
			for name, q := range map[string]entity.Query[Gadget]{
				"Scan": s.Scan(), "segments": s.Scan(entity.Segments(3)), "Query": s.Query(Gadget{PK: "p"}), "Index.Scan": turned.Scan(),
				"other Index.Scan": byMaker.Scan(), "Index.Query": byMaker.Query(Gadget{Maker: "m"}),
			} {
				got, err := q.Collect(t.Context())
				require.NoError(t, err, name)
				keys := []string{}
				for _, g := range got {
					keys = append(keys, g.PK+g.SK)
				}
				slices.Sort(keys)
				require.Equal(t, []string{"p1", "p2"}, keys, name)
				n, err := q.Count(t.Context())
				require.NoError(t, err, name)
				require.Equal(t, 2, n, name)
			}
			for _, it := range b.rows(t) {
				if it["__edd_e__"] == nil {
					continue
				}
				n, err := turned.Query(Gadget{SK: str(it["sk"])}).Count(t.Context())
				require.NoError(t, err)
				require.Zero(t, n, "a sentinel's partition of the index")
			}
			require.Len(t, b.rows(t), rows)
			r, err := l.Verify(t.Context())
			require.NoError(t, err)
			require.Equal(t, unique.Report{Items: 2, Sentinels: 2}, r)
			if mixed {
				all, err := ledgers.Scan().Collect(t.Context())
				require.NoError(t, err)
				require.Len(t, all, 1)
			}
		})
	}
}
