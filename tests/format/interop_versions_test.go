package format_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

type product struct {
	_ entity.Key `name:"Product" pk:"$#productid_{productId}" sk:"$"`
	_ versioned.Lock

	ProductID string    `dynamodbav:"productId"`
	Name      string    `dynamodbav:"name"`
	Price     float64   `dynamodbav:"price"`
	Stock     *int      `dynamodbav:"stock,omitempty"`
	Views     *int      `dynamodbav:"views,omitempty"`
	Tags      []string  `dynamodbav:"tags,omitempty"`
	Cats      []string  `dynamodbav:"cats,stringset,omitempty"`
	Meta      *nested   `dynamodbav:"meta,omitempty"`
	SKU       string    `dynamodbav:"sku,omitempty" entity:"set_once"`
	Revision  int64     `dynamodbav:"revision" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

type nested struct {
	A struct {
		B []int  `dynamodbav:"b"`
		C string `dynamodbav:"c,omitempty"`
	} `dynamodbav:"a"`
}

func TestReplay_Lock(t *testing.T) {
	t.Parallel()
	p := newPlayer[product](t, "versioned-no-retain")
	p.through(t, "delete-missing")
	p.ahead = 1 // one put was counted here
	const p1, p2 = "productid_p1", "productid_p2"
	created := p.recorded(t, "create", p1, "")
	p.differences = []difference{
		at("create-with-condition", guarded, one(p1, "", func(stored) stored { return created })),
		{"put-again", "delete-missing", begunAgain, one(p1, "", func(it stored) stored {
			return upped(it, "revision").with("createdAt", "S", created.text("createdAt"))
		})},
		{"update-all-clauses", "delete-missing", once, one(p1, "", func(it stored) stored { return it.with("sku", "S", "SKU") })},
		{"upsert-create", "delete-condition-fails", absent, one(p2, "", func(it stored) stored { return it.with("productId", "S", "P2") })},
	}
	f := entity.Fields[product]()
	update := func(st step, changes ...entity.UpdateOption) error {
		return dbtest.ErrorOf(p.s.Update(p.Ctx, keyOf[product](t, st), changes...))
	}
	p.special = map[string]func(step){
		"update-all-clauses": func(st step) {
			refused("EDD-9104")(t, update(st, entity.Remove(&f.SKU)))
			st.Args.Remove = nil
			p.do(t, st)
		},
		"update-paths": func(st step) { // its paths overlap
			refused("EDD-9107")(t, update(st, entity.ListAppend(&f.Meta.A.B, 3), entity.Attr[int]("meta.a.b[0]").Remove()))
		},
		"update-paths-ok": func(st step) {
			require.NoError(t, update(st, entity.Set(&f.Meta.A.C, "new"), entity.Add(f.Stock, 10), entity.SetIfNotExists(f.Views, 1), entity.Set(&f.Meta.A.B, []int{0, 1, 2})))
		},
	}
	conflict, failed, missing := is(entity.ErrConflict), is(entity.ErrConditionFailed), is(entity.ErrNotFound)
	p.ends = map[string]end{
		"create-with-condition": is(entity.ErrExists), "update-expected-stale": conflict,
		"update-condition-fails": failed, "update-expected-ok-condition-fails": failed,
		"update-return-updated-new": is(nil), "update-return-none": is(nil), "update-return-all-old": is(nil),
		"update-missing": missing, "patch-missing": missing, "delete-missing": missing, // where effect-dynamodb says nothing
		"upsert-create": is(nil), "upsert-update": is(nil),
	}
	p.differs = []string{"update-return-all-old"}
	p.adjust = func(st step, want *product) {
		if st.Step >= p.named(t, "put-again").Step {
			want.Revision++
			want.CreatedAt = p.named(t, "create").Clock
		}
		if st.Step >= p.named(t, "update-all-clauses").Step {
			want.SKU = "SKU"
		}
	}
	p.play(t)
}

type thing struct {
	_ entity.Key `name:"Thing" pk:"$#id_{id}" sk:"$"`

	ID        string    `dynamodbav:"id"`
	Name      string    `dynamodbav:"name"`
	Note      string    `dynamodbav:"note,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

func TestReplay_UpdateOfNothing(t *testing.T) {
	t.Parallel()
	p := newPlayer[thing](t, "unversioned-update-missing")
	p.through(t, "patch-with-condition")
	p.differences = []difference{
		{"update-missing", "patch-with-condition", absent, without("$app#v1#thing#id_ghost")},
		{"create-over-phantom", "patch-with-condition", absent, func(items []stored) []stored {
			made := p.named(t, "create-over-phantom").Clock.Format("2006-01-02T15:04:05.000Z")
			return append(items, stored{
				"pk": {"S": "$app#v1#thing#id_ghost"}, "sk": {"S": "$app#v1#thing"}, "__edd_e__": {"S": "Thing"},
				"id": {"S": "ghost"}, "name": {"S": "real"}, "createdAt": {"S": made}, "updatedAt": {"S": made},
			})
		}},
		at("patch-with-condition", absent, without("$app#v1#thing#id_ghost3")),
	}
	missing := is(entity.ErrNotFound)
	p.ends = map[string]end{
		"update-missing": missing, "patch-missing": missing, "patch-with-condition": missing, "get-phantom": missing, "create-over-phantom": is(nil),
	}
	p.play(t)
}

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
		{"put-replaces", "update-after-put", begunAgain, one("", "#doc", func(it stored) stored {
			return aged(it.with("version", "N", map[string]string{"1": "9", "2": "10"}[it["version"]["N"].(string)]))
		})},
		{"put-replaces", "primary-query", begunAgain, one("", "#v#0000001", func(stored) stored { return first })},
		{"update-after-put", "primary-query", begunAgain, plus(ninth)},
		{"delete-hard", "primary-query", complete, plus(tenth)},
		{"delete-hard", "primary-query", kept, plus(eleventh)},
	}
}

