package interop_test

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// The reasons of differences of features, as docs/interop.md gives them.
const (
	counted    = "Delete and restore each add one to the version, and a delete sets `updated_at`."
	kept       = "A delete also puts the deleted state into the history, marked `_deleted: true`, unless a copy keeps it for ever; there, the history has no deleted state before the restore."
	ttlLater   = "The snapshot of a new item has no time to live while its state is current; the time starts with the write that replaces the state."
	unreplaced = "A restore does not change the history; there, the deleted copy, with its `deletedAt`, replaces the snapshot of the last state."
	siblings   = "Items of one partition have separate histories: the keys of their snapshots and copies hold the whole sort key."
	begunAgain = "Put keeps created_at and adds one to the version; there, put starts again at now and 1."
	complete   = "Every write of an item with a history, including upsert and put, leaves a snapshot of the state that it replaces."
	heeded     = "Every verb checks its condition; there, a soft delete and a write that gives up unique values do not."
	absent     = "Only Create, Put and Upsert create an item, and none creates one without its key parts."
	claimTTL   = "The sentinel of a constraint with `ttl` has a time to live, and the claim ends with it; there, it never ends."
	released   = "Every write of a unique field, including put, upsert and a change of a nested path, claims the new value and gives up the old one; an item's own value is not a violation."
	once       = "An attribute that is written once cannot be removed."
	guarded    = "A condition on Create is added to its guard; there, it replaces the guard."
	pathSet    = "A change of a nested path is always made; there, not if the item has a history."
)

// keyOf is the key that a step is about; zero when it has none.
func keyOf[T any](t *testing.T, st step) T {
	t.Helper()
	if len(st.Args.Key) == 0 {
		var none T
		return none
	}
	return args[T](t, st.Args.Key)
}

// one makes an edit of all items of a change of those whose key ends with pk and sk.
func one(pk, sk string, change func(stored) stored) func([]stored) []stored {
	return func(items []stored) []stored {
		for i, it := range items {
			if strings.HasSuffix(it.text("pk"), pk) && strings.HasSuffix(it.text("sk"), sk) {
				items[i] = change(it)
			}
		}
		return items
	}
}

// plus makes an edit that adds items.
func plus(more ...stored) func([]stored) []stored {
	return func(items []stored) []stored { return append(items, more...) }
}

// seconds is a time as a time to live has it.
func seconds(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// upped is it with a version one higher.
func upped(it stored, field string) stored {
	n, err := strconv.Atoi(it[field]["N"].(string))
	if err != nil {
		panic(err) // it was recorded as a number
	}
	return it.with(field, "N", strconv.Itoa(n+1))
}

// deletedCopy is a recorded copy as it is stored here, where a delete is counted.
func deletedCopy(it stored) stored {
	return upped(it, "version").with("updatedAt", "S", it.text("deletedAt"))
}
