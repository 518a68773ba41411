package entity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// Acquisition has a generated id in its key and a default in the key of its index.
type Acquisition struct {
	_ entity.Key `name:"Acquisition" pk:"$#{tenant}" sk:"$#{number}"`
	_ entity.GSI `name:"byState" index:"gsi1" pk:"$#{tenant}#{state}" sk:"$#{number}"`

	Tenant string `dynamodbav:"tenant"`
	Number string `dynamodbav:"number" entity:"id=ulid"`
	State  string `dynamodbav:"state,omitempty" entity:"default=open"`
	Note   string `dynamodbav:"note,omitempty"`
}

// A write of a whole value gives its empty fields their defaults and new ids. The id is that of the operation, however often
// it is printed, sent or repeated.
func ExampleStore_Create_completed() {
	acquisitions := entity.Must(entity.New[Acquisition](library()))
	create := acquisitions.Op().Create(Acquisition{Tenant: "t-1"})
	first := create.String()
	fmt.Println(first)
	fmt.Println(create.String() == first)
	// Output:
	// Create Acquisition on library
	//   put    pk="$app#v1#acquisition#t-1" sk="$app#v1#acquisition#01HX6BPDX8C32NJ3VJXVS95YAM"
	//          {__edd_e__="Acquisition", _w="w1", gsi1pk="$app#v1#acquisition#t-1#open", gsi1sk="$app#v1#acquisition#01HX6BPDX8C32NJ3VJXVS95YAM", number="01HX6BPDX8C32NJ3VJXVS95YAM", state="open", tenant="t-1"}
	//          if attribute_not_exists(pk)
	// true
}

// The id of an item can be used before it is written.
func ExampleStore_Complete() {
	acquisitions := entity.Must(entity.New[Acquisition](library()))
	made, err := acquisitions.Complete(context.Background(), Acquisition{Tenant: "t-1"})
	fmt.Println(err, "/acquisitions/"+made.Number, made.State)
	fmt.Println(strings.Contains(acquisitions.Op().Create(made).String(), made.Number))
	// Output:
	// <nil> /acquisitions/01HX6BPDX8C32NJ3VJXVS95YAM open
	// true
}

// Shelfmark belongs to a tenant, which the context of the call knows.
type Shelfmark struct {
	_ entity.Key `name:"Shelfmark" pk:"$#{tenant}" sk:"$#{slug}"`

	Tenant string `dynamodbav:"tenant"`
	Slug   string `dynamodbav:"slug"`
	Text   string `dynamodbav:"text"`
}

type tenantKey struct{}

// Membership keeps its states, and who made each.
type Membership struct {
	_ entity.Key `name:"Membership" pk:"$#{reader}" sk:"$"`
	_ lifecycle.SoftDelete

	Reader string `dynamodbav:"reader"`
	Reason string `dynamodbav:"reason,omitempty"`
	By     string `dynamodbav:"by" entity:"context=actor,required"`
}

// Every write stores who made it; a delete can say why, in the copy that it leaves.
func ExampleConfig_fromContext() {
	members := entity.Must(entity.New[Membership](entity.Must(entity.Open(nil, entity.Config{
		Table: "library",
		NewID: func() string { return "w1" },
		FromContext: func(ctx context.Context, name string) (string, bool) { // a server's middleware has put it there
			actor, ok := ctx.Value(actorKey{}).(string)
			return actor, ok && name == "actor"
		},
	}))))
	fmt.Println(members.Op().Create(Membership{Reader: "ann"}))
	_, err := members.Create(context.Background(), Membership{Reader: "ann"})
	fmt.Println(err)
	l := entity.Fields[Membership]()
	fmt.Println(members.Op().Delete(Membership{Reader: "ann"}, entity.Set(&l.Reason, "moved away")))
	// Output:
	// Create Membership on library
	//   put    pk="$app#v1#membership#ann" sk="$app#v1#membership"
	//          {__edd_e__="Membership", _w="w1", by="<actor of the context>", reader="ann"}
	//          if attribute_not_exists(pk)
	// Create Membership (pk="$app#v1#membership#ann" sk="$app#v1#membership"): EDD-9251 entity_test.Membership.By: the attribute is required, and Config.FromContext has no actor for the context of the call
	// Delete Membership on library
	//   read   pk="$app#v1#membership#ann" sk="$app#v1#membership" consistently
	//   write  what follows from it, if it is unchanged
	//          SET reason = "moved away"
}

type actorKey struct{}

func (t *Shelfmark) Prepare(ctx context.Context) error {
	tenant, ok := ctx.Value(tenantKey{}).(string)
	if !ok {
		return errors.New("the call has no tenant")
	}
	t.Tenant = tenant
	t.Slug = strings.ToLower(strings.ReplaceAll(t.Text, " ", "-"))
	return nil
}

// Prepare completes a value when it is written. A plan is printed without it.
func ExamplePreparer() {
	db := library()
	marks := entity.Must(entity.New[Shelfmark](db))
	put := marks.Op().Put(Shelfmark{Text: "Old Books"})
	fmt.Println(put)
	fmt.Println(db.Transact(context.Background(), put))
	ctx := context.WithValue(context.Background(), tenantKey{}, "t-1")
	fmt.Println(errors.Is(db.Transact(ctx, put), entity.ErrNoClient)) // the value was prepared, and would have been sent
	fmt.Println(put)
	// Output:
	// Put Shelfmark on library
	//   prepare the value first, by its Prepare method
	// transaction failed: op 0: Put Shelfmark: EDD-9180 entity_test.Shelfmark: Prepare: the call has no tenant
	// true
	// Put Shelfmark on library
	//   update pk="$app#v1#shelfmark#t-1" sk="$app#v1#shelfmark#old-books"
	//          SET tenant = "t-1", slug = "old-books", text = "Old Books", __edd_e__ = "Shelfmark", _w = "w1"
	//          if attribute_not_exists(_pv)
}
