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
	r := newReplay(t, "versioned-no-retain")
	r.through(t, "delete-missing")
	const p1, p2 = "productid_p1", "productid_p2"
	created := r.recorded(t, "create", p1, "")
	r.differences = []difference{
		at("create-with-condition", guarded, one(p1, "", func(stored) stored { return created })),
		{"put-again", "delete-missing", begunAnew, one(p1, "", func(it stored) stored {
			return upped(it, "revision").with("createdAt", "S", created.text("createdAt"))
		})},
		{"update-all-clauses", "delete-missing", once, one(p1, "", func(it stored) stored { return it.with("sku", "S", "SKU") })},
		{"upsert-create", "delete-condition-fails", absent, one(p2, "", func(it stored) stored { return it.with("productId", "S", "P2") })},
	}
	s := store[product](t, r)
	r.create(t)
	f := entity.Fields[product]()
	r.steps(t, func(st step) {
		key := keyOf[product](t, st)
		update := func(opts ...entity.UpdateOption) error {
			if n := st.Args.ExpectedVersion; n != nil {
				opts = append(opts, versioned.Expect(*n+1)) // one put was counted here
			}
			_, err := s.Update(r.Ctx, key, opts...)
			return err
		}
		name := func() entity.UpdateOption { return entity.Set(&f.Name, st.Args.Set["name"].(string)) }
		price := func() entity.UpdateOption { return entity.Set(&f.Price, st.Args.Set["price"].(float64)) }
		stocked := func(n int) entity.WriteOption { return entity.If(entity.Gt(f.Stock, n)) }
		var conflict *versioned.ConflictError
		var input *entity.InputError

		switch st.Name {
		case "create", "create-conflict":
			_, err := s.Create(r.Ctx, args[product](t, st.Args.Input))
			outcome(t, st, err)
		case "create-with-condition":
			_, err := s.Create(r.Ctx, args[product](t, st.Args.Input), entity.If(entity.Eq(&f.Name, "Mouse")))
			require.ErrorIs(t, err, entity.ErrExists)
		case "put-again":
			put(t, r, s, st)
		case "update-set":
			outcome(t, st, update(name(), price()))
		case "update-expected-ok":
			outcome(t, st, update(name()))
		case "update-expected-stale":
			require.ErrorAs(t, update(name()), &conflict)
		case "update-expected-and-condition":
			outcome(t, st, update(price(), stocked(0)))
		case "update-condition-fails", "update-expected-ok-condition-fails":
			require.ErrorIs(t, update(price(), stocked(100)), entity.ErrConditionFailed)
		case "update-all-clauses":
			require.ErrorAs(t, update(entity.Remove(&f.SKU)), &input)
			require.Equal(t, "EDD-9104", input.Code)
			outcome(t, st, update(name(), entity.Add(f.Views, 3), entity.Add(f.Stock, -2), entity.ListAppend(&f.Tags, "b", "c"), entity.DeleteFromSet(&f.Cats, "x")))
		case "update-null-clears":
			outcome(t, st, update(entity.Remove(&f.Views), entity.Remove(&f.Tags)))
		case "update-paths": // its paths overlap
			require.ErrorAs(t, update(entity.ListAppend(&f.Meta.A.B, 3), entity.Attr[int]("meta.a.b[0]").Remove()), &input)
			require.Equal(t, "EDD-9107", input.Code)
		case "update-paths-ok":
			outcome(t, st, update(entity.Set(&f.Meta.A.C, "new"), entity.Add(f.Stock, 10), entity.SetIfNotExists(f.Views, 1), entity.Set(&f.Meta.A.B, []int{0, 1, 2})))
		case "update-return-updated-new", "update-return-none", "update-return-all-old":
			require.NoError(t, update(price()))
		case "update-missing", "patch-missing":
			require.ErrorIs(t, update(name()), entity.ErrNotFound)
		case "upsert-create", "upsert-update":
			_, isNew, err := s.Upsert(r.Ctx, args[product](t, st.Args.Input))
			require.NoError(t, err)
			require.Equal(t, st.Name == "upsert-create", isNew)
		case "upsert-condition-fails":
			_, _, err := s.Upsert(r.Ctx, args[product](t, st.Args.Input), entity.If(entity.Eq(&f.Name, "zzz")))
			outcome(t, st, err)
		case "delete-if-exists-missing":
			outcome(t, st, s.Delete(r.Ctx, key))
		case "delete-condition-fails":
			outcome(t, st, s.Delete(r.Ctx, key, entity.If(entity.Eq(&f.Name, "zzz"))))
		case "delete":
			outcome(t, st, s.Delete(r.Ctx, key))
		case "delete-missing": // where effect-dynamodb says nothing
			require.ErrorIs(t, s.Delete(r.Ctx, key), entity.ErrNotFound)
		default:
			require.Fail(t, "no such step", st.Name)
		}
	})
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
	r := newReplay(t, "unversioned-update-missing")
	r.through(t, "patch-with-condition")
	r.differences = []difference{
		{"update-missing", "patch-with-condition", absent, without("$app#v1#thing#id_ghost")},
		{"create-over-phantom", "patch-with-condition", absent, func(items []stored) []stored {
			made := r.named(t, "create-over-phantom").Clock.Format("2006-01-02T15:04:05.000Z")
			return append(items, stored{
				"pk": {"S": "$app#v1#thing#id_ghost"}, "sk": {"S": "$app#v1#thing"}, "__edd_e__": {"S": "Thing"},
				"id": {"S": "ghost"}, "name": {"S": "real"}, "createdAt": {"S": made}, "updatedAt": {"S": made},
			})
		}},
		at("patch-with-condition", absent, without("$app#v1#thing#id_ghost3")),
	}
	s := store[thing](t, r)
	r.create(t)
	f := entity.Fields[thing]()
	r.steps(t, func(st step) {
		key := keyOf[thing](t, st)
		switch st.Name {
		case "update-missing", "patch-missing":
			_, err := s.Update(r.Ctx, key, entity.Set(&f.Name, "x"))
			require.ErrorIs(t, err, entity.ErrNotFound)
		case "patch-with-condition":
			_, err := s.Update(r.Ctx, key, entity.Set(&f.Name, "x"), entity.If(entity.NotExists(&f.Note)))
			require.ErrorIs(t, err, entity.ErrNotFound)
		case "get-phantom":
			_, err := s.Get(r.Ctx, key)
			require.ErrorIs(t, err, entity.ErrNotFound)
		case "create-over-phantom":
			_, err := s.Create(r.Ctx, args[thing](t, st.Args.Input))
			require.NoError(t, err)
		default:
			require.Fail(t, "no such step", st.Name)
		}
	})
}
