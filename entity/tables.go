package entity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// tablePause is the time between two looks at a table that is being created.
const tablePause = 200 * time.Millisecond

// CreateTables creates, on demand billing, every table that the stores declared so far need, with its key, indexes and
// time to live, and waits until all of it is active or ctx ends. A table that exists is not changed, except that its
// time to live is enabled; a key or index that it lacks is an error. The waiting costs a DescribeTable every 200 ms.
func (db *DB) CreateTables(ctx context.Context) error {
	if db.runner.Client == nil {
		return ErrNoClient
	}
	for _, t := range db.declared() {
		if err := db.createTable(ctx, t); err != nil {
			return fmt.Errorf("create table %s: %w", t.Name, err)
		}
	}
	return nil
}

// declared are the tables of the stores declared so far.
func (db *DB) declared() []*schema.Table {
	db.mu.Lock()
	defer db.mu.Unlock()
	tables := make([]*schema.Table, 0, len(db.order))
	for _, name := range db.order {
		tables = append(tables, db.tables[name])
	}
	return tables
}

func (db *DB) createTable(ctx context.Context, t *schema.Table) error {
	want, err := tableInput(t)
	if err != nil {
		return err
	}
	var exists *types.ResourceInUseException
	if _, err := db.runner.Client.CreateTable(ctx, want); err != nil && !errors.As(err, &exists) {
		return err
	}
	got, err := db.awaitTable(ctx, t.Name)
	if err != nil {
		return err
	}
	if err := tableProblem(t.Name, differences(want, got)); err != nil {
		return err
	}
	return db.enableTTL(ctx, t)
}

// tableInput is the request that creates t: attributes and indexes in a fixed order.
func tableInput(t *schema.Table) (*dynamodb.CreateTableInput, error) {
	kinds, err := schema.AttributeTypes(t.Entities)
	if err != nil {
		return nil, err
	}
	in := &dynamodb.CreateTableInput{TableName: &t.Name, BillingMode: types.BillingModePayPerRequest}
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: kinds[name]})
	}
	first := t.Entities[0]
	in.KeySchema = keySchema(first.PK, first.SK)
	for _, x := range indexes(t) {
		if x.Local {
			in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes, types.LocalSecondaryIndex{
				IndexName: &x.Index, KeySchema: keySchema(first.PK, x.SK), Projection: projection(t, x),
			})
			continue
		}
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: &x.Index, KeySchema: keySchema(x.PK, x.SK), Projection: projection(t, x),
		})
	}
	return in, nil
}

// indexes returns the table's indexes, each once, in order of declaration.
func indexes(t *schema.Table) []*schema.Index {
	var all []*schema.Index
	for _, s := range t.Entities {
		for _, x := range s.Indexes {
			if !slices.ContainsFunc(all, func(y *schema.Index) bool { return y.Index == x.Index }) {
				all = append(all, x)
			}
		}
	}
	return all
}

func keySchema(pk, sk *schema.Half) []types.KeySchemaElement {
	var elements []types.KeySchemaElement
	for _, name := range pk.Attributes() {
		elements = append(elements, types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyTypeHash})
	}
	for _, name := range sk.Attributes() {
		elements = append(elements, types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyTypeRange})
	}
	return elements
}

// projection merges what the entities on the index ask for. Beside it the index carries what queries filter by.
func projection(t *schema.Table, x *schema.Index) *types.Projection {
	var include []string
	add := func(name string) {
		if !slices.Contains(include, name) {
			include = append(include, name)
		}
	}
	for _, s := range t.Entities {
		for _, y := range s.Indexes {
			if y.Index != x.Index {
				continue
			}
			if y.Project.All {
				return &types.Projection{ProjectionType: types.ProjectionTypeAll}
			}
			for _, name := range y.Project.Include {
				add(name)
			}
			if s.Hidden {
				add(schema.EntityAttr)
			}
			if s.Discriminator != nil {
				add(s.Discriminator.Attr)
			}
			if s.Expires {
				add(s.Options.TTL)
			}
		}
	}
	if include == nil {
		return &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
	}
	return &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: include}
}

// awaitTable waits until the table and its indexes are active.
func (db *DB) awaitTable(ctx context.Context, name string) (*types.TableDescription, error) {
	for {
		out, err := db.runner.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil {
			return nil, err
		}
		ready := out.Table.TableStatus == types.TableStatusActive
		for _, x := range out.Table.GlobalSecondaryIndexes {
			ready = ready && x.IndexStatus == types.IndexStatusActive
		}
		if ready {
			return out.Table, nil
		}
		if err := exec.Sleep(ctx, tablePause); err != nil {
			return nil, err
		}
	}
}

// enableTTL turns the table's time to live on if an entity on it writes the attribute.
func (db *DB) enableTTL(ctx context.Context, t *schema.Table) error {
	attr := ttlOf(t)
	if attr == "" {
		return nil
	}
	stored, err := db.storedTTL(ctx, t.Name)
	switch {
	case err != nil || stored == attr:
		return err
	case stored != "":
		return &SchemaError{Code: schema.CodeTTLAttr, Type: "table " + t.Name, Problem: fmt.Sprintf("time to live is enabled on %q, the declarations need %q", stored, attr)}
	}
	enabled := true
	_, err = db.runner.Client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &t.Name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attr, Enabled: &enabled},
	})
	return err
}

// ttlOf is the attribute that entities on t expire by, "" when none does.
func ttlOf(t *schema.Table) string {
	for _, s := range t.Entities {
		if s.UsesTTL {
			return s.Options.TTL
		}
	}
	return ""
}

// storedTTL is the attribute that the table expires items by, "" when it does not.
func (db *DB) storedTTL(ctx context.Context, table string) (string, error) {
	out, err := db.runner.Client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil {
		return "", err
	}
	d := out.TimeToLiveDescription
	if d == nil || d.AttributeName == nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return "", nil
	}
	return *d.AttributeName, nil
}
