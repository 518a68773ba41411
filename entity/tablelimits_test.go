package entity_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// wide is the spec of a table with indexes that carry so many attributes each.
func wide(carried ...int) entity.Spec {
	key := entity.KeySpec{Partition: []entity.AttributeSpec{{Name: "pk", Type: "S"}}}
	t := entity.TableSpec{Name: "wide", Key: key, Billing: types.BillingModePayPerRequest}
	for i, n := range carried {
		x := entity.IndexSpec{Name: fmt.Sprintf("gsi%d", i), Key: key, Projection: entity.ProjectionSpec{Type: "INCLUDE"}}
		for j := range n {
			x.Projection.Include = append(x.Projection.Include, fmt.Sprintf("a%02d", j))
		}
		t.GSIs = append(t.GSIs, x)
	}
	return entity.Spec{Tables: []entity.TableSpec{t}}
}

func TestSpec_RefusesWhatNoTableCanHave(t *testing.T) {
	t.Parallel()
	require.NoError(t, wide(20, 20, 20, 20, 20).Err())
	mistakes := schemaErrors(t, wide(20, 21).Err())[""]
	require.Contains(t, mistakes, "EDD-9071 index gsi1 would carry 21 attributes")
	require.Equal(t, 1, strings.Count(mistakes, "EDD"))
	mistakes = schemaErrors(t, wide(20, 20, 20, 20, 20, 1).Err())[""]
	require.Contains(t, mistakes, "EDD-9071 its indexes would carry 101 attributes")
	require.Equal(t, 1, strings.Count(mistakes, "EDD"))

	s := wide()
	s.Tables[0].LSIs = wide(1, 1, 1, 1, 1).Tables[0].GSIs
	require.NoError(t, s.Err())
	s.Tables[0].LSIs = wide(1, 1, 1, 1, 1, 1).Tables[0].GSIs
	require.Contains(t, schemaErrors(t, s.Err())[""], "EDD-9070")
	for code, spec := range map[string]entity.Spec{"EDD-9070": s, "EDD-9071": wide(21)} {
		var mistake *entity.SchemaError
		require.ErrorAs(t, spec.CheckNew(), &mistake)
		require.Equal(t, code, mistake.Code)
	}
}

// FirstHalf and SecondHalf share an index, which is allowed 20 attributes; each asks for 10, and the library needs one.
type FirstHalf struct {
	_ entity.Key `name:"FirstHalf" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"lean" index:"gsi1" pk:"$#{a0}" project:"a0,a1,a2,a3,a4,a5,a6,a7,a8,a9"`

	ID string `dynamodbav:"id"`
	A0 string `dynamodbav:"a0,omitempty"`
	A1 string `dynamodbav:"a1,omitempty"`
	A2 string `dynamodbav:"a2,omitempty"`
	A3 string `dynamodbav:"a3,omitempty"`
	A4 string `dynamodbav:"a4,omitempty"`
	A5 string `dynamodbav:"a5,omitempty"`
	A6 string `dynamodbav:"a6,omitempty"`
	A7 string `dynamodbav:"a7,omitempty"`
	A8 string `dynamodbav:"a8,omitempty"`
	A9 string `dynamodbav:"a9,omitempty"`
}

type SecondHalf struct {
	_ entity.Key `name:"SecondHalf" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"lean" index:"gsi1" pk:"$#{b0}" project:"b0,b1,b2,b3,b4,b5,b6,b7,b8,b9"`

	ID string `dynamodbav:"id"`
	B0 string `dynamodbav:"b0,omitempty"`
	B1 string `dynamodbav:"b1,omitempty"`
	B2 string `dynamodbav:"b2,omitempty"`
	B3 string `dynamodbav:"b3,omitempty"`
	B4 string `dynamodbav:"b4,omitempty"`
	B5 string `dynamodbav:"b5,omitempty"`
	B6 string `dynamodbav:"b6,omitempty"`
	B7 string `dynamodbav:"b7,omitempty"`
	B8 string `dynamodbav:"b8,omitempty"`
	B9 string `dynamodbav:"b9,omitempty"`
}

func TestCreateTables_CountsWhatAnIndexCarriesForAllEntities(t *testing.T) {
	t.Parallel()
	db := served(t, "app")
	declare[FirstHalf](t, db)
	require.NoError(t, db.Spec().Err())
	declare[SecondHalf](t, db)
	require.Contains(t, schemaErrors(t, db.CreateTables(t.Context()))[""], "EDD-9071 index gsi1 would carry 21 attributes")
	require.Contains(t, schemaErrors(t, db.Verify(t.Context()))[""], "EDD-9071")
}

