package tables

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
)

// An indexClient has the operations that [AddIndexes] needs in addition to those of [entity.Client].
type indexClient interface {
	UpdateTable(context.Context, *dynamodb.UpdateTableInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error)
}

// IndexProgress is the progress of a global index that is added to a table; see [OnIndex]. The numbers of items are estimates of DynamoDB,
// which it renews about every six hours.
type IndexProgress struct {
	Table       string // physical name
	Index       string // name in DynamoDB
	Backfilling bool   // DynamoDB is reading the table's items; before that it allocates resources
	Items       int64  // in the index
	TableItems  int64  // in the table, of all entities
}

// options holds the settings of one call.
type options struct {
	add      bool
	building func(IndexProgress) // nil: not reported
	mistakes []string
}

// Option is accepted by [Create]: [AddIndexes], [OnIndex].
type Option struct{ apply func(*options) }

// collect applies opts. A mistake is an *[entity.InputError] with code EDD-9108.
func collect(opts []Option) (how options, err error) {
	for _, o := range opts {
		if o.apply == nil {
			how.mistakes = append(how.mistakes, "an option is nil or a zero value; use the functions that make options")
			continue
		}
		o.apply(&how)
	}
	if how.mistakes != nil {
		err = &entity.InputError{Code: bind.CodeOption, Type: "entity.DB", Problem: "CreateTables: " + how.mistakes[0]}
	}
	return how, err
}

// AddIndexes makes Create add the global indexes that an existing table lacks, one after the other as DynamoDB
// demands, and wait until each is built. It adds none if the table differs from the declarations in something else that
// cannot be changed, and never changes or removes an index. DynamoDB fills a new index with the items that have its key
// attributes. Items from before the index was declared lack them; migrate.Rewrite sets them. Filling an index
// consumes write units of the index for each item, and no read units of the table.
func AddIndexes() Option { return Option{func(how *options) { how.add = true }} }

// OnIndex makes Create call f for each index that is not active yet, after each look at its table: every 200 ms.
func OnIndex(f func(IndexProgress)) Option {
	return Option{func(how *options) {
		if how.building = f; f == nil {
			how.mistakes = append(how.mistakes, "OnIndex needs a function")
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
func (m *manager) addIndexes(ctx context.Context, t Table, got *types.TableDescription, building func(IndexProgress)) (*types.TableDescription, error) {
	for n := 1; ; n++ {
		missing := t.addable(describedTable(got))
		if missing == nil {
			return got, nil
		}
		err := m.addIndex(ctx, *missing, got)
		if err != nil && (n >= mostLooks || !elsewhere(err)) {
			return got, err
		}
		if err == nil {
			n = 0
		} else if err := m.pause(ctx); err != nil {
			return got, err
		}
		if got, err = m.awaitTable(ctx, t, building); err != nil {
			return got, err
		}
	}
}

// addable returns the first global index that a table lacks; nil if it has all of them, or differs in something else.
func (t Table) addable(got Table) *Index {
	var missing *Index
	for _, d := range t.lacking(got) {
		i := slices.IndexFunc(t.GSIs, func(x Index) bool { return x.Name == d.Index })
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
func (m *manager) addIndex(ctx context.Context, x Index, table *types.TableDescription) error {
	capacity, has := x.Throughput, describedTable(table)
	switch {
	case has.Billing != provisioned:
		capacity = entity.Throughput{}
	case capacity == (entity.Throughput{}):
		capacity = has.Throughput
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
			IndexName: &x.Name, KeySchema: x.Key.elements(), Projection: x.Projection.input(), ProvisionedThroughput: units(capacity),
		}}},
	}
	_, err := ask(ctx, m, m.runner.Client.(indexClient).UpdateTable, "UpdateTable", *table.TableName, in)
	return err
}
