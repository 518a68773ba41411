package subject_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/subject"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

var people = []string{ada, bob, "cy-the-third"}

// a step is something that a program does, whether or not it succeeds.
func (l *lab) step(random *rand.Rand) {
	who, i := people[random.IntN(3)], random.IntN(6)
	other := people[random.IntN(3)]
	o, s := fmt.Sprint("o-", i), fmt.Sprint("s-", i)
	f, g, d := entity.Fields[order](), entity.Fields[session](), entity.Fields[device]()
	switch random.IntN(16) {
	case 0, 1:
		_, _ = l.Orders.Create(l.Ctx, order{ID: o, Customer: who, Number: fmt.Sprint("n-", random.IntN(8))})
	case 2, 3:
		_, _ = l.Orders.Update(l.Ctx, order{ID: o}, entity.Set(&f.Customer, who), entity.Set(&f.Amount, i))
	case 4:
		_ = l.Orders.Delete(l.Ctx, order{ID: o})
	case 5:
		_, _ = l.Bin.Restore(l.Ctx, order{ID: o})
	case 6:
		_, _ = l.Persons.Put(l.Ctx, person{ID: who, Email: fmt.Sprint("e-", random.IntN(5))})
	case 7:
		_ = l.Persons.Delete(l.Ctx, person{ID: who})
	case 8:
		_, _ = l.Papers.Put(l.Ctx, paper{Shelf: "s", ID: fmt.Sprint(i), Author: who, Readers: slices.Compact([]string{other, who})})
	case 9:
		_, _ = l.Papers.Put(l.Ctx, paper{Shelf: "s", ID: fmt.Sprint(i), Readers: []string{other}})
	case 10:
		_, _ = l.Sessions.Create(l.Ctx, session{ID: s, User: who})
	case 11:
		_, _ = l.Sessions.Update(l.Ctx, session{ID: s}, entity.Set(&g.User, who), entity.Set(&g.Page, o))
	case 12:
		_ = l.Sessions.Delete(l.Ctx, session{ID: s})
	case 13:
		_, _ = l.Trips.Append(l.Ctx, trip{Car: o, Driver: who, Km: i, At: dbtest.Start.Add(time.Duration(random.IntN(50)) * time.Second)})
	case 14:
		_, _ = l.Devices.Append(l.Ctx, device{ID: o, Level: i, At: dbtest.Start.Add(time.Duration(random.IntN(50)) * time.Second)})
		if random.IntN(2) == 0 {
			_, _ = l.Devices.Update(l.Ctx, device{ID: o}, entity.Set(&d.Owner, who))
		}
	case 15:
		if random.IntN(4) == 0 {
			l.Clock.Move(time.Duration(random.IntN(20)) * 10 * time.Minute)
		}
		if random.IntN(12) == 0 {
			l.Clock.Move(31 * 24 * time.Hour)
		}
	}
}

// home is what all items of one item have in common.
func home(it dbtest.Item) string {
	pk := dbtest.Text(it["pk"])
	if owner := dbtest.Text(it["_entity_pk"]); owner != "" {
		pk = owner
	}
	pk, _, _ = strings.Cut(pk, "#e#")
	if strings.Contains(pk, "#paper#") {
		pk += dbtest.Text(it["sk"])
	}
	return pk
}

// ofAda says in the model's own words whose a stored item is: alone, and among the readers of another's.
func ofAda(it dbtest.Item) (alone, among bool) {
	for _, name := range []string{"personId", "customer", "author", "driver", "owner", "user"} {
		alone = alone || dbtest.Text(it[name]) == ada
	}
	if set, ok := it["readers"].(*types.AttributeValueMemberSS); ok && slices.Contains(set.Value, ada) {
		alone, among = alone || len(set.Value) == 1, true
	}
	return alone, among
}

