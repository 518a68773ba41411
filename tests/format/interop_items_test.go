package format_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

type stamped struct {
	_ entity.Key `name:"Item" pk:"$#id_{id}" sk:"$"`

	ID        string    `dynamodbav:"id"`
	Name      string    `dynamodbav:"name"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

type pkOnly struct {
	_ entity.Key `name:"PkOnly" pk:"$#a_{a}" sk:"$"`

	A string `dynamodbav:"a"`
}

type skOnly struct {
	_ entity.Key `name:"SkOnly" pk:"$" sk:"$#a_{a}"`

	A string `dynamodbav:"a"`
}

type both struct {
	_ entity.Key `name:"Both_Type" pk:"$#tenantId_{tenantId}#num_{num}" sk:"$#flag_{flag}#at_{at}"`

	TenantID string    `dynamodbav:"tenantId"`
	Num      int       `dynamodbav:"num"`
	Flag     bool      `dynamodbav:"flag" entity:"zero"`
	At       time.Time `dynamodbav:"at"`
}

type epoch struct {
	_ entity.Key `name:"Epoch" pk:"$#id_{id}" sk:"$#at_{at}"`

	ID string    `dynamodbav:"id"`
	At time.Time `dynamodbav:"at" entity:"time=unixms"`
}

type order struct {
	_ entity.Key `name:"Order" pk:"$#orderid_{orderId}" sk:"$"`
	_ entity.GSI `name:"byCustomer" index:"gsi1" pk:"$#customerid_{customerId}" sk:"$"`
	_ entity.GSI `name:"byStatus" index:"gsi2" pk:"$#status_{status}#paid_{paid}" sk:"$#priority_{priority}#at_{at}"`
	_ entity.GSI `name:"byDue" index:"gsi3" pk:"$" sk:"$#due_{due}"`
	_ entity.GSI `name:"byPlace" index:"gsi4" pk:"$#region_{region}" sk:"$#country_{country}#city_{city}#site_{site}"`
	_ entity.GSI `name:"bySparse" index:"gsi5" pk:"$#country_{country}" sk:"$#city_{city}"`

	OrderID    string    `dynamodbav:"orderId"`
	CustomerID string    `dynamodbav:"customerId"`
	Status     string    `dynamodbav:"status"`
	Region     string    `dynamodbav:"region,omitempty"`
	Country    string    `dynamodbav:"country,omitempty"`
	City       string    `dynamodbav:"city,omitempty"`
	Site       string    `dynamodbav:"site,omitempty"`
	Priority   int       `dynamodbav:"priority"`
	Paid       bool      `dynamodbav:"paid"`
	At         time.Time `dynamodbav:"at"`
	Due        time.Time `dynamodbav:"due" entity:"time=unixms"`
}

func store[T any](t *testing.T, r *replay) *entity.Store[T] {
	t.Helper()
	return dbtest.Declare[T](t, r.DB)
}

// refusedPut runs a put whose key holds what this profile does not write. Nothing may be sent.
func refusedPut[T any](t *testing.T, r *replay, s *entity.Store[T], v T) {
	t.Helper()
	r.Wire.Reset()
	refused("EDD-9102")(t, dbtest.ErrorOf(s.Put(r.Ctx, v)))
	require.Empty(t, r.Wire.Requests())
}

func put[T any](t *testing.T, r *replay, s *entity.Store[T], st step) {
	t.Helper()
	require.NoError(t, dbtest.ErrorOf(s.Put(r.Ctx, args[T](t, st.Args.Input))), st.Name)
}

// without drops the items whose partition key is pk.
func without(pk string) func([]stored) []stored {
	return func(items []stored) []stored {
		var rest []stored
		for _, it := range items {
			if it["pk"]["S"] != pk {
				rest = append(rest, it)
			}
		}
		return rest
	}
}

func TestReplay_Timestamps(t *testing.T) {
	p := newPlayer[stamped](t, "timestamps-true")
	born := p.named(t, "put").Clock
	p.differences = []difference{{"put-again", "get", begunAgain, one("", "", func(it stored) stored {
		return it.with("createdAt", "S", born.Format("2006-01-02T15:04:05.000Z"))
	})}}
	p.adjust = func(_ step, want *stamped) { want.CreatedAt = born }
	p.play(t)
}

func TestReplay_PrimaryKeys(t *testing.T) {
	r, drop := newReplay(t, "keys-primary-composites"), without("$my-app#v10#pkonly#a_value/1 +ü")
	r.differences = []difference{{"pk-only", "epoch-put", asciiOnly, drop}}
	pks, sks, boths, epochs := store[pkOnly](t, r), store[skOnly](t, r), store[both](t, r), store[epoch](t, r)
	r.create(t)
	r.steps(t, func(st step) {
		switch st.Name {
		case "pk-only":
			refusedPut(t, r, pks, args[pkOnly](t, st.Args.Input))
		case "sk-only":
			put(t, r, sks, st)
		case "both":
			put(t, r, boths, st)
		case "both-get":
			got := entity.Must(boths.Get(r.Ctx, args[both](t, st.Args.Key)))
			require.Equal(t, args[both](t, st.Outcome.OK), got)
		case "epoch-put":
			put(t, r, epochs, st)
		default:
			require.Fail(t, "no such step", st.Name)
		}
	})
	// What effect-dynamodb does not find again (its step 6) is found here.
	require.Equal(t, "e", entity.Must(epochs.Get(r.Ctx, epoch{ID: "e", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})).ID)
}

func TestReplay_IndexKeys(t *testing.T) {
	r := newReplay(t, "keys-gsi-composition")
	s := store[order](t, r)
	r.create(t)
	// Three of the recorded values are refused in keys. The items are the same otherwise.
	refusals := map[string]func(*order){
		"put-full":   func(o *order) { o.Site = "DC-1" }, // its order id is O#1
		"put-sparse": func(*order) {},                    // its priority is -5, and it is due before 1970
	}
	for _, st := range r.Steps {
		if change, ok := refusals[st.Name]; ok {
			o := args[order](t, st.Args.Input)
			change(&o)
			refusedPut(t, r, s, o)
		}
	}
	r.substitutes = []string{
		"O#1", "O-1", "o#1", "o-1", "DC 1", "DC-1", "dc 1", "dc-1",
		`"priority": -5`, `"priority": 5`, `"-5"`, `"5"`, "00000000000000-5", "0000000000000005",
		"1969-12-31T23:59:59.000Z", "1970-01-01T00:00:01.000Z", `"-1000"`, `"1000"`, "00000000000-1000", "0000000000001000",
	}
	r.differences = []difference{at("put-empty-string-composite", empty, without("$myapp#v3#order#orderid_o3"))}
	r.steps(t, func(st step) {
		if st.Name == "put-empty-string-composite" {
			return // its priority is 1.5, which no field that can be a key part holds; see TestEmptyText_IsAbsentFromIndexes
		}
		put(t, r, s, st)
	})
	// A key with a missing part is absent, and so is the other key of the index.
	r.OK(s.Put(r.Ctx, order{OrderID: "o4", CustomerID: "c", Status: "s", Country: "de", At: r.Clock.Now(), Due: r.Clock.Now()}))
	it := r.Item("$myapp#v3#order#orderid_o4", "$myapp#v3#order")
	require.Contains(t, it, "gsi1pk")
	require.NotContains(t, it, "gsi5pk")
}

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
	newPlayer[account](t, "unique-versioned").play(t)
}

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
			require.NoError(t, update(st)) // effect-dynamodb writes the time
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
