package entity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entitytype"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// IndexClient has the method that a [Client] needs in addition for [AddIndexes]: UpdateTable. *dynamodb.Client has it. Its
// method is shown at [entitytype.IndexClient].
type IndexClient = entitytype.IndexClient

// IndexProgress is the state of an index that [AddIndexes] adds: the Table, the Index by its name in DynamoDB, how long it
// has been built, Active once it can be queried, and whether DynamoDB is Backfilling it from the stored items. DynamoDB does
// not say how much is left. Its fields are shown at [entitytype.IndexProgress].
type IndexProgress = entitytype.IndexProgress

// TablesOption is accepted by [DB.CreateTables]: [AddIndexes].
type TablesOption interface{ opt.TablesOption }

// AddIndexes makes [DB.CreateTables] add the global indexes that existing tables lack, one at a time, as DynamoDB allows,
// and wait until each can be queried. It calls f, which may be nil, after each request for the state of an index that is
// being built. Indexes are never removed or changed, and a table with another difference is not changed at all.
//
// DynamoDB fills the index with the stored items that have its keys. Items that were written before the declaration have
// none: migrate.Rewrite sets them. An index costs a write unit for each KB of each item that enters it.
func AddIndexes(f func(IndexProgress)) TablesOption {
	return opt.ForTables{Do: func(s *opt.Tables) { s.AddIndexes, s.Adding = true, f }}
}

// longestIndexPause is the longest pause between two requests for the state of an index that is being built.
const longestIndexPause = 5 * time.Second

// indexClient returns the client that adds indexes.
func (db *DB) indexClient() (IndexClient, error) {
	if c, ok := db.runner.Client.(IndexClient); ok {
		return c, nil
	}
	return nil, &SchemaError{Code: schema.CodeTableClient, Type: "entity.Config", Problem: fmt.Sprintf("AddIndexes is given, and the client %T is no entity.IndexClient", db.runner.Client)}
}

// missingIndexes returns the global indexes of t that got lacks, and what else it lacks.
func (t TableSpec) missingIndexes(got TableSpec) (missing []IndexSpec, others []Drift) {
	for _, d := range t.lacking(got) {
		i := slices.IndexFunc(t.GSIs, func(x IndexSpec) bool { return x.Name == d.Index })
		if d.Kind == MissingIndex && i >= 0 {
			missing = append(missing, t.GSIs[i])
		} else {
			others = append(others, d)
		}
	}
	return missing, others
}

// addIndexes adds the missing global indexes of a table, which is active. Another program may do the same: DynamoDB then
// refuses the request, and the next look at the table shows its index.
func (db *DB) addIndexes(ctx context.Context, c IndexClient, t TableSpec, report func(IndexProgress)) error {
	refusals, before := 0, -1
	for {
		got, err := db.awaitTable(ctx, t)
		if err != nil {
			return err
		}
		missing, others := t.missingIndexes(describedTable(got))
		if len(missing) == 0 || len(others) > 0 {
			return nil // the caller compares the table
		}
		if len(missing) != before {
			refusals, before = 0, len(missing)
		}
		start := time.Now()
		switch err := db.addIndex(ctx, c, t, missing[0]); {
		case err == nil:
			if err := db.awaitIndex(ctx, t, missing[0].Name, start, report); err != nil {
				return err
			}
		case elsewhere(err) && refusals < mostLooks:
			refusals++
			if err := exec.Sleep(ctx, tablePause); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// addIndex requests an index.
func (db *DB) addIndex(ctx context.Context, c IndexClient, t TableSpec, x IndexSpec) error {
	in := &dynamodb.UpdateTableInput{
		TableName: &t.Name,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: &x.Name, KeySchema: x.Key.elements(), Projection: x.Projection.input(), ProvisionedThroughput: x.Throughput.input(),
		}}},
	}
	for _, a := range slices.Concat(x.Key.Partition, x.Key.Sort) {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &a.Name, AttributeType: a.Type})
	}
	err := db.runner.Manage(ctx, t.Name, func(once func(*dynamodb.Options)) error {
		_, err := c.UpdateTable(ctx, in, once)
		return err
	})
	var many *types.LimitExceededException
	if errors.As(err, &many) { // another index of the table is being built
		err = &types.ResourceInUseException{Message: many.Message}
	}
	return err
}

// awaitIndex waits until an index can be queried.
func (db *DB) awaitIndex(ctx context.Context, t TableSpec, index string, start time.Time, report func(IndexProgress)) error {
	for pause := tablePause; ; pause = min(2*pause, longestIndexPause) {
		got, err := db.runner.DescribeTable(ctx, t.Name)
		if err != nil {
			return err
		}
		p := IndexProgress{Table: t.Name, Index: index, Elapsed: time.Since(start)}
		for _, x := range got.GlobalSecondaryIndexes {
			if x.IndexName != nil && *x.IndexName == index {
				p.Active, p.Backfilling = x.IndexStatus == types.IndexStatusActive, x.Backfilling != nil && *x.Backfilling
			}
		}
		if report != nil {
			report(p)
		}
		if p.Active {
			return nil
		}
		if err := exec.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}
