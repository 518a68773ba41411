package conformance_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// address is a primary key.
type address struct{ pk, sk string }

// being is everything in a table that belongs to one item.
type being struct {
	current   item
	snapshots map[int64]item
	copies    []item
}

// contents is a table, sorted by what its items are, from their keys alone.
type contents struct {
	beings    map[address]*being
	sentinels map[address]item
}

// sorted makes contents of items.
func sorted(items []item) (contents, error) {
	d := contents{map[address]*being{}, map[address]item{}}
	of := func(pk, sk string) *being {
		a := address{pk, sk}
		if d.beings[a] == nil {
			d.beings[a] = &being{snapshots: map[int64]item{}}
		}
		return d.beings[a]
	}
	for _, it := range items {
		pk, sk := text(it, "pk"), text(it, "sk")
		if strings.Contains(text(it, "__edd_e__"), "._unique.") {
			d.sentinels[address{pk, sk}] = it
		} else if base, version, ok := strings.Cut(sk, "#v#"); ok {
			n, err := strconv.ParseInt(strings.TrimPrefix(version, "~"), 10, 64)
			if err != nil || n != number(it, "version") {
				return d, fmt.Errorf("the snapshot %s holds version %d", sk, number(it, "version"))
			}
			of(pk, base).snapshots[n] = it
		} else if base, at, ok := strings.Cut(sk, "#deleted#"); ok {
			if at != text(it, "deletedAt") {
				return d, fmt.Errorf("the copy %s was deleted at %s", sk, text(it, "deletedAt"))
			}
			b := of(pk, base)
			b.copies = append(b.copies, it)
		} else {
			of(pk, sk).current = it
		}
	}
	return d, nil
}

func text(it item, name string) string { return dbtest.Text(it[name]) }

func number(it item, name string) int64 {
	n, _ := it[name].(*types.AttributeValueMemberN)
	if n == nil {
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return -1
	}
	return v
}

// sound checks a table as it is stored against everything that must hold at every moment, and against what the test's
// writers got as results.
func (w *world[T]) sound() contents {
	w.T.Helper()
	d, err := sorted(w.Items())
	require.NoError(w.T, err)
	problems := d.problems(w.declares)
	if w.retain {
		problems = append(problems, d.missing(w.written)...)
	}
	if !assert.Empty(w.T, problems) {
		w.T.FailNow()
	}
	return d
}

// problems are the invariants that the table breaks, sorted.
func (d contents) problems(k declares) []string {
	all := d.ownership(k)
	for at, b := range d.beings {
		for _, p := range append(b.versions(k), b.shape(k)...) {
			all = append(all, at.pk+": "+p)
		}
	}
	slices.Sort(all)
	return all
}

// right is an item's right to a value.
type right struct {
	owner address
	email string
}

// ownership compares live e-mail addresses, and those of reserved copies, with the sentinels.
func (d contents) ownership(k declares) (all []string) {
	live, claims := map[string]address{}, map[right]bool{}
	for at, b := range d.beings {
		if email := text(b.current, "email"); email != "" {
			if other, twice := live[email]; twice {
				all = append(all, fmt.Sprintf("%s and %s have %s", min(at.pk, other.pk), max(at.pk, other.pk), email))
			}
			live[email] = at
			claims[right{at, email}] = true
		}
		for _, c := range b.copies {
			if email := text(c, "email"); email != "" && k.reserve {
				claims[right{at, email}] = true
			}
		}
	}
	for at, s := range d.sentinels {
		_, email, _ := strings.Cut(at.pk, ".email#")
		c := right{address{text(s, "_entity_pk"), text(s, "_entity_sk")}, email}
		if !claims[c] {
			all = append(all, fmt.Sprintf("the sentinel of %s names %s, which does not have it", email, c.owner.pk))
		}
		delete(claims, c)
	}
	for c := range claims {
		if !k.lease { // a lease can have ended
			all = append(all, fmt.Sprintf("%s has %s without a sentinel", c.owner.pk, c.email))
		}
	}
	return all
}