// After random lives, an erasure takes all that the model says is ada's, and leaves everything else as it is to the byte.
func TestModel_RandomLives(t *testing.T) {
	seed := testsize.Seed(t)
	for n := range testsize.Pick(12, 200) {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		l := newLab(t)
		for range 40 + random.IntN(150) {
			l.step(random)
		}
		before := l.ItemsByKey()
		claimed, valued := l.claims()
		whole, trips := map[string]bool{}, map[string]bool{} // homes that are ada's, and cars with events of others
		for _, it := range before {
			alone, _ := ofAda(it)
			name, kind := dbtest.Text(it["__edd_e__"]), dbtest.Text(it["_k"])
			if alone && (kind == "" && name != "Trip" || name == "Person") {
				whole[home(it)] = true
			}
			trips[home(it)] = trips[home(it)] || name == "Trip" && kind == "e" && !alone
		}
		dry, err := l.subjects(subject.Options{}).Erase(l.Ctx, subject.Request{ID: ada, DryRun: true})
		require.NoError(t, err)
		lines, _ := l.lines(l.subjects(subject.Options{}), subject.Request{ID: ada})
		require.Equal(t, before, l.ItemsByKey())
		r := l.erase(l.subjects(subject.Options{Segments: 1 + random.IntN(4)}), ada)
		after := l.ItemsByKey()
		gone, emptied := 0, 0
		for key, was := range before {
			is, there := after[key]
			alone, among := ofAda(was)
			name, kind := dbtest.Text(was["__edd_e__"]), dbtest.Text(was["_k"])
			switch {
			case dbtest.IsSentinel(was): // see below
			case !there:
				gone++
				assert.True(t, alone || whole[home(was)], "%s is gone", key)
			case name == "Trip" && kind == "" && alone && trips[home(was)], among && !alone:
				assert.Equal(t, was, is, key)
			case alone:
				emptied++
				assert.Equal(t, "v", kind, "%s is left", key)
				assert.Equal(t, "0", dbtest.Text(is["_omitted"]), key)
				assert.False(t, has(is, ada), key)
				assert.Equal(t, was["version"], is["version"])
				assert.Equal(t, was["_w"], is["_w"])
			default:
				assert.False(t, whole[home(was)], "%s is left", key)
				assert.Equal(t, was, is, key)
			}
		}
		for key := range after {
			assert.Contains(t, before, key)
		}
		claims := 0
		for key, was := range before {
			if dbtest.IsSentinel(was) && after[key] == nil {
				claims++
				assert.True(t, whole[home(was)] || dbtest.Text(was["__edd_e__"]) == "Session._unique.user" || l.copyGone(before, after, was), "%s is gone", key)
			}
		}
		erased, exported := 0, 0
		for i, e := range r.Entities {
			for kind, k := range e.Erased {
				if kind == subject.Claim {
					claims -= k
				} else {
					erased += k
				}
			}
			gone -= e.Erased["current"] + e.Erased["version"] + e.Erased["event"] + e.Erased["copy"]
			emptied -= e.Emptied["version"]
			assert.Equal(t, e.Erased, dry.Entities[i].Erased, "planned of %s", e.Entity)
			assert.Equal(t, e.Emptied, dry.Entities[i].Emptied, "planned of %s", e.Entity)
			assert.Equal(t, e.Left, dry.Entities[i].Left, "left of %s", e.Entity)
			for _, left := range e.Left {
				erased += left.Count
			}
			erased += e.Emptied["version"]
		}
		for _, line := range lines {
			if line.Kind != subject.Claim {
				exported++
			}
		}
		assert.Equal(t, [3]int{}, [3]int{gone, emptied, claims}, "not reported: items, emptied items, claims")
		assert.Equal(t, erased, exported)
		claimsNow, valuesNow := l.claims()
		for x := range valuesNow {
			assert.True(t, claimsNow[x] || !claimed[x], "%s has lost its claim", x)
		}
		for x := range claimsNow {
			assert.True(t, valuesNow[x] || !valued[x], "%s was left behind", x)
		}
		if t.Failed() {
			t.Fatalf("in history %d", n)
		}
	}
}

// copyGone reports whether a deleted copy with the value of a claim is gone, and no item of that home has it.
func (l *lab) copyGone(before, after map[string]dbtest.Item, claim dbtest.Item) bool {
	value := dbtest.Text(claim["pk"])
	value = value[strings.LastIndex(value, "#")+1:]
	with := func(all map[string]dbtest.Item) (n int) {
		for _, it := range all {
			kind := dbtest.Text(it["_k"])
			if home(it) == home(claim) && dbtest.Text(it["number"]) == value && (kind == "" || kind == "d") {
				n++
			}
		}
		return n
	}
	return with(before) > 0 && with(after) == 0
}
