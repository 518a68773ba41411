package main

import (
	"fmt"
	"strings"
)

// Rules that always hold for the whole table.
const (
	ruleClaim    = "every address of a record that claims it has a sentinel which names the record"
	ruleSentinel = "every sentinel names a record that has the address"
	ruleVersions = "the versions of a record have no gap and no double"
	ruleIndex    = "current items are in the index, and nothing else is"
	ruleExpiry   = "no current item expires, and every deleted copy does"
)

// check returns a violation for every rule that a row breaks.
func (all rows) check() (broken []error) {
	rule := func(r row, rule string) { broken = append(broken, &violation{r.brief(), rule}) }
	claims, versions := map[string]string{}, map[string][]int64{} // by entity and value; by record
	for _, r := range all {
		if r.kind() == sentinel {
			claims[r.constraint()+r.claimed()] = r.owner()
		}
	}
	for _, r := range all {
		switch r.kind() {
		case sentinel:
			if !all.has(r.owner(), r.claimed()) {
				rule(r, ruleSentinel)
			}
			continue
		case snapshot, deleted, current:
			versions[r.PK] = append(versions[r.PK], r.Version)
		}
		if r.claims() && claims[r.constraint()+r.Email] != r.owner() {
			rule(r, ruleClaim)
		}
		if indexed := r.IndexKey != ""; indexed != (r.kind() == current && r.Entity == "Employee") {
			rule(r, ruleIndex)
		}
		if expires := r.TTL != 0; r.kind() == current && expires || r.kind() == deleted && !expires {
			rule(r, ruleExpiry)
		}
	}
	for _, r := range all {
		if numbers := versions[r.PK]; numbers != nil {
			delete(versions, r.PK)
			if !gapless(numbers) {
				rule(r, fmt.Sprintf("%s: %v", ruleVersions, numbers))
			}
		}
	}
	return broken
}

// claims reports whether the record claims the address: a live record always does, a deleted one with the policy reserve.
func (r row) claims() bool {
	return r.kind() == current || r.kind() == deleted && r.Entity == "Contractor"
}

// constraint is the entity whose addresses must be unique.
func (r row) constraint() string {
	name, _, _ := strings.Cut(r.Entity, ".")
	return name + " "
}

// has reports whether a record has an address, live, or deleted with the policy reserve.
func (all rows) has(owner, email string) bool {
	for _, r := range all {
		if r.claims() && r.owner() == owner && r.Email == email {
			return true
		}
	}
	return false
}

// gapless reports whether the numbers are 1 to n. Only the newest state may appear twice: it may have a snapshot already.
func gapless(numbers []int64) bool {
	count, highest := map[int64]int{}, int64(0)
	for _, n := range numbers {
		count[n]++
		highest = max(highest, n)
	}
	for n := int64(1); n <= highest; n++ {
		if count[n] == 0 || count[n] > 1 && n != highest || count[n] > 2 {
			return false
		}
	}
	return highest > 0
}
