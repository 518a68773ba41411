package interop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
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
		_, err := p.s.Update(p.Ctx, keyOf[product](t, st), changes...)
		return err
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
