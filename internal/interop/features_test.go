package interop_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// The reasons of differences of features, as docs/interop.md gives them.
const (
	counted    = "Delete and restore each count the version on, and a delete is an update for `updated_at`."
	kept       = "A delete puts the deleted state, too, into the history where no lasting copy holds it, marked `_deleted: true`; there, the history has no deleted state before the restore."
	ttlLater   = "The snapshot of a new item has no time to live while its state is the current one; it counts from the write that replaces the state."
	unreplaced = "A restore leaves the history as it is; there, the snapshot of the last state is replaced by the deleted copy, with its `deletedAt`."
	siblings   = "Items of one partition have histories of their own: the keys of their snapshots and copies hold the whole sort key."
	begunAnew  = "Put keeps created_at, and counts the version on; put there begins again at now and 1."
	complete   = "Every write of an item with a history leaves a snapshot of the state it replaces, an upsert and a put too."
	heeded     = "A condition is checked on every path; there, not by a soft delete and not where unique values are given up."
	absent     = "No write of an absent item but Create, Put and Upsert makes one, and none makes one without its key parts."
	claimTTL   = "The sentinel of a constraint with `ttl` has a time to live, and a claim ends with it; there, it never does."
	released   = "Every write of a unique field claims the new value and gives up the old one, a put, an upsert and a change of a path too; an item's own value is no violation."
	once       = "An attribute that is written once cannot be removed."
	guarded    = "A condition on Create comes beside its guard; there, instead of it."
	pathSet    = "A change of a path is made on every path; there, not where the item has a history."
)

// outcome checks that a step ended as it was recorded.
func outcome(t *testing.T, st step, err error) {
	t.Helper()
	switch st.Outcome.Error.Tag {
	case "":
		require.NoError(t, err, st.Name)
	case "ItemNotFound":
		require.ErrorIs(t, err, entity.ErrNotFound, st.Name)
	case "ConditionalCheckFailed":
		failed := errors.Is(err, entity.ErrConditionFailed) || errors.Is(err, entity.ErrExists) || errors.Is(err, entity.ErrNotFound)
		require.True(t, failed, "%s: %v", st.Name, err)
	case "OptimisticLockError":
		var conflict *versioned.ConflictError
		require.ErrorAs(t, err, &conflict, st.Name)
		require.EqualValues(t, *st.Args.ExpectedVersion, conflict.Expected)
	case "UniqueConstraintViolation":
		var violation *unique.ViolationError
		require.ErrorAs(t, err, &violation, st.Name)
		require.Equal(t, st.Outcome.Error.Constraint, violation.Constraint)
	default:
		require.Fail(t, "an outcome that was not expected", "%s: %s", st.Name, st.Outcome.Error.Tag)
	}
}

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
