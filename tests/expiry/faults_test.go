package expiry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// stored returns the model of a table as it is stored.
func stored(items []dbtest.Item) *model {
	m := newModel()
	for _, it := range items {
		text := func(name string) string { return dbtest.Text(it[name]) }
		r := row{ID: text("id"), Code: text("code"), Note: text("note"), Ends: number(it, "ends"), version: number(it, "version")}
		switch {
		case dbtest.IsSentinel(it):
			m.claims[codeOf(it)] = claim{ownerOf(it), number(it, "ends")}
		case it["_k"] != nil:
			if m.states[r.ID] == nil {
				m.states[r.ID] = map[int64]past{}
			}
			p := past{row: r, deleted: it["_deleted"] != nil, until: r.Ends}
			p.Ends = number(it, "_ends")
			m.states[r.ID][r.version] = p
		default:
			m.items[r.ID] = r
		}
	}
	return m
}

// Each request of a write fails once, before it is applied or after. The write is then applied or not, as a whole, and its error
// says which, or that it is unknown.
func TestFaults_AtEachRequest(t *testing.T) {
	t.Parallel()
	end := func(l *lab[Pass], d int64) entity.UpdateOption { return entity.Set(&l.f.Ends, dawn.Unix()+d) }
	for name, write := range map[string]func(*lab[Pass]) error{
		"a claim of an expired item's value": func(l *lab[Pass]) error { return dbtest.ErrorOf(l.store.Create(l.Ctx, Pass{ID: "n", Code: "OLD"})) },
		"a new life of an expired item":      func(l *lab[Pass]) error { return dbtest.ErrorOf(l.store.Put(l.Ctx, Pass{ID: "old", Code: "OLD"})) },
		"an update that removes the end": func(l *lab[Pass]) error {
			return dbtest.ErrorOf(l.store.Update(l.Ctx, Pass{ID: "a"}, entity.Remove(&l.f.Ends)))
		},
		"a change of end and value by Modify": func(l *lab[Pass]) error {
			return dbtest.ErrorOf(l.store.Modify(l.Ctx, Pass{ID: "a"}, func(p *Pass) error { p.Ends, p.Code = p.Ends+9, "A2"; return nil }))
		},
		"a delete": func(l *lab[Pass]) error { return l.store.Delete(l.Ctx, Pass{ID: "a"}) },
		"a transaction": func(l *lab[Pass]) error {
			return l.DB.Transact(l.Ctx, l.store.Op().Create(Pass{ID: "n", Code: "OLD"}), l.store.Op().Update(Pass{ID: "a"}, end(l, 90000)))
		},
		"a repair": func(l *lab[Pass]) error {
			l.RemoveItem(l.Sentinel("A1"))
			return dbtest.ErrorOf(l.codes.Repair(l.Ctx))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open[Pass](t)
			for _, round := range testsize.Rounds(faults.Lost, faults.Throttle, faults.Twice, faults.Conflict, faults.InternalApplied, faults.Drop, faults.Cut) {
				hit := true
				for n := 1; hit; n++ {
					for _, it := range l.Items() {
						l.RemoveItem(it)
					}
					l.Clock.Set(dawn, 0)
					l.OK(l.store.Create(l.Ctx, Pass{ID: "old", Code: "OLD"}))
					l.Clock.Move(hour)
					l.OK(l.store.Create(l.Ctx, Pass{ID: "a", Code: "A1"}))
					before := describe(l.Items())
					l.Wire.Reset()
					hit = false
					fault := faults.Nth(n, round.At(n))
					l.Wire.Inject(func(r faults.Request) faults.Fault {
						f := fault(r)
						hit = hit || f != faults.None
						return f
					})
					err := write(l)
					l.Wire.Inject(nil)
					now := l.Clock.Now().Unix()
					require.Empty(t, stored(l.Items()).problems(now), "request %d: %v", n, round.At(n))
					after := describe(l.Items())
					switch {
					case err == nil && name != "a repair":
						require.NotEqual(t, before, after, "request %d: %v", n, round.At(n))
					case err != nil && !entity.IsAmbiguous(err):
						require.Equal(t, before, after, "request %d: %v: %v", n, round.At(n), err)
					}
					require.NoError(t, err, "a transaction is repeated under its token; request %d: %v", n, round.At(n))
				}
			}
		})
	}
}
