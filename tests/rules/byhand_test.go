package rules_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// parcelByHand keeps by hand what parcel declares: whether it is in its index, in which partition, and who wrote it.
type parcelByHand struct {
	_ entity.Key `name:"ParcelByHand" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"open" index:"gsi1" pk:"$#{queue}#{shard}" sk:"$#{id}"`

	ID    string `dynamodbav:"id"`
	State string `dynamodbav:"state"`
	Queue string `dynamodbav:"queue,omitempty"`
	Shard int    `dynamodbav:"shard" entity:"zero"`
	Note  string `dynamodbav:"note,omitempty"`
	By    string `dynamodbav:"by"`
}

type parcel struct {
	_ entity.Key `name:"Parcel" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"open" index:"gsi1" pk:"$" sk:"$#{id}" when:"state=open" shards:"4"`

	ID    string `dynamodbav:"id"`
	State string `dynamodbav:"state"`
	Note  string `dynamodbav:"note,omitempty"`
	By    string `dynamodbav:"by" entity:"context=actor"`
}

// guestByHand has its address a second time, in lower case.
type guestByHand struct {
	_ entity.Key           `name:"GuestByHand" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ versioned.Retain     `ttl:"90d"`
	_ unique.Constraint    `name:"email" fields:"emailKey"`

	ID       string `dynamodbav:"id"`
	Email    string `dynamodbav:"email"`
	EmailKey string `dynamodbav:"emailKey"`
	Why      string `dynamodbav:"why,omitempty"`
	By       string `dynamodbav:"by"`
	Version  int64  `dynamodbav:"version" entity:"version"`
}

type guest struct {
	_ entity.Key           `name:"Guest" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ versioned.Retain     `ttl:"90d"`
	_ unique.Constraint    `name:"email" fields:"{email|lower}"`

	ID      string `dynamodbav:"id"`
	Email   string `dynamodbav:"email"`
	Why     string `dynamodbav:"why,omitempty"`
	By      string `dynamodbav:"by" entity:"context=actor"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// spending is a tracer that adds up what calls cost.
type spending struct {
	requests    int
	read, write float64
}

func (s *spending) Start(ctx context.Context, _ entity.Call) context.Context { return ctx }
func (s *spending) Request(context.Context, entity.Attempt)                  {}
func (s *spending) End(_ context.Context, r entity.Report) {
	s.requests, s.read, s.write = s.requests+r.Requests, s.read+r.ReadUnits, s.write+r.WriteUnits
}

// Declared, each costs what the same kept by hand costs, or less.
func TestDeclared_CostsNoMoreThanByHand(t *testing.T) {
	t.Parallel()
	spent := &spending{}
	b := dbtest.Open(t, withActors, func(c *entity.Config) { c.Tracer = spent })
	hand, tasks := dbtest.Declare[parcelByHand](t, b.DB), dbtest.Declare[parcel](t, b.DB)
	handMembers, members := dbtest.Declare[guestByHand](t, b.DB), dbtest.Declare[guest](t, b.DB)
	b.CreateTables()
	ctx := as(b.Ctx, "ann", "")
	h, d, hm, dm := entity.Fields[parcelByHand](), entity.Fields[parcel](), entity.Fields[guestByHand](), entity.Fields[guest]()
	handKey, key, handMember, theMember := parcelByHand{ID: "t"}, parcel{ID: "t"}, guestByHand{ID: "m"}, guest{ID: "m"}
	handGone, gone := entity.Must(lifecycle.Of(handMembers)), entity.Must(lifecycle.Of(members))
	handOpen, open := entity.Must(hand.Index("open")), entity.Must(tasks.Index("open"))
	err := func(_ any, err error) error { return err }
	fails := func(_, _ any, err error) error { return err }

	var table strings.Builder
	for _, row := range []struct {
		what       string
		byHand, by func() error
		least      spending // that DynamoDB needs for it; of transactions DynamoDB Local counts fewer units
	}{
		{"Create in the index", func() error {
			return err(hand.Create(ctx, parcelByHand{ID: "t", State: "open", Queue: "open", Shard: 3, By: "ann"}))
		},
			func() error { return err(tasks.Create(ctx, parcel{ID: "t", State: "open"})) }, spending{1, 0, 2}},
		{"Update that decides nothing", func() error {
			return err(hand.Update(ctx, handKey, entity.Set(&h.Note, "x"), entity.Set(&h.By, "ann")))
		},
			func() error { return err(tasks.Update(ctx, key, entity.Set(&d.Note, "x"))) }, spending{1, 0, 2}},
		{"Update out of the index", func() error {
			return err(hand.Update(ctx, handKey, entity.Set(&h.State, "done"), entity.Remove(&h.Queue), entity.Set(&h.By, "ann")))
		}, func() error { return err(tasks.Update(ctx, key, entity.Set(&d.State, "done"))) }, spending{1, 0, 2}},
		{"Update into the index", func() error {
			return err(hand.Update(ctx, handKey, entity.Set(&h.State, "open"), entity.Set(&h.Queue, "open"), entity.Set(&h.Shard, 3), entity.Set(&h.By, "ann")))
		}, func() error { return err(tasks.Update(ctx, key, entity.Set(&d.State, "open"))) }, spending{1, 0, 2}},
		{"Put", func() error {
			return err(hand.Put(ctx, parcelByHand{ID: "t", State: "open", Queue: "open", Shard: 3, By: "ann"}))
		},
			func() error { return err(tasks.Put(ctx, parcel{ID: "t", State: "open"})) }, spending{1, 0, 2}},
		{"Upsert", func() error {
			return fails(hand.Upsert(ctx, parcelByHand{ID: "t", State: "open", Queue: "open", Shard: 3, By: "ann"}))
		}, func() error { return fails(tasks.Upsert(ctx, parcel{ID: "t", State: "open"})) }, spending{1, 0, 2}},
		{"Modify", func() error {
			return err(hand.Modify(ctx, handKey, func(v *parcelByHand) error { v.State, v.Queue, v.By = "done", "", "ann"; return nil }))
		}, func() error {
			return err(tasks.Modify(ctx, key, func(v *parcel) error { v.State = "done"; return nil }))
		}, spending{2, 1, 2}},
		{"Query of 4 partitions", func() error {
			return err(handOpen.QueryAny([]parcelByHand{{Queue: "open", Shard: 0}, {Queue: "open", Shard: 1}, {Queue: "open", Shard: 2}, {Queue: "open", Shard: 3}}).Collect(ctx))
		}, func() error { return err(open.Query(parcel{}).Collect(ctx)) }, spending{4, 2, 0}},
		{"Delete", func() error { return hand.Delete(ctx, handKey) }, func() error { return tasks.Delete(ctx, key) }, spending{1, 0, 1}},

		{"Create of a unique address", func() error {
			return err(handMembers.Create(ctx, guestByHand{ID: "m", Email: "A@x", EmailKey: "a@x", By: "ann"}))
		}, func() error { return err(members.Create(ctx, guest{ID: "m", Email: "A@x"})) }, spending{3, 1, 6}},
		{"Update of its case", func() error {
			return err(handMembers.Update(ctx, handMember, entity.Set(&hm.Email, "a@X"), entity.Set(&hm.EmailKey, "a@x"), entity.Set(&hm.By, "ann")))
		}, func() error { return err(members.Update(ctx, theMember, entity.Set(&dm.Email, "a@X"))) }, spending{2, 1, 6}},
		{"Delete that says why", func() error {
			if _, err := handMembers.Update(ctx, handMember, entity.Set(&hm.Why, "left"), entity.Set(&hm.By, "ann")); err != nil {
				return err
			}
			return handMembers.Delete(ctx, handMember)
		}, func() error { return members.Delete(ctx, theMember, entity.Set(&dm.Why, "left")) }, spending{2, 1, 10}},
		{"Restore that says why", func() error {
			if _, err := handGone.Restore(ctx, handMember); err != nil {
				return err
			}
			return err(handMembers.Update(ctx, handMember, entity.Set(&hm.Why, "back"), entity.Set(&hm.By, "ann")))
		}, func() error { return err(gone.Restore(ctx, theMember, entity.Set(&dm.Why, "back"))) }, spending{2, 1, 8}},
	} {
		var cost [2]spending
		for i, call := range []func() error{row.byHand, row.by} {
			*spent = spending{}
			require.NoError(t, call(), row.what)
			cost[i] = *spent
		}
		fmt.Fprintf(&table, "%-28s by hand %v, declared %v\n", row.what, cost[0], cost[1])
		assertAtMost(t, row.what, row.least, cost[1])
		assertAtMost(t, row.what+", compared", cost[0], cost[1])
	}
	t.Log("requests, read units, write units:\n" + table.String())
}

func assertAtMost(t *testing.T, what string, most, is spending) {
	t.Helper()
	if is.requests > most.requests || is.read > most.read || is.write > most.write {
		t.Errorf("%s cost %v, at most %v was expected", what, is, most)
	}
}
