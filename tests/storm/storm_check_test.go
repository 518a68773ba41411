package storm_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// denied are the ways in which a table contradicts what writers got as results.
func (s *storm[T]) denied(d dump) (problems []string) {
	prefix := "$app#v1#"
	for at := range d.beings {
		prefix = at.pk[:strings.LastIndexByte(at.pk, '#')+1]
	}
	byID := map[string][]*ack{}
	for _, a := range s.acks {
		byID[a.id] = append(byID[a.id], a)
	}
	for n := range stormKeys {
		id := fmt.Sprintf("k%d", n)
		b := d.beings[address{prefix + id, strings.TrimSuffix(prefix, "#")}]
		if b == nil {
			b = &being{}
		}
		for _, p := range denials(s.traits, b, byID[id]) {
			problems = append(problems, id+": "+p)
		}
	}
	return problems
}

func denials(k traits, b *being, acks []*ack) []string {
	if k.retain {
		return contradictions(b, acks)
	}
	return lost(b, acks)
}

// contradictions compares a history with the writes of one item: every state that a write returned is stored as it was
// returned, follows from the one before it, and was made by a write.
func contradictions(b *being, acks []*ack) (all []string) {
	purged, unsure, deletes, seen := 0, 0, 0, map[int64]bool{}
	for _, a := range acks {
		switch {
		case a.verb == "purge":
			purged = max(purged, a.ended)
		case a.unsure:
			unsure++
		case a.verb == "delete":
			deletes++
		}
	}
	for _, a := range acks {
		if a.unsure || a.verb == "delete" || a.verb == "purge" || purged > a.began {
			continue // a purge that ended later may have removed it
		}
		all = append(all, contradiction(b, a)...)
		if seen[a.state.version] {
			all = append(all, fmt.Sprintf("version %d was given twice", a.state.version))
		}
		seen[a.state.version] = true
	}
	highest, deleted := int64(0), 0
	for n := int64(1); b.state(n) != nil; n++ {
		highest = n
		if text(b.state(n), "deletedAt") != "" {
			deleted++
		}
	}
	if purged == 0 {
		if n := int(highest) - len(seen) - deletes; n < 0 || n > unsure {
			all = append(all, fmt.Sprintf("%d versions, but %d writes and %d deletes succeeded and %d may have", highest, len(seen), deletes, unsure))
		}
		if n := deleted - deletes; n < 0 || n > unsure {
			all = append(all, fmt.Sprintf("%d deleted states, but %d deletes", deleted, deletes))
		}
	}
	return all
}

// contradiction compares one write with the state that it says it wrote, and with the one before.
func contradiction(b *being, a *ack) (all []string) {
	it, before := b.state(a.state.version), b.state(a.state.version-1)
	is := func(it item, p Person) bool { return text(it, "email") == p.Email && text(it, "name") == p.Name }
	what := fmt.Sprintf("%s to version %d", a.verb, a.state.version)
	switch {
	case it == nil:
		return []string{what + " is lost"}
	case !is(it, a.state.Person) || text(it, "updatedAt") != a.state.UpdatedAt.Format(fixed) || text(it, "createdAt") != a.state.CreatedAt.Format(fixed):
		return []string{what + " is stored as something else"}
	case a.email || a.name:
		if before == nil || text(before, "deletedAt") != "" {
			all = append(all, what+" follows no live state")
		} else if !a.email && text(before, "email") != a.state.Email || !a.name && text(before, "name") != a.state.Name {
			all = append(all, what+" took back what the version before it had")
		}
	case strings.HasPrefix(a.verb, "restore"):
		if before == nil || text(before, "deletedAt") == "" || !is(before, a.state.Person) {
			all = append(all, what+" does not bring back the deleted state")
		}
	case a.verb == "create":
		if before != nil {
			all = append(all, what+" follows another state")
		}
	}
	return all
}

// lost compares the current item with the writes of the same life: whatever has been added to its log since it was
// stored whole is still there, and no version was given twice.
func lost(b *being, acks []*ack) (all []string) {
	type life struct {
		created string
		version int64
	}
	given := map[life]string{}
	top := map[string]int64{}
	count, unsure := map[string]int64{}, int64(0)
	for _, a := range acks {
		if a.unsure {
			unsure++
			continue
		}
		if a.verb == "delete" || a.verb == "purge" {
			continue
		}
		created := a.state.CreatedAt.Format(fixed)
		if n := a.state.version; n > 0 {
			if other, again := given[life{created, n}]; again {
				all = append(all, fmt.Sprintf("%s and %s were both given version %d", other, a.verb, n))
			}
			given[life{created, n}] = a.verb
			top[created] = max(top[created], n)
			count[created]++
		}
		if b.current == nil || text(b.current, "createdAt") != created {
			continue
		}
		if text(b.current, "root") == a.state.Root {
			for _, mark := range a.state.Log {
				if !slices.Contains(log(b.current), mark) {
					all = append(all, fmt.Sprintf("%s saw %s, which is lost", a.verb, mark))
				}
			}
		}
	}
	if n := number(b.current, "version"); n > 0 {
		top[text(b.current, "createdAt")] = n
	}
	missing := int64(0)
	for created, n := range top {
		missing += max(n-count[created], 0)
		if count[created] > n {
			all = append(all, fmt.Sprintf("version %d after %d writes", n, count[created]))
		}
	}
	if missing > unsure {
		all = append(all, fmt.Sprintf("%d versions that no writer got, %d unsure writes", missing, unsure))
	}
	return all
}

func log(it item) []string {
	set, _ := it["log"].(*types.AttributeValueMemberSS)
	if set == nil {
		return nil
	}
	return set.Value
}
