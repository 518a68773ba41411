package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
)

// frozen returns handles with a clock that stands still.
func (w *world[T]) frozen() handles[T] {
	at := w.Clock.Now()
	return w.open(w.Raw, func(c *entity.Config) { c.Clock = func() time.Time { return at } })
}

func TestRelatedItems_OfItemsInOnePartitionAreSeparate(t *testing.T) {
	w := open[Shelf](t)
	d := w.frozen()
	ids := []string{"a", "ab", "a#v#0000001", "a#deleted#2101-01-01T00:00:00.000000000Z", "A"}
	for i, id := range ids {
		require.NoError(t, dbtest.ErrorOf(d.store.Create(w.Ctx, w.make(Rival{Root: "r", ID: id, Name: id, Email: fmt.Sprintf("e%d@x", i)}))))
	}
	for _, id := range ids {
		key := w.make(Rival{Root: "r", ID: id})
		require.NoError(t, dbtest.ErrorOf(d.store.Update(w.Ctx, key, w.name(id+" 2"))))
		require.NoError(t, d.store.Delete(w.Ctx, key))
	}
	for _, id := range ids {
		key := w.make(Rival{Root: "r", ID: id})
		v := entity.Must(d.past.Get(w.Ctx, key, 1))
		require.Equal(t, id, v.Item.Name)
		c := entity.Must(d.bin.Get(w.Ctx, key))
		require.Equal(t, id+" 2", c.Item.Name)
		require.Len(t, entity.Must(d.past.List(key).Collect(w.Ctx)), 3)
		back := entity.Must(d.bin.Restore(w.Ctx, key))
		require.Equal(t, []string{id, id + " 2"}, []string{back.ID, back.Name})
	}
	w.sound()

	// Queries and scans see current items only.
	require.NoError(t, d.store.Delete(w.Ctx, w.make(Rival{Root: "r", ID: "A"})))
	found := func(q entity.Query[Shelf]) (all []string) {
		for _, v := range entity.Must(q.Collect(w.Ctx)) {
			all = append(all, v.ID)
		}
		require.Len(t, all, entity.Must(q.Count(w.Ctx)))
		return all
	}
	partition, byName := w.make(Rival{Root: "r"}), entity.Must(d.store.Index("byName"))
	require.ElementsMatch(t, ids[:4], found(d.store.Query(partition)))
	require.ElementsMatch(t, ids[2:4], found(d.store.Query(partition, entity.BeginsWith(&w.f.ID, "a#"))))
	require.ElementsMatch(t, ids[:4], found(d.store.Scan()))
	require.Equal(t, []string{"ab"}, found(byName.Query(w.make(Rival{Name: "ab 2"}))))
	require.Empty(t, found(byName.Query(w.make(Rival{Name: "ab"}))))

	stays := slices.DeleteFunc(w.Items(), func(it item) bool { // what is of the item "a"
		sk, _, _ := strings.Cut(strings.TrimPrefix(text(it, "sk"), w.sk()+"#"), "#")
		return sk == "a" || text(it, "pk") == w.sk()+".email#e0@x"
	})
	require.NoError(t, d.store.Purge(w.Ctx, w.make(Rival{Root: "r", ID: "a"})))
	require.ElementsMatch(t, stays, w.Items(), "a purge removes nothing of the others")
}

// Each verb that brings a value which another item has fails with the owner of the value, and writes nothing; the value itself
// is in no text of the error.
func TestNoVerbWritesAUniqueFieldWithoutItsClaim(t *testing.T) {
	t.Parallel()
	in[Plain](t, noBypass)
	in[Locked](t, noBypass)
	in[Free](t, noBypass)
}