// shape checks what each kind of stored item must and must not have.
func (b *being) shape(k declares) (all []string) {
	if _, expires := b.current["_ttl"]; expires {
		all = append(all, "the current item expires")
	}
	if text(b.current, "deletedAt") != "" {
		all = append(all, "the current item has deletedAt")
	}
	if len(b.copies) > 0 && !k.soft {
		all = append(all, "there is a deleted copy")
	}
	if len(b.copies) > 0 && b.current != nil && (k.retain || k.reserve) {
		all = append(all, "there are a deleted copy and a current item")
	}
	for _, c := range b.copies {
		if text(c, "_k") != "d" || text(c, "_op") != "" {
			all = append(all, "a deleted copy is not marked as one")
		}
	}
	for n, s := range b.snapshots {
		_, deleted := s["_deleted"]
		if text(s, "_k") != "v" || text(s, "_op") != "" || deleted != (text(s, "deletedAt") != "") {
			all = append(all, fmt.Sprintf("snapshot %d is not marked as what it is", n))
		}
	}
	return all
}

// versions checks that the states of an item follow each other without a gap, and that two stored states of one
// version are the same state.
func (b *being) versions(k declares) (all []string) {
	if !k.retain {
		return nil
	}
	states, lowest, highest := map[int64]item{}, int64(0), int64(0)
	add := func(n int64, it item) {
		if other, twice := states[n]; twice && !same(other, it) {
			all = append(all, fmt.Sprintf("there are two states of version %d", n))
		}
		states[n] = it
		if lowest == 0 || n < lowest {
			lowest = n
		}
		highest = max(highest, n)
	}
	for n, s := range b.snapshots {
		add(n, s)
	}
	for _, c := range b.copies {
		add(number(c, "version"), c)
	}
	last := b.current
	if last == nil && len(b.copies) > 0 {
		last = b.copies[len(b.copies)-1]
	}
	if b.current != nil {
		add(number(b.current, "version"), b.current)
	}
	if last != nil && number(last, "version") != highest {
		all = append(all, fmt.Sprintf("version %d is not the last state, but version %d", highest, number(last, "version")))
	}
	for n := lowest; n <= highest; n++ {
		if states[n] == nil {
			all = append(all, fmt.Sprintf("version %d is missing between %d and %d", n, lowest, highest))
		}
	}
	if last == nil && highest > 0 && states[highest]["_deleted"] == nil {
		all = append(all, fmt.Sprintf("the item is gone, but its last version, %d, was not deleted", highest))
	}
	return all
}

// same reports that two stored items are one state: a touch aside, everything that is the model's is equal.
func same(a, b item) bool {
	for _, name := range []string{"id", "email", "name", "createdAt", "updatedAt", "deletedAt"} {
		if text(a, name) != text(b, name) {
			return false
		}
	}
	return number(a, "version") == number(b, "version")
}

// fixed is a time as it is stored.
const fixed = "2006-01-02T15:04:05.000000000Z"

// missing finds returned states that the history lacks or has with other content.
func (d contents) missing(all []written) (problems []string) {
	for _, x := range all {
		found := false
		for at, b := range d.beings {
			if !strings.HasSuffix(at.pk, "#"+x.ID) {
				continue
			}
			it := b.state(x.version)
			found = it != nil && text(it, "email") == x.Email && text(it, "name") == x.Name && text(it, "deletedAt") == "" &&
				text(it, "createdAt") == x.CreatedAt.Format(fixed) && text(it, "updatedAt") == x.UpdatedAt.Format(fixed)
		}
		if !found {
			problems = append(problems, fmt.Sprintf("version %d of %s is not stored as its writer got it: %+v", x.version, x.ID, x.Rival))
		}
	}
	return problems
}

// state is the stored state of a version, nil for none.
func (b *being) state(version int64) item {
	for _, it := range append(slices.Clone(b.copies), b.current) {
		if it != nil && number(it, "version") == version {
			return it
		}
	}
	return b.snapshots[version]
}
