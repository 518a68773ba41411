package main

import (
	"context"
	"crypto/rand"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/guregu/dynamo/v2"
)

// gureguDynamo does the operations with github.com/guregu/dynamo.
type gureguDynamo struct {
	db              *dynamo.DB
	plain, prefixed dynamo.Table
}

func openGuregu(client *dynamodb.Client, names tables) gureguDynamo {
	db := dynamo.NewFromIface(client)
	return gureguDynamo{db, db.Table(names.plain), db.Table(names.prefixed)}
}

const absentText = "attribute_not_exists(pk)"

func (g gureguDynamo) create(ctx context.Context) (any, error) {
	v := order(1)
	return v, g.plain.Put(v).If(absentText).Run(ctx)
}

func (g gureguDynamo) put(ctx context.Context) (any, error) {
	v := order(1)
	return v, g.plain.Put(v).Run(ctx)
}

func (g gureguDynamo) upsert(ctx context.Context) (any, error) {
	v := order(1)
	var stored Order
	err := g.plain.Update("pk", v.PK).Range("sk", v.SK).Set("customer", v.Customer).Set("status", v.Status).Set("note", v.Note).
		Set("placed", v.Placed).Set("quantity", v.Quantity).Set("cents", v.Cents).Set("paid", v.Paid).Set("tags", v.Tags).Value(ctx, &stored)
	return stored, err
}

func (g gureguDynamo) get(ctx context.Context) (any, error) {
	k := orderKey(1)
	var v Order
	err := g.plain.Get("pk", k.PK).Range("sk", dynamo.Equal, k.SK).One(ctx, &v)
	return v, err
}

func (g gureguDynamo) update(ctx context.Context) (any, error) {
	k := orderKey(1)
	var v Order
	err := g.plain.Update("pk", k.PK).Range("sk", k.SK).Set("status", "sent").Set("note", "with the neighbour").Add("quantity", 2).
		If("attribute_exists(pk)").Value(ctx, &v)
	return v, err
}

func (g gureguDynamo) delete(ctx context.Context) (any, error) {
	k := orderKey(1)
	return nil, g.plain.Delete("pk", k.PK).Range("sk", k.SK).If("attribute_exists(pk)").Run(ctx)
}

func (g gureguDynamo) transact(ctx context.Context) (any, error) {
	return nil, g.db.WriteTx().Put(g.plain.Put(order(1)).If(absentText)).Put(g.plain.Put(order(2)).If(absentText)).Run(ctx)
}

func (g gureguDynamo) query(ctx context.Context) (any, error) {
	var vs []Order
	err := g.plain.Get("pk", "tenant-7").Limit(100).All(ctx, &vs)
	return vs, err
}

func (g gureguDynamo) queryPrefixed(ctx context.Context) (any, error) {
	var vs []Prefixed
	err := g.prefixed.Get("pk", "$app#v1#prefixed#tenant-7").Range("sk", dynamo.BeginsWith, "$app#v1#prefixed#").Limit(100).All(ctx, &vs)
	return vs, err
}

func (g gureguDynamo) historyPage(ctx context.Context) (any, error) {
	var vs []Reading
	err := g.prefixed.Get("pk", "$app#v1#reading#device-7").Range("sk", dynamo.BeginsWith, "$app#v1#reading#e#").
		Filter("attribute_not_exists($) OR $ > ?", "_ttl", "_ttl", now.Unix()).Limit(100).All(ctx, &vs)
	return vs, err
}

func (g gureguDynamo) scan(ctx context.Context) (any, error) {
	var vs []Order
	err := g.plain.Scan().All(ctx, &vs)
	return vs, err
}

func (g gureguDynamo) batchGet(ctx context.Context) (any, error) {
	wanted := many(100, orderKey)
	ask := make([]dynamo.Keyed, len(wanted))
	for i, k := range wanted {
		ask[i] = dynamo.Keys{k.PK, k.SK}
	}
	var page []Order
	if err := g.plain.Batch("pk", "sk").Get(ask...).All(ctx, &page); err != nil {
		return nil, err
	}
	found := make(map[[2]string]Order, len(page))
	for _, v := range page {
		found[[2]string{v.PK, v.SK}] = v
	}
	all := make([]Order, len(wanted))
	for i, k := range wanted {
		all[i] = found[[2]string{k.PK, k.SK}]
	}
	return all, nil
}

