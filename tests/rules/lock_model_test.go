package rules_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Page is what the locked entities have in common.
type Page struct {
	ID      string `dynamodbav:"id"`
	Book    string `dynamodbav:"book"`
	Note    string `dynamodbav:"note"`
	Author  string `dynamodbav:"author,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

type (
	LockedPlain struct {
		_ entity.Key `name:"Page" pk:"$#{id}" sk:"$"`
		_ entity.GSI `name:"list" index:"gsi1" pk:"$#{book}" sk:"$#{id}" project:"note"`
		_ entity.GSI `name:"keys" index:"gsi2" pk:"$#{book}" sk:"$#{id}" project:"keys"`
		_ versioned.Lock
		Page
		Created time.Time `dynamodbav:"created" entity:"created_at"`
	}
	LockedBin struct {
		_ entity.Key `name:"Page" pk:"$#{id}" sk:"$"`
		_ entity.GSI `name:"list" index:"gsi1" pk:"$#{book}" sk:"$#{id}" project:"note"`
		_ entity.GSI `name:"keys" index:"gsi2" pk:"$#{book}" sk:"$#{id}" project:"keys"`
		_ versioned.Lock
		_ lifecycle.SoftDelete
		Page
		Created *time.Time `dynamodbav:"created" entity:"created_at,time=unixms"`
		Gone    time.Time  `dynamodbav:"gone,omitempty" entity:"deleted_at"`
	}
	LockedEnding struct {
		_ entity.Key `name:"Page" pk:"$#{id}" sk:"$"`
		_ entity.GSI `name:"list" index:"gsi1" pk:"$#{book}" sk:"$#{id}" project:"note"`
		_ entity.GSI `name:"keys" index:"gsi2" pk:"$#{book}" sk:"$#{id}" project:"keys"`
		_ versioned.Lock
		_ lifecycle.TTL `attr:"ends" after:"1h"`
		Page
		Created time.Time `dynamodbav:"created" entity:"created_at,time=ms"`
	}
	LockedUnique struct {
		_ entity.Key `name:"Page" pk:"$#{id}" sk:"$"`
		_ entity.GSI `name:"list" index:"gsi1" pk:"$#{book}" sk:"$#{id}" project:"note"`
		_ entity.GSI `name:"keys" index:"gsi2" pk:"$#{book}" sk:"$#{id}" project:"keys"`
		_ versioned.Lock
		_ unique.Constraint `name:"note" fields:"note"`
		Page
		Created time.Time `dynamodbav:"created" entity:"created_at"`
	}
	LockedHistory struct {
		_ entity.Key `name:"Page" pk:"$#{id}" sk:"$"`
		_ entity.GSI `name:"list" index:"gsi1" pk:"$#{book}" sk:"$#{id}" project:"note"`
		_ entity.GSI `name:"keys" index:"gsi2" pk:"$#{book}" sk:"$#{id}" project:"keys"`
		_ versioned.Lock
		_ versioned.Retain
		Page
	}
)

// pageState is what an item is: which life, and which of its versions. The zero state is no item.
type pageState struct{ life, version int64 }

// heldPage is a struct that a program has kept, of the state that it was read in.
type heldPage[T any] struct {
	v  T
	of pageState
}

// library runs programs that keep structs of pages and write them back later, against a model.
type library[T any] struct {
	*dbtest.Bench
	t      *testing.T
	random *rand.Rand
	calm   *entity.Store[T] // without faults
	s      *entity.Store[T] // of the program
	db     *entity.DB
	bin    *lifecycle.Deleted[T]
	of     func(*T) *Page

	id, note    string
	now         pageState
	lives, lost int64 // lives so far
	copies      []int64
	held        []heldPage[T]
	applied     map[string]int
	log         []string
}

func (l *library[T]) new(note string) T {
	var v T
	*l.of(&v) = Page{ID: l.id, Book: "b-" + l.id, Note: note}
	return v
}

// look returns the page as it is stored, and whether it is there.
func (l *library[T]) look() (p Page, live bool) {
	v, err := l.calm.Get(l.t.Context(), l.new(""), entity.Consistent())
	if errors.Is(err, entity.ErrNotFound) {
		return p, false
	}
	require.NoError(l.t, err)
	return *l.of(&v), true
}

// observe takes over what is stored. A live item where none was has begun a life, unless it was restored.
func (l *library[T]) observe(restored bool) {
	p, live := l.look()
	switch {
	case !live:
		if l.now.life != 0 {
			l.copies = append(l.copies, l.now.life)
		}
		l.now = pageState{}
	case l.now.life == 0 && restored:
		l.now = pageState{l.copies[len(l.copies)-1], p.Version}
		l.copies = l.copies[:len(l.copies)-1]
	case l.now.life == 0:
		l.lives++
		l.now = pageState{l.lives, p.Version}
	default:
		l.now.version = p.Version
	}
	l.note = p.Note
}

func (l *library[T]) keep(v T, err error) {
	if err == nil {
		l.held = append(l.held, heldPage[T]{v, l.now})
	}
}

// read keeps a struct of the current state.
func (l *library[T]) read() {
	query := func(index string) {
		all, err := entity.Must(l.s.Index(index)).Query(l.new("")).Collect(l.t.Context())
		if err == nil && len(all) == 1 {
			l.keep(all[0], nil)
		}
	}
	switch l.random.IntN(4) {
	case 0:
		query("keys")
	case 1:
		query("list")
	default:
		l.keep(l.s.Get(l.t.Context(), l.new(""), entity.Consistent()))
	}
}

// write gives a kept struct to a verb. It must be applied if the struct is of the current state, and must not be otherwise.
func (l *library[T]) write(fault bool) {
	if len(l.held) == 0 {
		return
	}
	h, note := l.held[l.random.IntN(len(l.held))], fmt.Sprint("n", l.random.Uint64())
	p := l.of(&h.v)
	p.Note, p.Book = note, "b-"+l.id
	f := l.of(entity.Fields[T]())
	verb := []string{"Put", "Put", "Upsert", "Update", "Delete"}[l.random.IntN(5)]
	joined, version := l.random.IntN(2) == 0, p.Version
	var op entity.Op
	var result func() T
	write := func(w entity.Write[T]) { op, result = w, w.Result }
	var alone func(context.Context) (T, error)
	switch verb {
	case "Put":
		write(l.s.Op().Put(h.v))
		alone = func(ctx context.Context) (T, error) { return l.s.Put(ctx, h.v) }
	case "Upsert":
		write(l.s.Op().Upsert(h.v))
		alone = func(ctx context.Context) (T, error) { v, _, err := l.s.Upsert(ctx, h.v); return v, err }
	case "Update":
		write(l.s.Op().Update(h.v, entity.Set(&f.Note, note)))
		alone = func(ctx context.Context) (T, error) { return l.s.Update(ctx, h.v, entity.Set(&f.Note, note)) }
	case "Delete":
		op = l.s.Op().Delete(h.v)
		alone = func(ctx context.Context) (T, error) { return *new(T), l.s.Delete(ctx, h.v) }
	}
	before := l.now
	may := before == h.of && before.life != 0
	if version == 0 { // the number of the stored item is not known
		may = map[string]bool{"Put": before.life == 0, "Upsert": true, "Update": before.life != 0, "Delete": before.life != 0}[verb]
	}
	var v T
	var err error
	if joined {
		if err = l.db.Transact(l.t.Context(), op, l.s.Op().CheckNotExists(l.other())); err == nil && result != nil {
			v = result()
		}
	} else {
		v, err = alone(l.t.Context())
	}
	l.Wire.Inject(nil)
	l.observe(false)
	applied := verb == "Delete" && before.life != 0 && l.now.life == 0 || verb != "Delete" && l.note == note
	where := fmt.Sprintf("%s of %+v (version %d) at %+v, joined %t: %v; after %v", verb, h.of, version, before, joined, err, l.log)
	l.log = append(l.log, fmt.Sprintf("%s of %+v at %+v: %v", verb, h.of, before, err))
	switch {
	case !may:
		require.False(l.t, applied, where)
		require.Error(l.t, err, where)
		if !fault {
			require.True(l.t, errors.Is(err, entity.ErrConflict) || version == 0 && errors.Is(err, entity.ErrNotFound), where)
		}
		l.applied["stale "+verb]++
	case err == nil:
		require.True(l.t, applied, where)
		l.applied[verb]++
		if verb != "Delete" {
			if got := l.of(&v).Version; !joined || version != 0 || verb == "Put" {
				require.Equal(l.t, l.now.version, got, where)
			}
			l.keep(v, nil)
		}
	default:
		require.True(l.t, fault, where)
		l.lost++
	}
}

func (l *library[T]) other() T {
	v := l.new("")
	l.of(&v).ID = "none"
	return v
}

// happen is what others do.
func (l *library[T]) happen() {
	ctx, restored, f := l.t.Context(), false, l.of(entity.Fields[T]())
	var err error
	what := l.random.IntN(6)
	switch what {
	case 0, 1:
		_, err = l.calm.Create(ctx, l.new(fmt.Sprint("c", l.random.Uint64())))
	case 2:
		err = l.calm.Delete(ctx, l.new(""))
	case 3:
		_, err = l.calm.Update(ctx, l.new(""), entity.Set(&f.Author, fmt.Sprint(l.random.Uint64())))
	case 4:
		l.Clock.Move(time.Duration(l.random.IntN(2)) * time.Hour)
	default:
		if l.bin != nil && l.now.life == 0 && len(l.copies) > 0 {
			_, err = l.bin.Restore(ctx, l.new(""))
			restored = err == nil
		}
	}
	l.log = append(l.log, fmt.Sprintf("%d: %v", what, err))
	l.observe(restored)
}

func locked[T any](t *testing.T, of func(*T) *Page) {
	t.Parallel()
	b, _ := dbtest.OpenStore[T](t)
	b.Clock.Set(dbtest.Start, time.Millisecond)
	calm := dbtest.Declare[T](t, b.Open(b.Raw))
	var dbs [2]*entity.DB
	dbs[0] = b.DB
	dbs[1] = b.Open(b.Client, func(c *entity.Config) { c.Codec = entity.SDKCodec })
	seed, applied, lost := testsize.Seed(t), map[string]int{}, int64(0)
	for n := range testsize.Pick(12, 60) * int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1)) {
		l := &library[T]{
			Bench: b, t: t, random: rand.New(rand.NewPCG(seed, uint64(n))), calm: calm, db: dbs[n%2], of: of,
			id: fmt.Sprintf("p%d", n), applied: applied,
		}
		l.s = dbtest.Declare[T](t, l.db)
		if bin, err := lifecycle.Of(calm); err == nil {
			l.bin = bin
		}
		l.keep(l.s.Create(t.Context(), l.new(fmt.Sprint("first", n))))
		l.observe(false)
		l.held[0].of = l.now
		for range 24 {
			switch l.random.IntN(6) {
			case 0, 1:
				l.happen()
			case 2, 3:
				l.read()
			default:
				fault := l.random.IntN(2) == 0
				if fault {
					b.Wire.Inject(faults.Random(l.random.Uint64(), .3, faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost, faults.Twice))
				}
				l.write(fault)
				b.Wire.Inject(nil)
			}
		}
		lost += l.lost
	}
	t.Log(applied, "unknown or refused by faults:", lost)
	if testsize.Long() {
		for _, verb := range []string{"Put", "Upsert", "Update", "Delete"} {
			require.NotZero(t, applied[verb], verb)
			require.NotZero(t, applied["stale "+verb], verb)
		}
	}
}

// Whatever was read, from wherever, and whatever happened since: a struct of another state than the stored one is never applied, and one
// of the stored state is, if nothing fails.
func TestLock_AStaleStructIsNeverApplied(t *testing.T) {
	t.Parallel()
	t.Run("plain", func(t *testing.T) { locked(t, func(v *LockedPlain) *Page { return &v.Page }) })
	t.Run("bin", func(t *testing.T) { locked(t, func(v *LockedBin) *Page { return &v.Page }) })
	t.Run("ending", func(t *testing.T) { locked(t, func(v *LockedEnding) *Page { return &v.Page }) })
	t.Run("unique", func(t *testing.T) { locked(t, func(v *LockedUnique) *Page { return &v.Page }) })
	t.Run("history", func(t *testing.T) { locked(t, func(v *LockedHistory) *Page { return &v.Page }) })
}
