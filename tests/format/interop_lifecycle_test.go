package format_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
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
	replayLifecycle[employee](t, "lifecycle-no-unique")
	replayLifecycle[uniqueEmployee](t, "lifecycle-free-ttl")
}

// lifecycleDifferences are those of an employee who is deleted, restored and purged, and of another who is deleted and
// purged.
func lifecycleDifferences(t *testing.T, r *replay) []difference {
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
	return []difference{
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

func replayLifecycle[T any](t *testing.T, name string) {
	t.Helper()
	p := newPlayer[T](t, name)
	p.differences = lifecycleDifferences(t, p.replay)
	restore := p.named(t, "restore").Step
	p.adjust = func(st step, want *T) {
		if e := dbtest.Embedded[person](want); st.Step >= restore && e.EmployeeID == "emp-alice" {
			e.Version++ // a delete was counted
		}
	}
	deleted := func(st step) { p.deleted(t, st) }
	versions := func(st step) { p.versions(t, st) }
	p.special = map[string]func(step){
		"deleted-get": deleted, "deleted-list": deleted,
		"versions-asc": versions, "versions-reverse-limit-1": versions, "get-version-1": versions, "get-version-99": versions,
	}
	p.ends = map[string]end{"restore-not-deleted": is(entity.ErrNotDeleted)} // where effect-dynamodb finds nothing
	p.play(t)
	require.Empty(t, p.dump(t))
}

// deleted compares the one deleted copy with that which was recorded.
func (p *player[T]) deleted(t *testing.T, st step) {
	t.Helper()
	key := keyOf[T](t, st)
	got, first := entity.Must(p.bin.List(key).Collect(p.Ctx)), entity.Must(p.bin.Get(p.Ctx, key))
	require.Equal(t, []lifecycle.DeletedItem[T]{first}, got)
	recorded := st.Outcome.OK
	if st.Op == "deleted.list" {
		recorded = argument[[]json.RawMessage](t, recorded)[0]
	}
	want := args[T](t, recorded)
	e := dbtest.Embedded[person](&want)
	e.Version++
	e.UpdatedAt = dbtest.Embedded[person](&first.Item).UpdatedAt
	require.Equal(t, want, first.Item)
	deletedAt := argument[struct{ DeletedAt time.Time }](t, recorded).DeletedAt
	require.Equal(t, deletedAt, first.DeletedAt)
	require.Equal(t, deletedAt.Add(30*24*time.Hour), first.ExpiresAt)
}

// versions compares versions with those that were recorded. The newest of them is a deleted state, which has no counterpart
// in the recorded history.
func (p *player[T]) versions(t *testing.T, st step) {
	t.Helper()
	key := keyOf[T](t, st)
	if st.Op == "getVersion" {
		got, err := p.history.Get(p.Ctx, key, st.Args.Version)
		if p.ended(t, st, err); err == nil {
			require.Equal(t, args[T](t, st.Outcome.OK), got.Item)
			require.False(t, got.Deleted)
		}
		return
	}
	list, opts := st.Outcome.OK, []versioned.ListOption{}
	if st.Args.Reverse { // by pages
		list, opts = argument[struct{ Items json.RawMessage }](t, list).Items, append(opts, entity.Desc())
	}
	got := entity.Must(p.history.List(key, opts...).Collect(p.Ctx))
	var live []T
	for i, v := range got {
		require.Equal(t, i == 0 && st.Args.Reverse || i == len(got)-1 && !st.Args.Reverse, v.Deleted)
		if !v.Deleted {
			live = append(live, v.Item)
		}
	}
	if st.Args.Limit > 0 {
		live = live[:st.Args.Limit]
	}
	require.Equal(t, args[[]T](t, list), live)
}

type note struct {
	_ entity.Key `name:"Note" pk:"$#id_{id}" sk:"$"`
	_ lifecycle.SoftDelete

	ID   string `dynamodbav:"id"`
	Text string `dynamodbav:"text"`
}

func TestReplay_SoftDeleteAlone(t *testing.T) {
	p := newPlayer[note](t, "lifecycle-soft-delete-only")
	p.through(t, "purge")
	p.differences = []difference{
		{"update-while-deleted", "deleted-get-with-phantom", absent, func(items []stored) []stored {
			return only(items, "Z") // the copies
		}},
	}
	deleted := func(st step) {
		got := entity.Must(p.bin.Get(p.Ctx, keyOf[note](t, st)))
		require.Equal(t, args[note](t, st.Outcome.OK), got.Item)
	}
	p.special = map[string]func(step){
		"deleted-get": deleted, "deleted-get-with-phantom": deleted,
		"delete-with-condition-ignored": func(st step) {
			documented(t, heeded)
			before := p.dump(t)
			require.ErrorIs(t, p.s.Delete(p.Ctx, keyOf[note](t, st), deletes(p.conditions(t, st))...), entity.ErrConditionFailed)
			require.Equal(t, asJSON(t, before), asJSON(t, p.dump(t)))
			require.NoError(t, p.s.Delete(p.Ctx, keyOf[note](t, st), entity.If(entity.Eq(&entity.Fields[note]().Text, "a"))))
		},
	}
	p.ends = map[string]end{"update-while-deleted": is(entity.ErrDeleted)}
	p.play(t)
}

type profile struct {
	_ entity.Key `name:"UserProfile" pk:"$#userid_{userId}" sk:"$#region_{Region}"`
	_ entity.GSI `name:"byEmail" index:"gsi1" pk:"$#email_{Email}" sk:"$#region_{Region}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"Email" fields:"Email"`

	UserID  string `dynamodbav:"userId"`
	Email   string `dynamodbav:"Email"`
	Region  string `dynamodbav:"Region"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

func TestReplay_LowerCase(t *testing.T) {
	p := newPlayer[profile](t, "keys-casing-lowercase")
	const own = "$myapp#v1#userprofile"
	last := p.recorded(t, "delete", "", "#v#0000001")
	p.differences = []difference{
		at("delete", counted, one("", "Z", func(it stored) stored { return upped(it, "version") })),
		at("restore", counted, one("", "#region_eu-west", func(it stored) stored { return upped(it, "version") })),
		at("restore", unreplaced, one("", "#v#0000001", func(stored) stored { return last })),
		at("restore", kept, func(items []stored) []stored {
			gone := upped(p.deletion(t, "delete", ""), "version")
			return append(items, gone.with("sk", "S", own+"#v#0000002").with("_deleted", "BOOL", true))
		}),
		{"put", "restore", siblings, func(items []stored) []stored {
			for i, it := range items {
				for _, infix := range []string{"#v#", "#deleted#"} {
					if rest, ok := strings.CutPrefix(it.text("sk"), own+infix); ok {
						items[i] = it.with("sk", "S", own+"#region_eu-west"+infix+rest)
					}
				}
			}
			return items
		}},
	}
	p.adjust = func(st step, want *profile) {
		if st.Op == "restore" {
			want.Version++
		}
	}
	p.play(t)
}