// mute is a client that must not be asked.
type mute struct {
	entity.Client
	t *testing.T
}

func (m mute) CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	m.t.Error("a request was made")
	return nil, context.Canceled
}

func (m mute) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	m.t.Error("a request was made")
	return nil, context.Canceled
}

// served is a database with a client that must not be asked.
func served(t *testing.T, table string) *entity.DB {
	t.Helper()
	db, err := entity.Open(mute{t: t}, entity.Config{Table: table, Tables: map[string]string{"logs": "x"}})
	require.NoError(t, err)
	return db
}

func TestNew_RefusesTheSixthLocalIndexOfATable(t *testing.T) {
	t.Parallel()
	type Five struct {
		_ entity.Key `name:"Five" pk:"$#{id}" sk:"$"`
		_ entity.LSI `name:"a" index:"lsi1" sk:"lsi1sk={id}"`
		_ entity.LSI `name:"b" index:"lsi2" sk:"lsi2sk={id}"`
		_ entity.LSI `name:"c" index:"lsi3" sk:"lsi3sk={id}"`
		_ entity.LSI `name:"d" index:"lsi4" sk:"lsi4sk={id}"`
		_ entity.LSI `name:"e" index:"lsi5" sk:"lsi5sk={id}"`

		ID string `dynamodbav:"id"`
	}
	type Same struct {
		_ entity.Key `name:"Same" pk:"$#{id}" sk:"$"`
		_ entity.LSI `name:"e" index:"lsi5" sk:"lsi5sk={id}"`

		ID string `dynamodbav:"id"`
	}
	type Sixth struct {
		_ entity.Key `name:"Sixth" pk:"$#{id}" sk:"$"`
		_ entity.LSI `name:"f" index:"lsi6" sk:"lsi6sk={id}"`

		ID string `dynamodbav:"id"`
	}
	db := paper(t)
	declare[Five](t, db)
	declare[Same](t, db)
	_, err := entity.New[Sixth](db)
	var mistake *entity.SchemaError
	require.ErrorAs(t, err, &mistake)
	require.Equal(t, "EDD-9070", mistake.Code)
	require.Len(t, db.Spec().Tables[0].LSIs, 5)
}

// Keys are in every index, and DynamoDB counts them among the attributes that an index can be given beside them.
func TestSpec_DoesNotProjectKeys(t *testing.T) {
	t.Parallel()
	type Lean struct {
		_ entity.Key `name:"Lean" table:"lean" pk:"id" sk:"day"`
		_ entity.GSI `name:"a" index:"gsi1" pk:"owner" sk:"at" project:"id,day,owner,at"`
		_ entity.GSI `name:"b" index:"gsi2" pk:"owner" project:"id,note,owner,at"`

		ID    string `dynamodbav:"id"`
		Day   string `dynamodbav:"day"`
		Owner string `dynamodbav:"owner,omitempty"`
		At    string `dynamodbav:"at,omitempty"`
		Note  string `dynamodbav:"note,omitempty"`
	}
	db := paper(t)
	declare[Lean](t, db)
	gsis := db.Spec().Tables[0].GSIs
	require.Equal(t, entity.ProjectionSpec{Type: types.ProjectionTypeKeysOnly}, gsis[0].Projection)
	require.Equal(t, entity.ProjectionSpec{Type: types.ProjectionTypeInclude, Include: []string{"note", "at"}}, gsis[1].Projection)
}

func TestCreateTables_ATableIsMadeByName(t *testing.T) {
	t.Parallel()
	type Line struct {
		_ entity.Key `name:"Line" table:"logs" pk:"$#{id}" sk:"$"`

		ID string `dynamodbav:"id"`
	}
	db := served(t, "arn:aws:dynamodb:eu-west-1:123456789012:table/app")
	declare[Team](t, db)
	declare[Line](t, db)
	require.NoError(t, db.Spec().Err(), "such a table can be used and verified")
	for _, err := range []error{db.CreateTables(t.Context()), db.Spec().CheckNew()} {
		mistakes := schemaErrors(t, err)
		require.Contains(t, mistakes["Table"], "EDD-9050")
		require.Contains(t, mistakes[`Tables["logs"]`], `EDD-9050 a table cannot be made with the name "x"`)
	}
	for name, fine := range map[string]bool{
		"a.B-9_": true, strings.Repeat("n", 255): true, strings.Repeat("n", 256): false, "ab": false, "a b": false, "abc\n": false,
	} {
		spec := wide()
		spec.Tables[0].Name = name
		require.Equal(t, fine, spec.CheckNew() == nil, "%q", name)
	}
}
