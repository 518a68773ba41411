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
	r := newReplay(t, "lifecycle-soft-delete-only")
	r.through(t, "purge")
	r.differences = []difference{
		{"update-while-deleted", "deleted-get-with-phantom", absent, func(items []stored) []stored {
			return only(items, "Z") // the copies
		}},
	}
	s := store[note](t, r)
	bin := entity.Must(lifecycle.Of(s))
	r.create(t)
	f := entity.Fields[note]()
	r.steps(t, func(st step) {
		key := keyOf[note](t, st)
		switch st.Name {
		case "put":
			put(t, r, s, st)
		case "update-while-deleted":
			_, err := s.Update(r.Ctx, key, entity.Set(&f.Text, "zombie"))
			require.ErrorIs(t, err, entity.ErrNotFound)
			require.ErrorIs(t, err, entity.ErrDeleted)
		case "delete", "delete-missing":
			outcome(t, st, s.Delete(r.Ctx, key))
		case "delete-with-false-condition":
			outcome(t, st, s.Delete(r.Ctx, key, entity.If(entity.Eq(&f.Text, "zzz"))))
		case "delete-with-condition-ignored":
			documented(t, heeded)
			before := r.dump(t)
			require.ErrorIs(t, s.Delete(r.Ctx, key, entity.If(entity.Eq(&f.Text, "does-not-match"))), entity.ErrConditionFailed)
			require.Equal(t, asJSON(t, before), asJSON(t, r.dump(t)))
			outcome(t, st, s.Delete(r.Ctx, key, entity.If(entity.Eq(&f.Text, "a"))))
		case "deleted-get", "deleted-get-with-phantom":
			got, err := bin.Get(r.Ctx, key)
			outcome(t, st, err)
			require.Equal(t, args[note](t, st.Outcome.OK), got.Item)
		case "restore":
			got, err := bin.Restore(r.Ctx, key)
			outcome(t, st, err)
			require.Equal(t, args[note](t, st.Outcome.OK), got)
		case "purge":
			require.NoError(t, bin.Purge(r.Ctx, key))
		default:
			require.Fail(t, "no such step", st.Name)
		}
	})
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
	r := newReplay(t, "keys-casing-lowercase")
	const own = "$myapp#v1#userprofile"
	last := r.recorded(t, "delete", "", "#v#0000001")
	r.differences = []difference{
		at("delete", counted, one("", "Z", func(it stored) stored { return upped(it, "version") })),
		at("restore", counted, one("", "#region_eu-west", func(it stored) stored { return upped(it, "version") })),
		at("restore", unreplaced, one("", "#v#0000001", func(stored) stored { return last })),
		at("restore", kept, func(items []stored) []stored {
			gone := upped(r.deletion(t, "delete", ""), "version")
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
	s := store[profile](t, r)
	bin := entity.Must(lifecycle.Of(s))
	r.create(t)
	r.steps(t, func(st step) {
		switch st.Op {
		case "put":
			put(t, r, s, st)
		case "delete":
			outcome(t, st, s.Delete(r.Ctx, args[profile](t, st.Args.Key)))
		case "restore":
			got, err := bin.Restore(r.Ctx, args[profile](t, st.Args.Key))
			outcome(t, st, err)
			want := args[profile](t, st.Outcome.OK)
			want.Version++
			require.Equal(t, want, got)
		default:
			require.Fail(t, "no such operation", st.Op)
		}
	})
}
