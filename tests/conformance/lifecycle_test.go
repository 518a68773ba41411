package conformance_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Employee is the guide's: soft delete and versions, both with a time to live.
type Employee struct {
	_ entity.Key           `name:"Employee" pk:"$#{employeeId}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenantId}" sk:"$#{department}#{employeeId}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	Staff
}

// EmployeeReserve keeps its unique email while it is deleted.
type EmployeeReserve struct {
	_ entity.Key           `name:"Employee" pk:"$#{employeeId}" sk:"$"`
	_ versioned.Retain     ``
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Staff
}

// Staff are the fields of every employee.
type Staff struct {
	EmployeeID  string    `dynamodbav:"employeeId"`
	TenantID    string    `dynamodbav:"tenantId" entity:"immutable"`
	Email       string    `dynamodbav:"email"`
	DisplayName string    `dynamodbav:"displayName" entity:"required"`
	Department  string    `dynamodbav:"department"`
	Version     int64     `dynamodbav:"version" entity:"version"`
	CreatedAt   time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt   time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

var (
	aliceStaff = Staff{EmployeeID: "emp-alice", TenantID: "t-acme", Email: "alice@acme.com", DisplayName: "Alice", Department: "Engineering"}
	bobStaff   = Staff{EmployeeID: "emp-bob", TenantID: "t-acme", Email: "bob@acme.com", DisplayName: "Bob", Department: "Sales"}
)

const (
	alicePK    = "$app#v1#employee#emp-alice"
	employeeSK = "$app#v1#employee"
)

// guide is a table with the item of the guide's example: alice was created and updated.
type guide struct {
	*dbtest.Bench
	s       *entity.Store[Employee]
	bin     *lifecycle.Deleted[Employee]
	history *versioned.History[Employee]
	byTen   *entity.Index[Employee]
	key     Employee
}

func newGuide(t *testing.T) guide {
	t.Helper()
	l, s := dbtest.OpenStore[Employee](t)
	g := guide{Bench: l, s: s, bin: entity.Must(lifecycle.Of(s)), history: entity.Must(versioned.Of(s)), byTen: entity.Must(s.Index("byTenant"))}
	g.key = Employee{Staff: Staff{EmployeeID: "emp-alice"}}
	l.OK(s.Create(t.Context(), Employee{Staff: aliceStaff}))
	l.Clock.Move(time.Second)
	e := entity.Fields[Employee]()
	_, err := s.Update(t.Context(), g.key, entity.Set(&e.DisplayName, "Alice Baker"), entity.Set(&e.Department, "Engineering"), entity.Set(&e.TenantID, "t-acme"))
	require.NoError(t, err)
	l.Clock.Move(time.Second)
	return g
}

// delete deletes alice softly and returns the time.
func (g guide) delete(t *testing.T) time.Time {
	t.Helper()
	at := g.Clock.Now()
	require.NoError(t, g.s.Delete(t.Context(), g.key))
	g.Clock.Move(time.Second)
	return at
}

// alice returns alice's item with a suffix of the sort key, or nil.
func (g guide) alice(t *testing.T, suffix string) dbtest.Item {
	t.Helper()
	return g.ItemsByKey()[alicePK+" "+employeeSK+suffix]
}

func TestGuide_VisibilityAfterDeletion(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	at := g.delete(t)
	require.ErrorIs(t, dbtest.ErrorOf(g.s.Get(t.Context(), g.key)), entity.ErrNotFound)
	tenant := Employee{Staff: Staff{TenantID: "t-acme"}}
	found := entity.Must(g.byTen.Query(tenant).Collect(t.Context()))
	require.Empty(t, found, "no index")
	found = entity.Must(g.s.Query(g.key).Collect(t.Context()))
	require.Empty(t, found, "no query of the partition")
	found = entity.Must(g.s.Scan().Collect(t.Context()))
	require.Empty(t, found, "no scan")
	many := entity.Must(g.s.GetMany(t.Context(), []Employee{g.key}))
	require.Nil(t, many[0])
	copied := entity.Must(g.bin.Get(t.Context(), g.key))
	require.Equal(t, "Alice Baker", copied.Item.DisplayName)
	require.Equal(t, at, copied.DeletedAt)
	require.Equal(t, at.Truncate(time.Second).Add(30*24*time.Hour), copied.ExpiresAt)
	require.Equal(t, []lifecycle.DeletedItem[Employee]{copied}, entity.Must(g.bin.List(g.key, entity.Limit(20)).Collect(t.Context())))
}

func TestGuide_ReservePolicyKeepsTheValueUntilThePurge(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[EmployeeReserve](t)
	bin := entity.Must(lifecycle.Of(s))
	alice := entity.Must(s.Create(t.Context(), EmployeeReserve{Staff: aliceStaff}))
	l.Clock.Move(time.Second)
	require.NoError(t, s.Delete(t.Context(), alice))
	bob := bobStaff
	bob.Email = alice.Email
	dbtest.As[*unique.ViolationError](t, dbtest.ErrorOf(s.Create(t.Context(), EmployeeReserve{Staff: bob})), "the deleted copy keeps the value")
	l.OK(bin.Restore(t.Context(), alice))
	l.Clock.Move(time.Second)
	require.NoError(t, s.Delete(t.Context(), alice))
	require.NoError(t, bin.Purge(t.Context(), alice))
	require.NoError(t, dbtest.ErrorOf(s.Create(t.Context(), EmployeeReserve{Staff: bob})), "the purge has given it up")
}

// Create, update, soft delete, restore: a complete audit trail.
func TestGuide_TheHistoryIsTheWholeLifecycle(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	g.delete(t)
	require.NoError(t, dbtest.ErrorOf(g.bin.Restore(t.Context(), g.key)))
	trail := entity.Must(g.history.List(g.key, versioned.WithCurrent()).Collect(t.Context()))
	var names []string
	for i, v := range trail {
		names = append(names, fmt.Sprintf("%d: %s %v", v.Number, v.Item.DisplayName, v.Deleted))
		require.Equal(t, "alice@acme.com", v.Item.Email)
		require.Equal(t, dbtest.Start.Add(time.Duration(i)*time.Second), v.ValidFrom)
	}
	require.Equal(t, "1: Alice false, 2: Alice Baker false, 3: Alice Baker true, 4: Alice Baker false", strings.Join(names, ", "))
	require.NotNil(t, g.alice(t, "#v#0000003")["_deleted"])
	require.NotContains(t, g.alice(t, "#v#0000002"), "_deleted")
	require.NotContains(t, g.alice(t, ""), "_deleted")
}

// copies are the stored deleted copies.
func copies(l *dbtest.Bench) []dbtest.Item {
	l.T.Helper()
	var out []dbtest.Item
	for _, it := range l.ItemsByKey() {
		if dbtest.Text(it["_k"]) == "d" {
			out = append(out, it)
		}
	}
	return out
}

// An older copy is restored under a version above all that there have been; the newer copies stay where they are.
func TestBin_RestoreOfAnOlderCopyGivesNoVersionTwice(t *testing.T) {
	t.Parallel()
	type T = u1VRetainSFree
	b := newBench[T](t)
	p := b.item(t, live)
	key := as[T](p)
	b.remove(p) // 2
	old, stored := entity.Must(b.bin.Get(t.Context(), key)), copies(b.Bench)[0]
	b.Clock.Move(time.Second)
	b.restore(p)                                // 3
	b.update(p, entity.Set(&b.f.Name, "later")) // 4
	b.Clock.Move(time.Second)
	b.remove(p) // 5
	b.PutItem(stored)
	list := entity.Must(b.bin.List(key).Collect(t.Context()))
	require.Len(t, list, 2)
	require.Equal(t, "later", list[0].Item.Name)
	require.Equal(t, old, list[1])

	got := entity.Must(b.bin.RestoreCopy(t.Context(), list[1]))
	require.Equal(t, "N", got.Name)
	require.EqualValues(t, 6, got.Version)
	list = entity.Must(b.bin.List(key).Collect(t.Context()))
	require.Len(t, list, 1)
	require.Equal(t, "later", list[0].Item.Name)
	require.Equal(t, "Exists NotDeleted", classesOf(dbtest.ErrorOf(b.bin.Restore(t.Context(), key))))
	require.Equal(t, "NotDeleted", classesOf(dbtest.ErrorOf(b.bin.RestoreCopy(t.Context(), old))), "that copy is the item")
}

func TestBin_RestoreCopyOfWhatIsNoCopyIsAnError(t *testing.T) {
	t.Parallel()
	type T = u1VRetainSFree
	b := newBench[T](t)
	p := b.item(t, deleted)
	b.Sent()
	require.Equal(t, "EDD-9108", dbtest.InputCode(dbtest.ErrorOf(b.bin.RestoreCopy(t.Context(), lifecycle.DeletedItem[T]{Item: as[T](p)}))))
	require.Empty(t, b.Sent())
	_, err := b.bin.RestoreCopy(t.Context(), lifecycle.DeletedItem[T]{Item: as[T](p), DeletedAt: dbtest.Start.Add(time.Hour)})
	require.Equal(t, "NotFound", classesOf(err))
}

func TestBin_ExpiredCopiesAreGoneForEveryVerb(t *testing.T) {
	t.Parallel()
	t.Run("free", func(t *testing.T) { expiredCopies(t, newBench[u1VLockSFreeTTL](t)) })
	t.Run("reserve", func(t *testing.T) { expiredCopies(t, newBench[u1VRetainSReserveTTL](t)) })
}

func expiredCopies[T any](t *testing.T, b *bench[T]) {
	p := b.item(t, deleted)
	key := as[T](p)
	chosen := entity.Must(b.bin.Get(t.Context(), key))
	require.True(t, chosen.ExpiresAt.After(b.Clock.Now()))
	b.Clock.Move(chosen.ExpiresAt.Add(-time.Nanosecond).Sub(b.Clock.Now()))
	require.NoError(t, dbtest.ErrorOf(b.bin.Get(t.Context(), key)), "until the last moment")
	b.Clock.Move(time.Nanosecond)
	require.Equal(t, "NotFound", classesOf(dbtest.ErrorOf(b.bin.Get(t.Context(), key))))
	list := entity.Must(b.bin.List(key).Collect(t.Context()))
	require.Empty(t, list)
	list = entity.Must(b.bin.List(key, entity.IncludeExpired()).Collect(t.Context()))
	require.Len(t, list, 1)
	require.Equal(t, "NotFound", classesOf(dbtest.ErrorOf(b.bin.Restore(t.Context(), key))))
	require.Equal(t, "NotFound", classesOf(dbtest.ErrorOf(b.bin.RestoreCopy(t.Context(), chosen))))
	require.Equal(t, "NotFound", classesOf(dbtest.ErrorOf(b.s.Update(t.Context(), key, entity.Set(&b.f.Name, "x")))), "it can no longer be restored")
	other := p
	other.ID = "another"
	require.NoError(t, dbtest.ErrorOf(b.s.Create(t.Context(), as[T](other))), "a reserved value is free when the copy has expired, removed or not")
	p.Email = "own-" + p.Email
	b.OK(b.s.Create(t.Context(), as[T](p)))
}

func TestBin_ListIsPagedAndFiltered(t *testing.T) {
	t.Parallel()
	type T = u1VNoneSFree
	b, key := newBench[T](t), as[T](hero)
	for _, name := range []string{"a", "b", "c"} {
		b.create(Person{ID: "p-1", Tenant: "t", Name: name})
		b.remove(hero)
		b.Clock.Move(time.Second)
	}
	var names []string
	for after, n := "", 0; n == 0 || after != ""; n++ {
		page := entity.Must(b.bin.List(key, entity.Limit(1)).Page(t.Context(), after))
		for _, c := range page.Items {
			names = append(names, c.Item.Name)
		}
		after = page.Next
		require.Less(t, n, 5)
	}
	require.Equal(t, []string{"c", "b", "a"}, names)
	one := entity.Must(b.bin.List(key, entity.Filter(entity.Eq(&b.f.Name, "b"))).One(t.Context()))
	require.Equal(t, "b", one.Item.Name)
	page := entity.Must(b.bin.List(key, entity.Limit(1)).Page(t.Context(), ""))
	require.ErrorIs(t, dbtest.ErrorOf(b.bin.List(as[T](Person{ID: "p-2"}), entity.Limit(1)).Page(t.Context(), page.Next)), entity.ErrInvalidCursor)
}

// Without Retain, a deleted item can come into being again; the copy of its earlier life stays.
func TestBin_RestoreTakesTheNewestOfSeveralCopies(t *testing.T) {
	t.Parallel()
	type T = u1VNoneSFree
	b, key := newBench[T](t), as[T](hero)
	for _, name := range []string{"first", "second"} {
		b.create(Person{ID: "p-1", Tenant: "t", Name: name})
		b.Clock.Move(time.Second)
		b.remove(hero)
	}
	require.Equal(t, "second", entity.Must(b.bin.Restore(t.Context(), key)).Name)
	require.Len(t, copies(b.Bench), 1)
}