func TestReplay_Retain(t *testing.T) {
	t.Parallel()
	p := newPlayer[doc](t, "versioned-retain")
	p.through(t, "purge")
	p.differences = docDifferences(t, p.replay)
	f := entity.Fields[doc]()
	update := func(st step, changes ...entity.UpdateOption) error {
		return dbtest.ErrorOf(p.s.Update(p.Ctx, keyOf[doc](t, st), changes...))
	}
	none := func(q entity.Query[doc]) { // effect-dynamodb takes the history for items
		require.Empty(t, entity.Must(q.Collect(p.Ctx)))
	}
	p.special = map[string]func(step){
		"update-rich": func(st step) {
			documented(t, "One update cannot both set and remove an attribute.")
			refused("EDD-9107")(t, update(st, entity.Set(&f.Tags, []string{"a"}), entity.ListAppend(&f.Tags, "b", "c")))
			require.NoError(t, update(st, entity.Set(&f.Tags, []string{"a", "b", "c"}), entity.Add(f.Hits, 5)))
		},
		"update-nothing": func(st step) {
			refused("EDD-9106")(t, update(st))
			require.NoError(t, update(st, entity.Set(&f.Title, "T5")))
		},
		"versions": func(st step) {
			got := entity.Must(p.history.List(keyOf[doc](t, st)).Collect(p.Ctx))
			want := args[[]doc](t, st.Outcome.OK)
			require.Len(t, got, len(want))
			for i := range got {
				require.Equal(t, want[i], got[i].Item)
			}
		},
		"get-version-current": func(st step) { // here it is found
			got := entity.Must(p.history.Get(p.Ctx, keyOf[doc](t, st), st.Args.Version))
			require.Equal(t, "via-path", got.Item.Title)
		},
		"versions-after-delete": func(st step) {
			got := entity.Must(p.history.List(keyOf[doc](t, st)).Collect(p.Ctx))
			require.Len(t, got, 11)
			for i, v := range got {
				require.EqualValues(t, i+1, v.Number)
				require.Equal(t, i == 10, v.Deleted)
			}
		},
		"scan":          func(step) { none(p.s.Scan()) },
		"primary-query": func(step) { none(p.s.Query(doc{DocID: "D1"})) },
	}
	p.ends = map[string]end{"update-condition-fails": is(entity.ErrConditionFailed)}
	p.differs = []string{"update-path-set-ignored", "upsert", "put-replaces", "update-after-put"}
	p.play(t)
}
