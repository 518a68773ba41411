package unique_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/unique"
)

// In a shared table a sentinel that is put again is the same to the byte, so that only the item that it names shows that
// the value is claimed by now. Nobody had it when Repair looked.
func TestRepair_LeavesASentinelThatItsItemHasMadeTrueMeanwhile(t *testing.T) {
	t.Parallel()
	type account struct {
		_     entity.Key        `name:"Account" pk:"$#id_{id}" sk:"$"`
		_     unique.Constraint `name:"email" fields:"email"`
		ID    string            `dynamodbav:"id"`
		Email string            `dynamodbav:"email,omitempty"`
	}
	b := newBed(t, "pk", "sk")
	shared := func(wire *faults.Transport) *entity.DB {
		db, err := entity.Open(dynamodb.New(b.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = wire }), entity.Config{
			Table: b.table, Clock: b.now, Interop: true, TimePrecision: time.Millisecond, Namespace: entity.Namespace{Casing: entity.LowerCase},
		})
		require.NoError(t, err)
		return db
	}
	b.db = shared(b.wire)
	s, l := prepare[account](t, b, "email")
	beside, err := entity.New[account](shared(faults.New(b.raw.Options().HTTPClient)))
	require.NoError(t, err)
	_, err = s.Create(t.Context(), account{ID: "p", Email: "x"})
	require.NoError(t, err)
	it := b.item(t, "p")
	it["email"] = text("y")
	b.put(t, it) // by something that knows of no sentinels
	n := 0
	b.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" {
			if n++; n == 1 {
				_, err := beside.Update(t.Context(), account{ID: "p"}, entity.Set(&entity.Fields[account]().Email, "x"))
				require.NoError(t, err)
			}
		}
		return faults.None
	})
	_, err = l.Repair(t.Context())
	require.NoError(t, err)
	require.Positive(t, n)
	found, err := l.Find(t.Context(), account{Email: "x"})
	require.NoError(t, err)
	require.Equal(t, "p", found.ID)
	r, err := l.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, r.Findings)
}

// Seat is one of several in a room, all in one partition; a claim ends after an hour.
type Seat struct {
	_    entity.Key        `name:"Seat" pk:"$#{room}" sk:"$#{id}"`
	_    unique.Constraint `name:"code" fields:"code" ttl:"1h"`
	Room string            `dynamodbav:"room"`
	ID   string            `dynamodbav:"id"`
	Code string            `dynamodbav:"code,omitempty"`
}

// StoredSeat is a Seat with a bin.
type StoredSeat struct {
	_    entity.Key           `name:"Seat" pk:"$#{room}" sk:"$#{id}"`
	_    unique.Constraint    `name:"code" fields:"code" ttl:"1h"`
	_    lifecycle.SoftDelete ``
	Room string               `dynamodbav:"room"`
	ID   string               `dynamodbav:"id"`
	Code string               `dynamodbav:"code,omitempty"`
}

// A sibling in the partition has the value by now. It has the same partition key as the item that had it before, and is
// another one all the same: it keeps the value whatever becomes of the item.
func TestClaim_OfASiblingInThePartitionIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := entity.Fields[Seat]()
	a := Seat{Room: "r", ID: "a"}
	for name, write := range map[string]func(*testing.T, *bed, *entity.Store[Seat]) error{
		"update": func(t *testing.T, _ *bed, s *entity.Store[Seat]) error {
			_, err := s.Update(t.Context(), a, entity.Set(&f.Code, "2"))
			return err
		},
		"delete": func(t *testing.T, _ *bed, s *entity.Store[Seat]) error { return s.Delete(t.Context(), a) },
		"purge":  func(t *testing.T, _ *bed, s *entity.Store[Seat]) error { return s.Purge(t.Context(), a) },
		"soft delete": func(t *testing.T, b *bed, _ *entity.Store[Seat]) error {
			s, err := entity.New[StoredSeat](b.open(t, b.wire, 0))
			require.NoError(t, err)
			return s.Delete(t.Context(), StoredSeat{Room: "r", ID: "a"})
		},
		"purge of a copy": func(t *testing.T, b *bed, _ *entity.Store[Seat]) error {
			s, err := entity.New[StoredSeat](b.open(t, b.wire, 0))
			require.NoError(t, err)
			require.NoError(t, s.Delete(t.Context(), StoredSeat{Room: "r", ID: "a"}))
			return s.Purge(t.Context(), StoredSeat{Room: "r", ID: "a"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, "pk", "sk")
			s, l := prepare[Seat](t, b, "code")
			_, err := s.Create(t.Context(), Seat{Room: "r", ID: "a", Code: "1"})
			require.NoError(t, err)
			var taken *unique.ViolationError
			_, err = s.Create(t.Context(), Seat{Room: "r", ID: "b", Code: "1"})
			require.ErrorAs(t, err, &taken)
			require.Equal(t, unique.Owner{PK: "$app#v1#seat#r", SK: "$app#v1#seat#a"}, taken.Owner)
			b.run(time.Hour)
			_, err = s.Create(t.Context(), Seat{Room: "r", ID: "b", Code: "1"})
			require.NoError(t, err)
			require.NoError(t, write(t, b, s))
			got, err := l.Find(t.Context(), Seat{Code: "1"})
			require.NoError(t, err)
			require.Equal(t, "b", got.ID)
		})
	}
}

// A restore claims the value again, and does not take it from a sibling.
func TestClaim_ARestoreDoesNotTakeTheValueOfASibling(t *testing.T) {
	t.Parallel()
	b := newBed(t, "pk", "sk")
	s, l := prepare[StoredSeat](t, b, "code")
	bin, err := lifecycle.Of(s)
	require.NoError(t, err)
	_, err = s.Create(t.Context(), StoredSeat{Room: "r", ID: "a", Code: "1"})
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), StoredSeat{Room: "r", ID: "a"}))
	_, err = s.Create(t.Context(), StoredSeat{Room: "r", ID: "b", Code: "1"})
	require.NoError(t, err)
	_, err = bin.Restore(t.Context(), StoredSeat{Room: "r", ID: "a"})
	var taken *unique.ViolationError
	require.ErrorAs(t, err, &taken)
	require.Equal(t, "$app#v1#seat#b", taken.Owner.SK)
	got, err := l.Find(t.Context(), StoredSeat{Code: "1"})
	require.NoError(t, err)
	require.Equal(t, "b", got.ID)
	_, err = bin.Get(t.Context(), StoredSeat{Room: "r", ID: "a"})
	require.NoError(t, err)
}
