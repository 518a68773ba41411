package entity

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/write"
)

// indexClient is what a [Client] needs in addition for [AddIndexes].
type indexClient interface {
	UpdateTable(context.Context, *dynamodb.UpdateTableInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error)
}

// IndexProgress is the progress of an index that is built; see [OnIndex]. It has the Table, the Index, whether DynamoDB is
// Backfilling it, and estimates of the Items in the index and the TableItems. Its fields are shown at
// [entitytype.IndexProgress].
type IndexProgress = entitytype.IndexProgress

type tablesOption struct {
	write.ForTables
	write.Setting
}

// TablesOption is accepted by [DB.CreateTables]: [AddIndexes], [OnIndex].
type TablesOption interface{ write.TablesOption }

// AddIndexes makes CreateTables add the global indexes that an existing table lacks, one after the other as DynamoDB
// demands, and wait until each is built. It adds none if the table differs from the declarations in something else that
// cannot be changed, and never changes or removes an index. DynamoDB fills a new index with the items that have its key
// attributes. Items from before the index was declared lack them; migrate.Rewrite sets them. Filling an index
// consumes write units of the index for each item, and no read units of the table.
func AddIndexes() TablesOption {
	return tablesOption{Setting: func(o *write.Options) { o.AddIndexes = true }}
}

// OnIndex makes CreateTables call f for each index that is not active yet, after each look at its table: every 200 ms.
func OnIndex(f func(IndexProgress)) TablesOption {
	return tablesOption{Setting: func(o *write.Options) {
		if o.Building = f; f == nil {
			o.Add(errors.New("OnIndex needs a function"))
		}
	}}
}

// reportIndexes reports the indexes of a table that are not active.
func reportIndexes(d *types.TableDescription, report func(IndexProgress)) {
	for _, x := range d.GlobalSecondaryIndexes {
		if x.IndexStatus == types.IndexStatusActive || x.IndexName == nil || d.TableName == nil {
			continue
		}
		p := IndexProgress{Table: *d.TableName, Index: *x.IndexName, Backfilling: x.Backfilling != nil && *x.Backfilling}
		if x.ItemCount != nil {
			p.Items = *x.ItemCount
		}
		if d.ItemCount != nil {
			p.TableItems = *d.ItemCount
		}
		report(p)
	}
}

// addIndexes adds the global indexes that the table lacks, and returns the table when all are active. Another program may
// do the same: then DynamoDB refuses a request because an index is being built or exists, and the next look at the table
// shows it.
func (db *DB) addIndexes(ctx context.Context, t TableSpec, got *types.TableDescription, building func(IndexProgress)) (*types.TableDescription, error) {
	for n := 1; ; n++ {
		missing := t.addable(describedTable(got))
		if missing == nil {
			return got, nil
		}
		err := db.addIndex(ctx, *missing, got)
		if err != nil && (n >= mostLooks || !elsewhere(err)) {
			return got, err
		}
		if err == nil {
			n = 0
		} else if err := engine.Sleep(ctx, tablePause); err != nil {
			return got, err
		}
		if got, err = db.awaitTable(ctx, t, building); err != nil {
			return got, err
		}
	}
}

// addable returns the first global index that a table lacks; nil if it has all of them, or differs in something else.
func (t TableSpec) addable(got TableSpec) *IndexSpec {
	var missing *IndexSpec
	for _, d := range t.lacking(got) {
		i := slices.IndexFunc(t.GSIs, func(x IndexSpec) bool { return x.Name == d.Index })
		if d.Kind != MissingIndex || i < 0 {
			return nil
		}
		if missing == nil {
			missing = &t.GSIs[i]
		}
	}
	return missing
}

// addIndex starts the building of an index of a table. An index of a provisioned table has the table's units unless it has
// its own; an on-demand table has none, whatever is declared.
func (db *DB) addIndex(ctx context.Context, x IndexSpec, table *types.TableDescription) error {
	units, has := x.Throughput, describedTable(table)
	switch {
	case has.Billing != provisioned:
		units = Throughput{}
	case units == (Throughput{}):
		units = has.Throughput
	}
	attrs := slices.Clone(table.AttributeDefinitions)
	for _, a := range slices.Concat(x.Key.Partition, x.Key.Sort) {
		if !slices.ContainsFunc(attrs, func(d types.AttributeDefinition) bool { return *d.AttributeName == a.Name }) {
			attrs = append(attrs, types.AttributeDefinition{AttributeName: &a.Name, AttributeType: a.Type})
		}
	}
	in := &dynamodb.UpdateTableInput{
		TableName: table.TableName, AttributeDefinitions: attrs,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: &x.Name, KeySchema: x.Key.elements(), Projection: x.Projection.input(), ProvisionedThroughput: units.input(),
		}}},
	}
	client := db.runner.Client.(indexClient)
	return db.runner.Manage(ctx, "UpdateTable", *table.TableName, func(ctx context.Context, once func(*dynamodb.Options)) error {
		_, err := client.UpdateTable(ctx, in, once)
		return err
	})
}
