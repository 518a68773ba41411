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

// Verify compares every table of [DB.Spec] with what exists: keys and their types, indexes and what they carry, time to
// live. What a table has beyond that does not matter, nor does its billing. It costs two requests per table and changes
// nothing. The error joins one for each table that differs: [ErrNoTable], or a *[SchemaError] that lists the
// differences.
func (db *DB) Verify(ctx context.Context) error {
	if db.runner.Client == nil {
		return ErrNoClient
	}
	var errs []error
	for _, t := range db.Spec().Tables {
		if err := db.verifyTable(ctx, t); err != nil {
			errs = append(errs, fmt.Errorf("verify table %s: %w", t.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (db *DB) verifyTable(ctx context.Context, t TableSpec) error {
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
	problems := t.lacking(describedTable(out.Table))
	if t.TTL != "" && stored != t.TTL {
		problems = append(problems, fmt.Sprintf("time to live is on %q, the declarations need %q", stored, t.TTL))
	}
	return tableProblem(t.Name, problems)
}

// describedTable is the key and the indexes of a table that exists.
func describedTable(d *types.TableDescription) TableSpec {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range d.AttributeDefinitions {
		kinds[*a.AttributeName] = a.AttributeType
	}
	key := func(elements []types.KeySchemaElement) (k KeySpec) {
		for _, e := range elements {
			a := AttributeSpec{*e.AttributeName, kinds[*e.AttributeName]}
			if e.KeyType == types.KeyTypeHash {
				k.Partition = append(k.Partition, a)
			} else {
				k.Sort = append(k.Sort, a)
			}
		}
		return k
	}
	t := TableSpec{Key: key(d.KeySchema)}
	for _, x := range d.GlobalSecondaryIndexes {
		t.GSIs = append(t.GSIs, IndexSpec{*x.IndexName, key(x.KeySchema), describedProjection(x.Projection)})
	}
	for _, x := range d.LocalSecondaryIndexes {
		t.LSIs = append(t.LSIs, IndexSpec{*x.IndexName, key(x.KeySchema), describedProjection(x.Projection)})
	}
	return t
}

func describedProjection(p *types.Projection) ProjectionSpec {
	if p == nil {
		return ProjectionSpec{Type: types.ProjectionTypeAll}
	}
	return ProjectionSpec{p.ProjectionType, p.NonKeyAttributes}
}

// lacking is what an existing table lacks of t: a key, an index, or an attribute that an index carries.
func (t TableSpec) lacking(got TableSpec) []string {
	var problems []string
	if a, b := t.Key.String(), got.Key.String(); a != b {
		problems = append(problems, fmt.Sprintf("the key is %s, the declarations need %s", b, a))
	}
	check := func(kind string, need, have []IndexSpec) {
		for _, x := range need {
			i := slices.IndexFunc(have, func(y IndexSpec) bool { return y.Name == x.Name })
			if i < 0 {
				problems = append(problems, "the "+kind+" index "+x.Name+" is missing")
				continue
			}
			y := have[i]
			if a, b := x.Key.String(), y.Key.String(); a != b {
				problems = append(problems, fmt.Sprintf("index %s has the key %s, the declarations need %s", x.Name, b, a))
			} else if lacking := x.Projection.lacking(y.Projection); lacking != "" {
				problems = append(problems, fmt.Sprintf("index %s does not carry %s", x.Name, lacking))
			}
		}
	}
	check("global", t.GSIs, got.GSIs)
	check("local", t.LSIs, got.LSIs)
	return problems
}

// lacking says what an index should carry and does not, "" when nothing.
func (p ProjectionSpec) lacking(got ProjectionSpec) string {
	switch {
	case got.Type == types.ProjectionTypeAll:
		return ""
	case p.Type == types.ProjectionTypeAll:
		return "all attributes"
	}
	var lacking []string
	for _, name := range p.Include {
		if !slices.Contains(got.Include, name) {
			lacking = append(lacking, name)
		}
	}
	return strings.Join(lacking, ", ")
}

func tableProblem(name string, problems []string) error {
	if problems == nil {
		return nil
	}
	return &SchemaError{Code: schema.CodeTableKey, Type: "table " + name, Problem: "the table exists and differs: " + strings.Join(problems, "; ")}
}
