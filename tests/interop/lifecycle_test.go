package interop_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// person is the model of the employees.
type person struct {
	EmployeeID  string    `dynamodbav:"employeeId"`
	TenantID    string    `dynamodbav:"tenantId" entity:"immutable"`
	Email       string    `dynamodbav:"email"`
	DisplayName string    `dynamodbav:"displayName" entity:"required"`
	Department  string    `dynamodbav:"department"`
	Version     int64     `dynamodbav:"version" entity:"version"`
	CreatedAt   time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt   time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

type employee struct {
	_ entity.Key           `name:"Employee" pk:"$#employeeid_{employeeId}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#tenantid_{tenantId}" sk:"$#department_{department}#employeeid_{employeeId}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	person
}

type uniqueEmployee struct {
	_ entity.Key           `name:"Employee" pk:"$#employeeid_{employeeId}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#tenantid_{tenantId}" sk:"$#department_{department}#employeeid_{employeeId}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`
	person
}

func TestReplay_Lifecycle(t *testing.T) {
	t.Parallel()
	replayLifecycle(t, "lifecycle-no-unique", func(e *employee) *person { return &e.person })
}

func TestReplay_LifecycleWithUniqueValues(t *testing.T) {
	t.Parallel()
	replayLifecycle(t, "lifecycle-free-ttl", func(e *uniqueEmployee) *person { return &e.person })
}

// lifecycleDifferences are those of an employee who is deleted, restored and purged, and of another who is deleted and
// purged.
func lifecycleDifferences(t *testing.T, r *replay) {
	t.Helper()
	const alice, bob = "_emp-alice", "_emp-bob"
	// state is the deleted state as the history has it.
	state := func(step, pk, last string) stored {
		gone, snapshot := deletedCopy(r.deletion(t, step, pk)), r.recorded(t, step, pk, "#v#"+last)
		sk := strings.TrimSuffix(snapshot.text("sk"), last) + gone.version()
		return gone.with("sk", "S", sk).with("_ttl", "N", snapshot["_ttl"]["N"]).with("_deleted", "BOOL", true)
	}
	last := r.deletion(t, "delete-alice", alice).version()
	before := r.recorded(t, "delete-alice", alice, "#v#"+last)
	copies := func(pk string) func([]stored) []stored {
		return func(items []stored) []stored {
			for i, it := range items {
				if strings.HasSuffix(it.text("pk"), pk) && strings.Contains(it.text("sk"), "#deleted#") {
					items[i] = deletedCopy(it)
				}
			}
			return items
		}
	}
	// The last steps before the restore, the second delete, and Alice's purge.
	const deleted, restored, end = "query-tenant-while-deleted", "query-tenant-after-restore", "restore-purged"
	lasting := func(it stored) stored { return it.with("_ttl", "", nil) }
	r.differences = []difference{
		{"put-alice", "put-bob", ttlLater, one(alice, "#v#0000001", lasting)},
		{"put-bob", restored, ttlLater, one(bob, "#v#0000001", lasting)},
		{"delete-alice", deleted, counted, copies(alice)},
		{"delete-alice", end, kept, plus(state("delete-alice", alice, last))},
		{"restore", end, counted, one(alice, "#employee", func(it stored) stored { return upped(it, "version") })},
		{"restore", end, unreplaced, one(alice, "#v#"+last, func(stored) stored { return before })},
		at("delete-bob", counted, copies(bob)),
		at("delete-bob", kept, plus(state("delete-bob", bob, "0000001"))),
	}
}

func replayLifecycle[T any](t *testing.T, name string, of func(*T) *person) {
	t.Helper()
	r := newReplay(t, name)
	lifecycleDifferences(t, r)
	s := store[T](t, r)
	bin := entity.Must(lifecycle.Of(s))
	history := entity.Must(versioned.Of(s))
	byTenant := entity.Must(s.Index("byTenant"))
	r.create(t)
	f := of(entity.Fields[T]())
	r.steps(t, func(st step) {
		key := func() T { return args[T](t, st.Args.Key) }
		same := func(want json.RawMessage, got T, deleted, restored bool) {
			t.Helper()
			w := args[T](t, want)
			if deleted || restored {
				of(&w).Version++
			}
			if deleted {
				of(&w).UpdatedAt = of(&got).UpdatedAt
			}
			require.Equal(t, w, got, st.Name)
		}
		restored := st.Step > r.named(t, "restore").Step
		switch st.Op {
		case "put":
			got, err := s.Put(r.Ctx, args[T](t, st.Args.Input))
			require.NoError(t, err)
			same(st.Outcome.OK, got, false, false)
		case "update":
			var changes []entity.UpdateOption
			if v, ok := st.Args.Set["displayName"]; ok {
				changes = append(changes, entity.Set(&f.DisplayName, v.(string)))
			}
			if v, ok := st.Args.Set["email"]; ok {
				changes = append(changes, entity.Set(&f.Email, v.(string)))
			}
			got, err := s.Update(r.Ctx, key(), changes...)
			if outcome(t, st, err); err == nil {
				same(st.Outcome.OK, got, false, false)
			}
		case "delete":
			outcome(t, st, s.Delete(r.Ctx, key()))
		case "get":
			got, err := s.Get(r.Ctx, key())
			if outcome(t, st, err); err == nil {
				same(st.Outcome.OK, got, false, true)
			}
		case "deleted.get", "deleted.list":
			got, err := bin.List(key()).Collect(r.Ctx)
			require.NoError(t, err)
			first, err := bin.Get(r.Ctx, key())
			require.NoError(t, err)
			require.Equal(t, []lifecycle.DeletedItem[T]{first}, got)
			want := st.Outcome.OK
			if st.Op == "deleted.list" {
				var list []json.RawMessage
				require.NoError(t, json.Unmarshal(want, &list))
				want = list[0]
			}
			same(want, first.Item, true, false)
			var deletion struct{ DeletedAt time.Time }
			require.NoError(t, json.Unmarshal(want, &deletion))
			require.Equal(t, deletion.DeletedAt, first.DeletedAt)
			require.Equal(t, deletion.DeletedAt.Add(30*24*time.Hour), first.ExpiresAt)
		case "restore":
			got, err := bin.Restore(r.Ctx, key())
			if st.Name == "restore-not-deleted" { // where effect-dynamodb finds nothing
				require.ErrorIs(t, err, entity.ErrNotDeleted)
			} else if outcome(t, st, err); err == nil {
				same(st.Outcome.OK, got, false, true)
			}
		case "query":
			got, err := byTenant.Query(args[T](t, st.Args.Composites)).Collect(r.Ctx)
			require.NoError(t, err)
			var list []json.RawMessage
			require.NoError(t, json.Unmarshal(st.Outcome.OK, &list))
			require.Len(t, got, len(list))
			for i := range got {
				same(list[i], got[i], false, restored && of(&got[i]).EmployeeID == "emp-alice")
			}
		case "versions", "getVersion":
			recorded(t, r, history, st, key(), same)
		case "purge":
			require.NoError(t, bin.Purge(r.Ctx, key()))
		default:
			require.Fail(t, "no such operation", st.Op)
		}
	})
	require.Empty(t, r.dump(t))
}

// recorded compares versions with those that were recorded. Here the newest of them is a deleted state, which the
// history has no counterpart of there.
func recorded[T any](t *testing.T, r *replay, h *versioned.History[T], st step, key T, same func(json.RawMessage, T, bool, bool)) {
	t.Helper()
	if st.Op == "getVersion" {
		got, err := h.Get(r.Ctx, key, st.Args.Version)
		if outcome(t, st, err); err == nil {
			same(st.Outcome.OK, got.Item, false, false)
			require.False(t, got.Deleted)
		}
		return
	}
	list := []json.RawMessage{}
	if err := json.Unmarshal(st.Outcome.OK, &list); err != nil {
		page := struct{ Items []json.RawMessage }{}
		require.NoError(t, errors.Join(json.Unmarshal(st.Outcome.OK, &page)))
		list = page.Items
	}
	opts := []versioned.ListOption{}
	if st.Args.Reverse {
		opts = append(opts, entity.Desc())
	}
	got, err := h.List(key, opts...).Collect(r.Ctx)
	require.NoError(t, err)
	deleted := len(got) - 1
	if st.Args.Reverse {
		deleted = 0
	}
	require.True(t, got[deleted].Deleted)
	got = append(got[:deleted:deleted], got[deleted+1:]...)
	if st.Args.Limit > 0 {
		got = got[:st.Args.Limit]
	}
	require.Len(t, got, len(list))
	for i := range got {
		require.False(t, got[i].Deleted)
		same(list[i], got[i].Item, false, false)
	}
}