func noBypass[T any](t *testing.T, w *world[T]) {
	if w.retain {
		w.add("back", "taken@x", "1")
		w.update("back", w.email("back@x"))
	}
	if w.soft {
		w.add("gone", "taken@x", "1")
		w.remove("gone")
	}
	w.add("owner", "taken@x", "1")
	w.add("a", "a@x", "1")
	p := Rival{ID: "a", Email: "taken@x"}
	writes := map[string]func() error{
		"create": w.creating(Rival{ID: "new", Email: "taken@x"}),
		"path":   w.updating("a", entity.Attr[string]("email").Set("taken@x")),
		"put":    func() error { _, err := w.store.Put(w.Ctx, w.make(p), over[T]()...); return err },
		"upsert": func() error { _, _, err := w.store.Upsert(w.Ctx, w.make(p)); return err },
		"modify": func() error {
			return dbtest.ErrorOf(w.store.Modify(w.Ctx, w.key("a"), func(v *T) error { w.at(v).Email = "taken@x"; return nil }))
		},
		"transact": func() error { return w.db.Transact(w.Ctx, w.store.Op().Update(w.key("a"), w.email("taken@x"))) },
		"two": func() error {
			return w.db.Transact(w.Ctx, w.store.Op().CheckExists(w.key("owner")), w.store.Op().Put(w.make(p), over[T]()...))
		},
		"new": func() error {
			return w.db.Transact(w.Ctx, w.store.Op().Create(w.make(Rival{ID: "new", Email: "taken@x"})), w.store.Op().Update(w.key("a"), w.name("2")))
		},
	}
	joined := w.store.Op().CheckExists(w.key("owner"))
	if w.soft {
		writes["restore"] = w.restoring("gone")
		writes["restore, joined"] = func() error { return w.db.Transact(w.Ctx, joined, w.bin.Op().Restore(w.key("gone"))) }
	}
	if w.retain {
		writes["revert"] = func() error { return dbtest.ErrorOf(w.past.Revert(w.Ctx, w.key("back"), 1)) }
		writes["revert, joined"] = func() error { return w.db.Transact(w.Ctx, joined, w.past.Op().Revert(w.key("back"), 1)) }
	}
	before, sentinels := w.Items(), len(w.sound().sentinels)
	for name, write := range writes {
		err := write()
		violation := dbtest.As[*unique.ViolationError](t, err, name)
		require.Equal(t, unique.ViolationError{Constraint: "email", Owner: unique.Owner{PK: w.pk("owner"), SK: w.sk()}}, *violation, name)
		require.ElementsMatch(t, before, w.Items(), "%s wrote something", name)
		for _, format := range []string{"%v", "%+v", "%#v", "%q"} {
			require.NotContains(t, fmt.Sprintf(format, err), "taken@", name)
		}
		_, image := entity.StoredItem[T](err)
		require.False(t, image, "a sentinel is no item of the entity")
	}
	w.Wire.Reset()
	var refused *entity.InputError
	require.ErrorAs(t, dbtest.ErrorOf(w.store.PutMany(w.Ctx, []T{w.make(p)}, entity.Unconditional())), &refused)
	require.ErrorAs(t, dbtest.ErrorOf(w.store.DeleteMany(w.Ctx, []T{w.key("a")}, entity.Unconditional())), &refused)
	require.Empty(t, w.Wire.Requests(), "what claims nothing is refused before any request")

	w.update("a", entity.Attr[string]("email").Set("b@x")) // and what they write is claimed, what they replace is free
	require.NoError(t, dbtest.ErrorOf(w.look.store.Upsert(w.Ctx, w.make(Rival{ID: "b", Email: "a@x"}))))
	require.NoError(t, dbtest.ErrorOf(w.look.store.Put(w.Ctx, w.make(Rival{ID: "b", Name: "without"}), over[T]()...)))
	require.Len(t, w.sound().sentinels, sentinels)
	w.add("c", "a@x", "c")
	w.update("c", entity.Remove(&w.f.Email))
	require.Len(t, w.sound().sentinels, sentinels)
}

func TestPurge_RemovesAnExpiredReservedCopy(t *testing.T) {
	w := open[Reserve](t)
	w.add("a", "a@x", "1")
	w.remove("a")
	w.Clock.Move(31 * 24 * time.Hour)
	w.written = nil
	require.NoError(t, w.store.Purge(w.Ctx, w.key("a")))
	require.Empty(t, w.Items())
}

