package interop_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

type note struct {
	_ entity.Key `name:"Note" pk:"$#id_{id}" sk:"$"`
	_ lifecycle.SoftDelete

	ID   string `dynamodbav:"id"`
	Text string `dynamodbav:"text"`
}

func TestReplay_SoftDeleteAlone(t *testing.T) {
	t.Parallel()
	p := newPlayer[note](t, "lifecycle-soft-delete-only")
	p.through(t, "purge")
	p.differences = []difference{
		{"update-while-deleted", "deleted-get-with-phantom", absent, func(items []stored) []stored {
			return only(items, "Z") // the copies
		}},
	}
	deleted := func(st step) {
		got, err := p.bin.Get(p.Ctx, keyOf[note](t, st))
		require.NoError(t, err)
		require.Equal(t, args[note](t, st.Outcome.OK), got.Item)
	}
	p.special = map[string]func(step){
		"deleted-get": deleted, "deleted-get-with-phantom": deleted,
		"delete-with-condition-ignored": func(st step) {
			documented(t, heeded)
			before := p.dump(t)
			require.ErrorIs(t, p.s.Delete(p.Ctx, keyOf[note](t, st), p.conditions(t, st)...), entity.ErrConditionFailed)
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
	t.Parallel()
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
