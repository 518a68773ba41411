package format_test

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
		{"put-replace-with-new-values", "delete-u1-again", begunAgain, set(second, "createdAt", "2026-05-01T00:05:00.000Z")},
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
	p := newPlayer[user](t, "unique-fields")
	p.through(t, "update-u9-missing")
	p.differences = uniqueDifferences(t, p.replay)
	p.special = map[string]func(step){
		"delete-u2-condition-ignored": func(st step) {
			documented(t, heeded)
			require.ErrorIs(t, p.s.Delete(p.Ctx, keyOf[user](t, st), deletes(p.conditions(t, st))...), entity.ErrConditionFailed)
			require.NoError(t, p.s.Delete(p.Ctx, keyOf[user](t, st)))
		},
	}
	p.ends = map[string]end{
		"put-same-item-again": is(nil), // an item's own values are free to it
		"create-existing":     is(entity.ErrExists), "update-path-set-email": violates, "upsert-dup-email": violates, "patch-unique": is(nil),
	}
	p.adjust = func(st step, want *user) {
		if want.UserID == "u-2" {
			want.CreatedAt = p.named(t, "put-u2").Clock
		}
	}
	p.play(t)
	require.Empty(t, p.dump(t))
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
	newPlayer[account](t, "unique-versioned").play(t)
}