func (g gureguDynamo) batchWrite(ctx context.Context) (any, error) {
	vs := orders(25)
	items := make([]any, len(vs))
	for i, v := range vs {
		items[i] = v
	}
	_, err := g.plain.Batch("pk", "sk").Write().Put(items...).Run(ctx)
	return nil, err
}

func (g gureguDynamo) appendAlone(ctx context.Context) (any, error) {
	ev := reading(1)
	k, at := currentKeys("reading", ev.Device), ev.At.Format(eventTime)
	current := g.prefixed.Update("pk", k.PK).Range("sk", k.SK).Set("device", ev.Device).Set("at", at).Set("location", ev.Location).
		Set("battery", ev.Battery).Set("speed", ev.Speed).Set("'_w'", k.Write).If("attribute_not_exists($) OR $ < ?", "at", "at", at)
	return nil, g.db.WriteTx().Update(current).Put(g.prefixed.Put(eventOf(ev)).If(absentText)).Run(ctx)
}

func (g gureguDynamo) appendCurrent(ctx context.Context) (any, error) {
	if _, err := g.appendAlone(ctx); err != nil {
		return nil, err
	}
	var v Reading
	err := g.readFor(ctx, currentKeys("reading", "device-7"), &v)
	return v, err
}

func (g gureguDynamo) readFor(ctx context.Context, k keys, into any) error {
	return g.prefixed.Get("pk", k.PK).Range("sk", dynamo.Equal, k.SK).Consistent(true).One(ctx, into)
}

func (g gureguDynamo) versionedUpdate(ctx context.Context) (any, error) {
	var old storedEmployee
	if err := g.readFor(ctx, currentKeys("employee", employee.ID), &old); err != nil {
		return nil, err
	}
	updated, snapshot := old, old
	updated.Level, updated.Version, updated.Write = 5, old.Version+1, rand.Text()
	snapshot.SK = versionKeys(old.Employee).SK
	return updated.Employee, g.db.WriteTx().Put(g.prefixed.Put(updated).If("$ = ?", "_w", old.Write)).
		Put(g.prefixed.Put(snapshot).If("attribute_not_exists(pk) OR $ = ?", "_w", old.Write)).Run(ctx)
}

func (g gureguDynamo) softDelete(ctx context.Context) (any, error) {
	var old storedDocument
	k := currentKeys("document", document.ID)
	if err := g.readFor(ctx, k, &old); err != nil {
		return nil, err
	}
	return nil, g.db.WriteTx().Delete(g.prefixed.Delete("pk", k.PK).Range("sk", k.SK).If("$ = ?", "_w", old.Write)).
		Put(g.prefixed.Put(deletedOf(old.Document, k.Write)).If(absentText)).Run(ctx)
}

func (g gureguDynamo) uniqueCreate(ctx context.Context) (any, error) {
	k := currentKeys("account", account.ID)
	return account, g.db.WriteTx().Put(g.prefixed.Put(storedAccount{k, account}).If(absentText)).
		Put(g.prefixed.Put(claimOf(account, k)).If("attribute_not_exists(pk) OR ($ = ? AND $ = ?)", "_entity_pk", k.PK, "_entity_sk", k.SK)).Run(ctx)
}

func (g gureguDynamo) modify(ctx context.Context) (any, error) {
	k := prefixedKeys("tenant-7", order(1).SK)
	var v storedPrefixed
	if err := g.readFor(ctx, k, &v); err != nil {
		return nil, err
	}
	old := v.Write
	v.Quantity += 2
	v.Status = "sent"
	v.Write = k.Write
	return v.Prefixed, g.prefixed.Put(v).If("$ = ?", "_w", old).Run(ctx)
}