func TestConflicts_ThatDoNotEndAreDefiniteErrorsAndReadsAreConsistent(t *testing.T) {
	w := open[Free](t, dbtest.Attempts(4))
	w.add("a", "a@x", "1")
	w.Wire.Inject(func(r faults.Request) faults.Fault {
		if isWrite(r) {
			return faults.Conflict
		}
		return faults.None
	})
	_, err := w.store.Update(w.Ctx, w.key("a"), w.name("never"))
	require.ErrorIs(t, err, entity.ErrConflict)
	require.False(t, entity.IsAmbiguous(err))
	w.Wire.Inject(nil)

	w.Wire.Reset()
	require.NoError(t, dbtest.ErrorOf(w.store.Update(w.Ctx, w.key("a"), w.email("b@x"))))
	require.NoError(t, w.store.Delete(w.Ctx, w.key("a")))
	require.NoError(t, dbtest.ErrorOf(w.bin.Restore(w.Ctx, w.key("a"))))
	require.NoError(t, dbtest.ErrorOf(w.past.Revert(w.Ctx, w.key("a"), 1)))
	require.NoError(t, dbtest.ErrorOf(w.past.Get(w.Ctx, w.key("a"), 1)))
	require.NoError(t, dbtest.ErrorOf(w.store.Create(w.Ctx, w.make(Rival{ID: "b"}))))
	require.NoError(t, w.store.Purge(w.Ctx, w.key("a")))
	reads := 0
	for _, r := range w.Wire.Requests() {
		if isWrite(r) {
			continue
		}
		var in struct{ ConsistentRead bool }
		require.NoError(t, json.Unmarshal(r.Body, &in))
		require.True(t, in.ConsistentRead, "%s", r.Body)
		reads++
	}
	require.Greater(t, reads, 8)
}

func TestSwap_OfTwoEmailsIsOneTransaction(t *testing.T) {
	t.Parallel()
	in[Plain](t, swapped)
	in[Locked](t, swapped)
	in[Free](t, swapped)
	in[Reserve](t, swapped)
}

// swapped exchanges addresses, alone and while others change what the transaction has read.
func swapped[T any](t *testing.T, w *world[T]) {
	w.add("a", "a@x", "1")
	w.add("b", "b@x", "1")
	swap := func(a, b string) func() error {
		return func() error {
			one, two := w.store.Op().Update(w.key("a"), w.email(b)), w.store.Op().Update(w.key("b"), w.email(a))
			err := w.db.Transact(w.Ctx, one, two)
			if err == nil {
				w.note(one.Result())
				w.note(two.Result())
			}
			return err
		}
	}
	has := func(a, b string) {
		t.Helper()
		x, _ := w.current("a")
		y, _ := w.current("b")
		require.Equal(t, []string{a, b}, []string{x.Email, y.Email})
		w.sound()
	}
	require.NoError(t, swap("a@x", "b@x")())
	has("b@x", "a@x")
	require.NoError(t, w.overtake(swap("b@x", "a@x"), func() { w.update("a", w.name("2")) }))
	has("a@x", "b@x")
	require.NoError(t, w.overtake(swap("a@x", "b@x"), func() { w.update("b", w.email("c@x")) }))
	has("b@x", "a@x")
	// What one of them gives up in between belongs to a third by the time of the swap.
	dbtest.As[*unique.ViolationError](t, w.overtake(swap("b@x", "a@x"), func() { w.update("b", w.email("d@x")); w.add("heir", "a@x", "heir") }))
	has("b@x", "d@x")
	// One of the two is gone.
	require.ErrorIs(t, w.overtake(swap("b@x", "d@x"), func() { w.remove("b") }), entity.ErrNotFound)
	x, _ := w.current("a")
	require.Equal(t, "b@x", x.Email)
	w.sound()
}

// give are the two halves of an exchange of addresses, each under the condition that the other's is still there.
func (w *world[T]) give(a, hasA, b, hasB string) func() error {
	return func() error {
		half := func(id, from, to string) entity.Write[T] {
			return w.store.Op().Update(w.key(id), w.email(to), entity.If(entity.Eq(&w.f.Email, from)))
		}
		return w.db.Transact(w.Ctx, half(a, hasA, hasB), half(b, hasB, hasA))
	}
}

