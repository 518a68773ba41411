package interop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

type user struct {
	_ entity.Key        `name:"User" pk:"$#userid_{userId}" sk:"$"`
	_ unique.Constraint `name:"email" fields:"email"`
	_ unique.Constraint `name:"tenantUsername" fields:"tenantId,username"`
	_ unique.Constraint `name:"badge" fields:"badge"`
	_ unique.Constraint `name:"numKey" fields:"num" ttl:"1h"`

	UserID    string    `dynamodbav:"userId"`
	Email     string    `dynamodbav:"email"`
	TenantID  string    `dynamodbav:"tenantId"`
	Username  string    `dynamodbav:"username"`
	Badge     string    `dynamodbav:"badge,omitempty"`
	Num       *int      `dynamodbav:"num,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// uniqueDifferences are those of the scenario unique-fields.
func uniqueDifferences(t *testing.T, r *replay) []difference {
	t.Helper()
	const first, second = "userid_u-1", "userid_u-2"
	set := func(pk, name, value string) func([]stored) []stored {
		return one(pk, "#user", func(it stored) stored { return it.with(name, "S", value) })
	}
	// lapse gives the claims of numbers their time to live, an hour after the step that made them.
	lapse := func(step string) func([]stored) []stored {
		until := seconds(r.named(t, step).Clock.Add(time.Hour))
		return one("", ".numkey", func(it stored) stored { return it.with("_ttl", "N", until) })
	}
	// leaked are the claims that are not given up there.
	leaked := func(values ...string) func([]stored) []stored {
		return func(items []stored) []stored {
			for _, value := range values {
				n := len(items)
				items = without("$myapp#v1#user." + value)(items)
				require.Len(t, items, n-1, value)
			}
			return items
		}
	}
	before := r.recorded(t, "update-null-num", second, "#user")
	email := r.recorded(t, "update-null-num", ".email#alice@example.com", "")
	return []difference{
		{"put-u2", "create-existing", claimTTL, lapse("put-u2")},
		{"put-same-item-again", "create-existing", released, set(second, "updatedAt", "2026-05-01T00:06:00.000Z")},
		{"put-replace-with-new-values", "update-u9-missing", released,
			leaked("email#bob@example.com", "tenantusername#t-acme#bob", "badge#b-7", "numkey#0000000000000042")},
		{"put-replace-with-new-values", "delete-u1-again", begunAnew, set(second, "createdAt", "2026-05-01T00:05:00.000Z")},
		{"update-untouched", "update-remove-badge", claimTTL, lapse("update-untouched")},
		{"update-path-set-email", "delete-u1-again", released, one(second, "#user", func(it stored) stored {
			return before.with("createdAt", "S", it.text("createdAt"))
		})},
		{"upsert-dup-email", "update-u9-missing", released, without("$myapp#v1#user#userid_u-3")},
		at("patch-unique", released, one(first, "#user", func(it stored) stored {
			return it.with("email", "S", "alice9@example.com").with("updatedAt", "S", "2026-05-01T00:19:00.000Z")
		})),
		at("patch-unique", released, one(".email#alice@example.com", "", func(stored) stored {
			return email.with("pk", "S", strings.Replace(email.text("pk"), "alice", "alice9", 1))
		})),
		{"delete-u2-condition-ignored", "update-u9-missing", released, leaked("email#bob3@example.com")},
	}
}

func TestReplay_UniqueFields(t *testing.T) {
	t.Parallel()
	r := newReplay(t, "unique-fields")
	r.through(t, "update-u9-missing")
	r.differences = uniqueDifferences(t, r)
	s := store[user](t, r)
	r.create(t)
	f := entity.Fields[user]()
	var violation *unique.ViolationError
	r.steps(t, func(st step) {
		key := keyOf[user](t, st)
		switch st.Name {
		case "put-same-item-again": // an item's own values are free to it
			put(t, r, s, st)
		case "create-existing":
			_, err := s.Create(r.Ctx, args[user](t, st.Args.Input))
			require.ErrorIs(t, err, entity.ErrExists)
		case "update-path-set-email":
			_, err := s.Update(r.Ctx, key, entity.Attr[string]("email").Set("alice@example.com"))
			require.ErrorAs(t, err, &violation)
		case "upsert-dup-email":
			_, _, err := s.Upsert(r.Ctx, args[user](t, st.Args.Input))
			require.ErrorAs(t, err, &violation)
		case "patch-unique":
			_, err := s.Update(r.Ctx, key, entity.Set(&f.Email, "alice9@example.com"))
			require.NoError(t, err)
		case "delete-u2-condition-ignored":
			documented(t, heeded)
			require.ErrorIs(t, s.Delete(r.Ctx, key, entity.If(entity.Eq(&f.Username, "nobody"))), entity.ErrConditionFailed)
			require.NoError(t, s.Delete(r.Ctx, key))
		default:
			switch st.Op {
			case "put":
				_, err := s.Put(r.Ctx, args[user](t, st.Args.Input))
				outcome(t, st, err)
			case "update":
				_, err := s.Update(r.Ctx, key, userChanges(t, st)...)
				outcome(t, st, err)
			case "delete":
				outcome(t, st, s.Delete(r.Ctx, key))
			default:
				require.Fail(t, "no such operation", st.Op)
			}
		}
	})
	require.Empty(t, r.dump(t))
}

func userChanges(t *testing.T, st step) []entity.UpdateOption {
	t.Helper()
	f := entity.Fields[user]()
	var changes []entity.UpdateOption
	for _, name := range []string{"email", "tenantId", "badge", "num"} {
		v, ok := st.Args.Set[name]
		if !ok {
			continue
		}
		switch name {
		case "email":
			changes = append(changes, entity.Set(&f.Email, v.(string)))
		case "tenantId":
			changes = append(changes, entity.Set(&f.TenantID, v.(string)))
		case "badge":
			changes = append(changes, entity.Set(&f.Badge, v.(string)))
		case "num":
			if v == nil {
				changes = append(changes, entity.Remove(&f.Num))
				continue
			}
			changes = append(changes, entity.Set(f.Num, int(v.(float64))))
		}
	}
	for _, name := range st.Args.Remove {
		require.Equal(t, "badge", name)
		changes = append(changes, entity.Remove(&f.Badge))
	}
	return changes
}

type account struct {
	_ entity.Key `name:"User" pk:"$#userid_{userId}" sk:"$"`
	_ versioned.Lock
	_ unique.Constraint `name:"email" fields:"email"`

	UserID    string    `dynamodbav:"userId"`
	Email     string    `dynamodbav:"email"`
	Name      string    `dynamodbav:"name,omitempty"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

func TestReplay_UniqueAndVersioned(t *testing.T) {
	t.Parallel()
	r := newReplay(t, "unique-versioned")
	s := store[account](t, r)
	r.create(t)
	f := entity.Fields[account]()
	r.steps(t, func(st step) {
		key := keyOf[account](t, st)
		switch st.Op {
		case "put":
			put(t, r, s, st)
		case "update":
			var opts []entity.UpdateOption
			if v, ok := st.Args.Set["name"]; ok {
				opts = append(opts, entity.Set(&f.Name, v.(string)))
			}
			if v, ok := st.Args.Set["email"]; ok {
				opts = append(opts, entity.Set(&f.Email, v.(string)))
			}
			if n := st.Args.ExpectedVersion; n != nil {
				opts = append(opts, versioned.Expect(*n))
			}
			got, err := s.Update(r.Ctx, key, opts...)
			if outcome(t, st, err); err == nil {
				require.Equal(t, args[account](t, st.Outcome.OK), got)
			}
		case "delete":
			outcome(t, st, s.Delete(r.Ctx, key))
		default:
			require.Fail(t, "no such operation", st.Op)
		}
	})
}
