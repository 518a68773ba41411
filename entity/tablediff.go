package entity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// storedIndex is what matters of an index that exists.
type storedIndex struct {
	key        string
	projection *types.Projection
}

// sameTable finds what an existing table lacks of the declarations: a key, an index, or an attribute that an index
// carries. What it has beyond them does not matter.
func sameTable(want *dynamodb.CreateTableInput, got *types.TableDescription) error {
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
	if problems == nil {
		return nil
	}
	return &SchemaError{Code: schema.CodeTableKey, Type: "table " + *want.TableName, Problem: "the table exists and differs: " + strings.Join(problems, "; ")}
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
