package main

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/guregu/dynamo/v2"
)

// This is the side of guregu/dynamo in from-guregu.md.

type Order struct {
	Customer string    `dynamo:"customer,hash"`
	Number   int       `dynamo:"number,range"`
	Status   string    `dynamo:"status" index:"byStatus,hash"`
	Placed   time.Time `dynamo:"placed,unixtime" index:"byStatus,range"`
	Total    int       `dynamo:"total"`
	Tags     []string  `dynamo:"tags,set"`
}

type Shop struct {
	db     *dynamo.DB
	orders dynamo.Table
}

func Open(client *dynamodb.Client, table string) *Shop {
	db := dynamo.NewFromIface(client)
	return &Shop{db, db.Table(table)}
}

func refused(err error) bool { return dynamo.IsCondCheckFailed(err) }

func (s *Shop) Create(ctx context.Context, o Order) error {
	return s.orders.Put(o).If("attribute_not_exists(customer)").Run(ctx)
}

func (s *Shop) Get(ctx context.Context, customer string, number int) (o Order, err error) {
	err = s.orders.Get("customer", customer).Range("number", dynamo.Equal, number).One(ctx, &o) // or dynamo.ErrNotFound
	return o, err
}

func (s *Shop) Waiting(ctx context.Context, status string) (list []Order, err error) {
	err = s.orders.Get("status", status).Index("byStatus").All(ctx, &list)
	return list, err
}

// Ship adds the postage to the total of an open order.
func (s *Shop) Ship(ctx context.Context, customer string, number, postage int) (o Order, err error) {
	err = s.orders.Update("customer", customer).Range("number", number).
		Set("status", "shipped").Add("total", postage).If("'status' = ?", "open").Value(ctx, &o)
	return o, err
}

// Replace cancels an open order and creates another, both or neither.
func (s *Shop) Replace(ctx context.Context, old, renewed Order) error {
	cancel := s.orders.Update("customer", old.Customer).Range("number", old.Number).Set("status", "cancelled").If("'status' = ?", "open")
	return s.db.WriteTx().Update(cancel).Put(s.orders.Put(renewed).If("attribute_not_exists(customer)")).Run(ctx)
}

func (s *Shop) Import(ctx context.Context, all []Order) error {
	items := make([]any, len(all))
	for i, o := range all {
		items[i] = o
	}
	_, err := s.orders.Batch("customer", "number").Write().Put(items...).Run(ctx)
	return err
}

func (s *Shop) Page(ctx context.Context, customer string, from dynamo.PagingKey) (page []Order, next dynamo.PagingKey, err error) {
	next, err = s.orders.Get("customer", customer).StartFrom(from).SearchLimit(2).AllWithLastEvaluatedKey(ctx, &page)
	return page, next, err
}
