package main

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// ours does the operations with this library.
type ours struct {
	db        *entity.DB
	orders    *entity.Store[Order]
	prefixed  *entity.Store[Prefixed]
	readings  *timeseries.Series[Reading]
	employees *entity.Store[Employee]
	history   *versioned.History[Employee]
	documents *entity.Store[Document]
	accounts  *entity.Store[Account]
}

func openOurs(client *dynamodb.Client, names tables, configure ...func(*entity.Config)) *ours {
	cfg := entity.Config{Tables: map[string]string{"plain": names.plain, "prefixed": names.prefixed}, Clock: func() time.Time { return now }}
	for _, f := range configure {
		f(&cfg)
	}
	db := entity.Must(entity.Open(client, cfg))
	o := &ours{
		db: db, orders: entity.Must(entity.New[Order](db)), prefixed: entity.Must(entity.New[Prefixed](db)),
		readings: entity.Must(timeseries.New[Reading](db)), employees: entity.Must(entity.New[Employee](db)),
		documents: entity.Must(entity.New[Document](db)), accounts: entity.Must(entity.New[Account](db)),
	}
	o.history = entity.Must(versioned.Of(o.employees))
	return o
}

func (o *ours) create(ctx context.Context) (any, error) { return o.orders.Create(ctx, order(1)) }

func (o *ours) put(ctx context.Context) (any, error) { return o.orders.Put(ctx, order(1)) }

func (o *ours) upsert(ctx context.Context) (any, error) {
	v, _, err := o.orders.Upsert(ctx, order(1))
	return v, err
}

func (o *ours) get(ctx context.Context) (any, error) {
	return o.orders.Get(ctx, Order{PK: "tenant-7", SK: "order-000001"})
}

func (o *ours) update(ctx context.Context) (any, error) {
	f := entity.Fields[Order]()
	return o.orders.Update(ctx, Order{PK: "tenant-7", SK: "order-000001"},
		entity.Set(&f.Status, "sent"), entity.Set(&f.Note, "with the neighbour"), entity.Add(&f.Quantity, 2))
}

func (o *ours) delete(ctx context.Context) (any, error) {
	return nil, o.orders.Delete(ctx, Order{PK: "tenant-7", SK: "order-000001"})
}

func (o *ours) transact(ctx context.Context) (any, error) {
	ops := o.orders.Op()
	return nil, o.db.Transact(ctx, ops.Create(order(1)), ops.Create(order(2)))
}

func (o *ours) query(ctx context.Context) (any, error) {
	return o.orders.Query(Order{PK: "tenant-7"}, entity.Limit(100)).Collect(ctx)
}

func (o *ours) queryPrefixed(ctx context.Context) (any, error) {
	return o.prefixed.Query(Prefixed{Tenant: "tenant-7"}, entity.Limit(100)).Collect(ctx)
}

func (o *ours) historyPage(ctx context.Context) (any, error) {
	return o.readings.History(Reading{Device: "device-7"}, entity.Limit(100)).Collect(ctx)
}

func (o *ours) scan(ctx context.Context) (any, error) { return o.orders.Scan().Collect(ctx) }

func (o *ours) batchGet(ctx context.Context) (any, error) {
	found, err := o.orders.GetMany(ctx, many(100, orderKey))
	if err != nil {
		return nil, err
	}
	all := make([]Order, len(found))
	for i, p := range found {
		all[i] = *p
	}
	return all, nil
}

func (o *ours) batchWrite(ctx context.Context) (any, error) {
	_, err := o.orders.PutMany(ctx, orders(25))
	return nil, err
}

func (o *ours) appendAlone(ctx context.Context) (any, error) {
	res, err := o.readings.Append(ctx, reading(1))
	return nil, applied(res, err)
}

func (o *ours) appendCurrent(ctx context.Context) (any, error) {
	res, err := o.readings.Append(ctx, reading(1))
	if err := applied(res, err); err != nil {
		return nil, err
	}
	return res.Current(ctx)
}

// applied makes an outcome an error, as it is for the other libraries.
func applied(res timeseries.Result[Reading], err error) error {
	if err == nil && !res.Applied {
		return &timeseries.NotAppliedError{Reason: res.Reason}
	}
	return err
}

func (o *ours) versionedUpdate(ctx context.Context) (any, error) {
	return o.employees.Update(ctx, Employee{ID: employee.ID}, entity.Set(&entity.Fields[Employee]().Level, 5))
}

func (o *ours) softDelete(ctx context.Context) (any, error) {
	return nil, o.documents.Delete(ctx, Document{ID: document.ID})
}

func (o *ours) uniqueCreate(ctx context.Context) (any, error) { return o.accounts.Create(ctx, account) }

func (o *ours) modify(ctx context.Context) (any, error) {
	key := prefixed(1)
	return o.prefixed.Modify(ctx, Prefixed{Tenant: key.Tenant, ID: key.ID}, func(p *Prefixed) error {
		p.Quantity += 2
		p.Status = "sent"
		return nil
	})
}

func orderKey(i int) Order { return Order{PK: "tenant-7", SK: order(i).SK} }
