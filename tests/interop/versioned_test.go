package interop_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/versioned"
)

type doc struct {
	_ entity.Key `name:"Doc" pk:"$#docid_{docId}" sk:"$"`
	_ entity.GSI `name:"byTitle" index:"gsi1" pk:"$#title_{title}" sk:"$"`
	_ versioned.Retain

	DocID     string    `dynamodbav:"docId"`
	Title     string    `dynamodbav:"title"`
	Tags      []string  `dynamodbav:"tags,omitempty"`
	Hits      *int      `dynamodbav:"hits,omitempty"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// docDifferences are those of the scenario versioned-retain: a path change is made, an upsert leaves a snapshot, and a
// put goes on where put there begins again.
func docDifferences(t *testing.T, r *replay) []difference {
	t.Helper()
	const index = "$app#v1#doc#title_"
	current := func(step, title string) stored {
		it := r.recorded(t, step, "docid_d1", "#doc")
		return it.with("title", "S", title).with("gsi1pk", "S", index+strings.ToLower(title))
	}
	// past is a state as the history has it under a version.
	past := func(it stored, version string) stored {
		sk := "$app#v1#doc#v#" + strings.Repeat("0", 7-len(version)) + version
		return it.with("gsi1pk", "", nil).with("gsi1sk", "", nil).with("sk", "S", sk).with("version", "N", version)
	}
	born := r.recorded(t, "put", "docid_d1", "#doc")
	aged := func(it stored) stored { return it.with("createdAt", "S", born.text("createdAt")) }
	seventh := past(current("update-path-set-ignored", "via-path"), "7")
	eighth := past(r.recorded(t, "upsert", "docid_d1", "#doc"), "8")
	ninth := aged(past(r.recorded(t, "put-replaces", "docid_d1", "#doc"), "9"))
	tenth := aged(past(r.recorded(t, "update-after-put", "docid_d1", "#doc"), "10"))
	deletion := r.named(t, "delete-hard").Clock.Format("2006-01-02T15:04:05.000Z")
	eleventh := past(tenth, "11").with("updatedAt", "S", deletion).with("deletedAt", "S", deletion).with("_deleted", "BOOL", true)
	first := r.recorded(t, "upsert", "docid_d1", "#v#0000001")
	return []difference{
		{"update-path-set-ignored", "get-version-current", pathSet, one("", "#doc", func(stored) stored {
			return current("update-path-set-ignored", "via-path")
		})},
		{"upsert", "primary-query", complete, plus(seventh)},
		{"put-replaces", "primary-query", complete, plus(eighth)},
		{"put-replaces", "update-after-put", begunAnew, one("", "#doc", func(it stored) stored {
			return aged(it.with("version", "N", map[string]string{"1": "9", "2": "10"}[it["version"]["N"].(string)]))
		})},
		{"put-replaces", "primary-query", begunAnew, one("", "#v#0000001", func(stored) stored { return first })},
		{"update-after-put", "primary-query", begunAnew, plus(ninth)},
		{"delete-hard", "primary-query", complete, plus(tenth)},
		{"delete-hard", "primary-query", kept, plus(eleventh)},
	}
}

func TestReplay_Retain(t *testing.T) {
	t.Parallel()
	r := newReplay(t, "versioned-retain")
	r.through(t, "purge")
	r.differences = docDifferences(t, r)
	s := store[doc](t, r)
	history := entity.Must(versioned.Of(s))
	r.create(t)
	f := entity.Fields[doc]()
	var input *entity.InputError
	r.steps(t, func(st step) {
		key := keyOf[doc](t, st)
		update := func(changes ...entity.UpdateOption) error {
			got, err := s.Update(r.Ctx, key, changes...)
			if err == nil && st.Name != "update-path-set-ignored" && st.Name != "update-after-put" {
				require.Equal(t, args[doc](t, st.Outcome.OK), got, st.Name)
			}
			return err
		}
		switch st.Name {
		case "put", "put-replaces":
			put(t, r, s, st)
		case "create-conflict":
			_, err := s.Create(r.Ctx, args[doc](t, st.Args.Input))
			outcome(t, st, err)
		case "update-rich":
			documented(t, "One update cannot both set and remove an attribute.")
			_, err := s.Update(r.Ctx, key, entity.Set(&f.Tags, []string{"a"}), entity.ListAppend(&f.Tags, "b", "c"))
			require.ErrorAs(t, err, &input)
			require.Equal(t, "EDD-9107", input.Code)
			outcome(t, st, update(entity.Set(&f.Tags, []string{"a", "b", "c"}), entity.Add(f.Hits, 5)))
		case "update-remove-null":
			outcome(t, st, update(entity.Remove(&f.Tags), entity.Remove(&f.Hits)))
		case "update-condition-fails":
			require.ErrorIs(t, update(entity.Set(&f.Title, "nope"), entity.If(entity.Eq(&f.Title, "zzz"))), entity.ErrConditionFailed)
		case "update-nothing":
			require.ErrorAs(t, update(), &input)
			require.Equal(t, "EDD-9106", input.Code)
			outcome(t, st, update(entity.Set(&f.Title, "T5")))
		case "update-path-set-ignored":
			outcome(t, st, update(entity.Attr[string]("title").Set("via-path")))
		case "update-1", "update-expected-ok", "update-expected-stale", "update-missing", "update-after-put":
			opts := []entity.UpdateOption{entity.Set(&f.Title, st.Args.Set["title"].(string))}
			if n := st.Args.ExpectedVersion; n != nil {
				opts = append(opts, versioned.Expect(*n))
			}
			outcome(t, st, update(opts...))
		case "versions":
			var list []json.RawMessage
			require.NoError(t, json.Unmarshal(st.Outcome.OK, &list))
			got, err := history.List(key).Collect(r.Ctx)
			require.NoError(t, err)
			require.Len(t, got, len(list))
			for i := range got {
				require.Equal(t, args[doc](t, list[i]), got[i].Item)
			}
		case "get-version-current": // here it is found
			got, err := history.Get(r.Ctx, key, st.Args.Version)
			require.NoError(t, err)
			require.Equal(t, "via-path", got.Item.Title)
		case "upsert":
			_, created, err := s.Upsert(r.Ctx, args[doc](t, st.Args.Input))
			require.NoError(t, err)
			require.False(t, created)
		case "delete-hard":
			outcome(t, st, s.Delete(r.Ctx, key))
		case "versions-after-delete":
			got, err := history.List(key).Collect(r.Ctx)
			require.NoError(t, err)
			require.Len(t, got, 11)
			for i, v := range got {
				require.EqualValues(t, i+1, v.Number)
				require.Equal(t, i == 10, v.Deleted)
			}
		case "scan":
			requireNone(t, r, s.Scan())
		case "primary-query":
			requireNone(t, r, s.Query(doc{DocID: "D1"}))
		case "purge":
			require.NoError(t, s.Purge(r.Ctx, doc{DocID: "D1"}))
		default:
			require.Fail(t, "no such step", st.Name)
		}
	})
}

// requireNone demands that a query does not take what lies beside items for items, as effect-dynamodb does.
func requireNone[T any](t *testing.T, r *replay, q entity.Query[T]) {
	t.Helper()
	got, err := q.Collect(r.Ctx)
	require.NoError(t, err)
	require.Empty(t, got)
}