// answers counts the answers that have come.
type answers struct {
	dynamodb.HTTPClient
	n atomic.Int64
}

func (a *answers) Do(r *http.Request) (*http.Response, error) {
	defer a.n.Add(1)
	return a.HTTPClient.Do(r)
}

// The reads of a swap are of different moments. An address that has moved from one item to the other in between is in both
// plans, and given up in both; that is no mistake of the caller.
func TestSwap_OfAValueThatMovesBetweenItsReads(t *testing.T) {
	w := open[Plain](t)
	w.add("a", "a@x", "1")
	w.add("b", "b@x", "1")
	got := &answers{HTTPClient: w.Wire}
	w.handles = w.open(dynamodb.New(w.Client.Options(), func(o *dynamodb.Options) { o.HTTPClient = got }))
	read := func(r faults.Request) bool {
		return r.Operation == "GetItem" && bytes.Contains(r.Body, []byte(w.pk("b")))
	}
	err := w.Overtake(dbtest.First(read), w.give("a", "c@x", "b", "d@x"), func() {
		for got.n.Load() == 0 { // until the other one has been read
			runtime.Gosched()
		}
		w.update("a", w.email("e@x"))
		w.update("b", w.email("a@x"))
	})
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	var mistake *entity.InputError
	require.NotErrorAs(t, err, &mistake)
	w.sound()
}

// One half of a swap was planned from an item that has changed since, and the other half fails for it.
func TestSwap_OfAValueThatItsOwnerGotMeanwhile(t *testing.T) {
	w := open[Plain](t)
	w.add("a", "a@x", "1")
	w.add("b", "", "1")
	require.NoError(t, w.overtake(w.give("a", "a@x", "b", "b@x"), func() { w.update("b", w.email("b@x")) }))
	x, _ := w.current("a")
	y, _ := w.current("b")
	require.Equal(t, []string{"b@x", "a@x"}, []string{x.Email, y.Email})
}

// With the last attempt, such a failure of the other half says nothing: the next plan would have given the value up.
func TestSwap_IsAConflictWhenItsLastPlanIsStale(t *testing.T) {
	w := open[Plain](t, func(c *entity.Config) { c.MaxAttempts = 1 })
	w.add("a", "a@x", "1")
	w.add("b", "", "1")
	err := w.overtake(func() error {
		return w.db.Transact(w.Ctx, w.store.Op().Update(w.key("a"), w.email("b@x")), w.store.Op().Update(w.key("b"), w.email("a@x")))
	}, func() { w.update("b", w.email("b@x")) })
	require.ErrorIs(t, err, entity.ErrConflict)
	var taken *unique.ViolationError
	require.NotErrorAs(t, err, &taken)
	w.sound()
}

// Items of another entity can take the key of one that was found.
func TestErase_LeavesAnItemOfAnotherEntity(t *testing.T) {
	for _, verb := range []string{"DeleteAll", "PurgeAll"} {
		o := newOffice[Red](t)
		blue := entity.Must(entity.New[Blue](o.Open(o.Raw)))
		o.fill(1, "ann")
		var done entity.Erased
		require.NoError(t, o.Overtake(dbtest.First(isWrite), func() (err error) {
			done, err = o.query("table", false)(o.Ctx, verb, "")
			return err
		}, func() {
			o.remove("ann-000")
			o.OK(blue.Create(o.Ctx, Blue{Mail: Mail{Box: "b", ID: "ann-000", State: "open"}}))
		}))
		require.Equal(t, entity.Erased{Found: 1, Changed: 1}, done)
		require.Len(t, o.Items(), 1)
	}
}

// Red and Blue share keys.
type Red struct {
	_ entity.Key `name:"Red" pk:"pk=BOX#{box}" sk:"sk={id}" kind:"colour=red"`
	Mail
}

type Blue struct {
	_ entity.Key `name:"Blue" pk:"pk=BOX#{box}" sk:"sk={id}" kind:"colour=blue"`
	Mail
}
