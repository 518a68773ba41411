package entity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// Verify compares every table that the stores declared so far need with what exists: keys and their types, indexes and
// what they carry, time to live. What a table has beyond that does not matter. It costs two requests per table and
// changes nothing. The error joins one for each table that differs: [ErrNoTable], or a *[SchemaError] that lists the
// differences.
func (db *DB) Verify(ctx context.Context) error {
	if db.runner.Client == nil {
		return ErrNoClient
	}
	var errs []error
	for _, t := range db.declared() {
		if err := db.verifyTable(ctx, t); err != nil {
			errs = append(errs, fmt.Errorf("verify table %s: %w", t.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (db *DB) verifyTable(ctx context.Context, t *schema.Table) error {
	want, err := tableInput(t)
	if err != nil {
		return err
	}
	out, err := db.runner.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name})
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return fmt.Errorf("%w: %w", ErrNoTable, err)
	}
	if err != nil {
		return err
	}
	stored, err := db.storedTTL(ctx, t.Name)
	if err != nil {
		return err
	}
	problems := differences(want, out.Table)
	if attr := ttlOf(t); attr != "" && stored != attr {
		problems = append(problems, fmt.Sprintf("time to live is on %q, the declarations need %q", stored, attr))
	}
	return tableProblem(t.Name, problems)
}

// storedIndex is what matters of an index that exists.
type storedIndex struct {
	key        string
	projection *types.Projection
}

// differences are what an existing table lacks of the declarations: a key, an index, or an attribute that an index
// carries.
func differences(want *dynamodb.CreateTableInput, got *types.TableDescription) []string {
	need, have := attributeTypes(want.AttributeDefinitions), attributeTypes(got.AttributeDefinitions)
	var problems []string
	if a, b := keyLine(want.KeySchema, need), keyLine(got.KeySchema, have); a != b {
		problems = append(problems, fmt.Sprintf("the key is (%s), the declarations need (%s)", b, a))
	}
	stored := map[string]storedIndex{}
	for _, x := range got.GlobalSecondaryIndexes {
		stored[*x.IndexName] = storedIndex{keyLine(x.KeySchema, have), x.Projection}
	}
	for _, x := range got.LocalSecondaryIndexes {
		stored[*x.IndexName] = storedIndex{keyLine(x.KeySchema, have), x.Projection}
	}
	check := func(name string, key []types.KeySchemaElement, p *types.Projection) {
		line := keyLine(key, need)
		switch x, ok := stored[name]; {
		case !ok:
			problems = append(problems, "the index "+name+" is missing")
		case x.key != line:
			problems = append(problems, fmt.Sprintf("index %s has the key (%s), the declarations need (%s)", name, x.key, line))
		default:
			if lacking := notProjected(p, x.projection); lacking != "" {
				problems = append(problems, fmt.Sprintf("index %s does not carry %s", name, lacking))
			}
		}
	}
	for _, x := range want.GlobalSecondaryIndexes {
		check(*x.IndexName, x.KeySchema, x.Projection)
	}
	for _, x := range want.LocalSecondaryIndexes {
		check(*x.IndexName, x.KeySchema, x.Projection)
	}
	return problems
}

func tableProblem(name string, problems []string) error {
	if problems == nil {
		return nil
	}
	return &SchemaError{Code: schema.CodeTableKey, Type: "table " + name, Problem: "the table exists and differs: " + strings.Join(problems, "; ")}
}

func attributeTypes(defs []types.AttributeDefinition) map[string]types.ScalarAttributeType {
	kinds := map[string]types.ScalarAttributeType{}
	for _, d := range defs {
		kinds[*d.AttributeName] = d.AttributeType
	}
	return kinds
}

func keyLine(key []types.KeySchemaElement, kinds map[string]types.ScalarAttributeType) string {
	parts := make([]string, len(key))
	for i, k := range key {
		parts[i] = fmt.Sprintf("%s %s %s", *k.AttributeName, kinds[*k.AttributeName], k.KeyType)
	}
	return strings.Join(parts, ", ")
}

// notProjected says what an index should carry and does not, "" when nothing.
func notProjected(want, got *types.Projection) string {
	switch {
	case got == nil || got.ProjectionType == types.ProjectionTypeAll:
		return ""
	case want.ProjectionType == types.ProjectionTypeAll:
		return "all attributes"
	}
	var lacking []string
	for _, name := range want.NonKeyAttributes {
		if !slices.Contains(got.NonKeyAttributes, name) {
			lacking = append(lacking, name)
		}
	}
	return strings.Join(lacking, ", ")
}
