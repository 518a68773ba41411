package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Rules that always hold for what is stored.
const (
	ruleAttributes = "an item has every required attribute of its table, and none that the schema does not name"
	ruleIndex      = "the attributes of an index are its constant and the copy of a time"
	ruleSortKey    = "a sort key is the time in thirteen digits, and the batch"
	ruleExpiry     = "an end is in seconds, and follows from the formula"
	ruleProof      = "every reading has the proof of its batch, of its own device, and every proof its reading"
	ruleStored     = "every acknowledged reading is stored, and nothing else is"
	ruleSecret     = "no key, pepper or token is stored"
)

// expectation is what the clients know.
type expectation struct {
	acknowledged map[BatchID]submission // what was acknowledged, or answered as a duplicate
	sent         map[BatchID]submission // what was sent at all
	secrets      []secret
}

// attributes of each table: whether they are required.
var attributes = map[string]map[string]bool{
	"devices": {
		"hardware_id": true, "confirmation_id": true, "capabilities": true, "first_registered_at": true, "last_seen_at": true,
		"last_boot_id": true, "firmware_version": true, "friendly_name": false, "gsi1pk": true, "gsi1sk": true,
	},
	"device_readings": {
		"hardware_id": true, "ts_batch": true, "timestamp_ms": true, "batch_id": true, "boot_id": true, "firmware_version": true,
		"friendly_name": false, "sensors": true, "sensor_status": true, "expiration_time": false,
	},
	"processed_batches": {"batch_id": true, "hardware_id": true, "received_at": true, "expiration_time": true},
	"api_keys": {
		"key_id": true, "api_key_hash": true, "created_at": true, "last_used_at": false, "is_active": true, "description": false,
		"gsi1pk": true, "gsi1sk": true,
	},
}

// broken is an item that breaks a rule.
type broken struct{ rule, item string }

func (e *broken) Error() string { return e.rule + ": " + e.item }

// check returns an error for every rule that an item breaks.
func (all tables) check(retention time.Duration, want expectation) (errs []error) {
	fail := func(rule string, it item) { errs = append(errs, &broken{rule, text(it)}) }
	for _, t := range all.each() {
		for _, it := range t.items {
			if !fits(it, attributes[t.name]) {
				fail(ruleAttributes, it)
			}
			for _, s := range want.secrets {
				if strings.Contains(text(it), s.text) {
					fail(ruleSecret, it)
				}
			}
		}
	}
	for _, d := range all.devices {
		if str(d, "gsi1pk") != "devices" || str(d, "gsi1sk") != str(d, "last_seen_at") {
			fail(ruleIndex, d)
		}
	}
	for _, k := range all.keys {
		if str(k, "gsi1pk") != "api_keys" || str(k, "gsi1sk") != str(k, "created_at") {
			fail(ruleIndex, k)
		}
	}
	proofs := map[string]string{}
	for _, b := range all.batches {
		proofs[str(b, "batch_id")] = str(b, "hardware_id")
		at, err := time.Parse(time.RFC3339, str(b, "received_at"))
		if err != nil || num(b, "expiration_time") != at.Unix()+30*24*3600 {
			fail(ruleExpiry, b)
		}
	}
	for _, r := range all.readings {
		id := str(r, "batch_id")
		if str(r, "ts_batch") != fmt.Sprintf("%013d#%s", num(r, "timestamp_ms"), id) {
			fail(ruleSortKey, r)
		}
		if _, ends := r["expiration_time"]; ends != (retention > 0) || ends && num(r, "expiration_time") != num(r, "timestamp_ms")/1000+int64(retention/time.Second) {
			fail(ruleExpiry, r)
		}
		if proofs[id] != str(r, "hardware_id") {
			fail(ruleProof, r)
		}
		delete(proofs, id) // so a second reading of the batch finds no proof
		if s, sent := want.sent[BatchID(id)]; !sent || int64(s.TimestampMS) != num(r, "timestamp_ms") || string(s.BootID) != str(r, "boot_id") {
			fail(ruleStored, r)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(proofs)) {
		errs = append(errs, &broken{ruleProof, id})
	}
	return append(errs, all.missing(want)...)
}

// missing finds readings that were acknowledged and are not stored.
func (all tables) missing(want expectation) (errs []error) {
	stored := map[string]bool{}
	for _, r := range all.readings {
		stored[str(r, "batch_id")] = true
	}
	for _, id := range slices.Sorted(maps.Keys(want.acknowledged)) {
		if !stored[string(id)] {
			errs = append(errs, &broken{ruleStored, string(id)})
		}
	}
	return errs
}

func fits(it item, allowed map[string]bool) bool {
	for name := range it {
		if _, known := allowed[name]; !known {
			return false
		}
	}
	for name, required := range allowed {
		if _, there := it[name]; required && !there {
			return false
		}
	}
	return true
}

func str(it item, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func num(it item, name string) int64 {
	n, _ := it[name].(*types.AttributeValueMemberN)
	if n == nil {
		return -1
	}
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return -1
	}
	return i
}
