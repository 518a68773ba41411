package rules_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/tables"
)

// Followed is read from the table's stream; Unfollowed shares its table.
type Followed struct {
	_ entity.Key `name:"Followed" pk:"$#{id}" sk:"$" stream:"both"`
	_ entity.GSI `name:"byKind" index:"gsi1" pk:"$#{kind}"`
	_ entity.GSI `name:"byDay" index:"gsi2" pk:"$#{day}"`

	ID   string `dynamodbav:"id"`
	Kind string `dynamodbav:"kind,omitempty"`
	Day  string `dynamodbav:"day,omitempty"`
}

type Unfollowed struct {
	_ entity.Key `name:"Unfollowed" pk:"$#{id}" sk:"$"`

	ID string `dynamodbav:"id"`
}

// schemaErrors are the mistakes that err joins.
func schemaErrors(t *testing.T, err error) map[string]string {
	t.Helper()
	found := map[string]string{}
	var walk func(error)
	walk = func(err error) {
		var one *entity.SchemaError
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range many.Unwrap() {
				walk(e)
			}
		} else if errors.As(err, &one) {
			found[one.Field] += one.Code + " " + one.Problem + "\n"
		}
	}
	walk(err)
	return found
}

func TestStream_IsOneForATable(t *testing.T) {
	t.Parallel()
	type Other struct {
		_ entity.Key `name:"Other" pk:"$#{id}" sk:"$" stream:"keys"`

		ID string `dynamodbav:"id"`
	}
	type Wrong struct {
		_ entity.Key `name:"Wrong" pk:"$#{id}" sk:"$" stream:"all"`

		ID string `dynamodbav:"id"`
	}
	db := paper(t)
	dbtest.Declare[Unfollowed](t, db)
	require.Empty(t, tables.Of(db).Tables[0].Stream)
	dbtest.Declare[Followed](t, db)
	require.Equal(t, types.StreamViewTypeNewAndOldImages, tables.Of(db).Tables[0].Stream, "who does not read the stream does not mind")
	_, err := entity.New[Other](db)
	require.Equal(t, "EDD-9067", dbtest.SchemaCode(err))
	require.Len(t, tables.Of(db).Tables[0].Entities, 2)
	_, err = entity.New[Wrong](paper(t))
	require.Equal(t, "EDD-9003", dbtest.SchemaCode(err))
}

func TestOpen_ReportsEveryMistakeOfTableOptions(t *testing.T) {
	t.Parallel()
	_, err := entity.Open(nil, entity.Config{Table: "app", TableOptions: map[string]entity.TableOptions{
		"":     {Provisioned: &entity.Throughput{Read: 0, Write: 5}, Indexes: map[string]entity.Throughput{"gsi1": {Read: 1, Write: -1}, "gsi2": {Read: 1, Write: 1}}},
		"logs": {Indexes: map[string]entity.Throughput{"gsi1": {Read: 1, Write: 1}}},
		"fine": {Provisioned: &entity.Throughput{Read: 1, Write: 1}},
	}})
	require.Equal(t, map[string]string{
		`TableOptions[""]`: "EDD-9050 the units of the table must be 1 or more, not 0 and 5\n" +
			"EDD-9050 the units of index gsi1 must be 1 or more, not 1 and -1\n",
		`TableOptions["logs"]`: "EDD-9050 Indexes needs Provisioned: the indexes of an on demand table are on demand too\n",
	}, schemaErrors(t, err))
}

func TestTableOptions_ThatDoNotFitTheDeclarationsAreRefused(t *testing.T) {
	t.Parallel()
	l := dbtest.Open(t, func(c *entity.Config) {
		c.Tables = map[string]string{"logs": c.Table, "spare": c.Table + "-spare"}
		c.TableOptions = map[string]entity.TableOptions{
			"":             {Provisioned: &entity.Throughput{Read: 1, Write: 2}, Indexes: map[string]entity.Throughput{"gsi9": {Read: 1, Write: 1}}},
			"logs":         {DeletionProtection: true},
			"typo":         {},
			c.Table:        {},
			"spare-unused": {PointInTimeRecovery: true},
		}
	})
	dbtest.Declare[Followed](t, l.DB)
	type Line struct {
		_ entity.Key `name:"Line" table:"logs" pk:"$#{id}" sk:"$"`

		ID string `dynamodbav:"id"`
	}
	dbtest.Declare[Line](t, l.DB)
	want := map[string]string{
		`TableOptions[""]`:             "EDD-9068 Indexes names gsi9, which is no global index of table " + l.Table + "\n",
		`TableOptions["logs"]`:         `EDD-9068 differs from TableOptions[""], and both names lead to table ` + l.Table + "\n",
		`TableOptions["typo"]`:         "EDD-9068 no entity that is declared names this table\n",
		`TableOptions["spare-unused"]`: "EDD-9068 no entity that is declared names this table\n",
		`TableOptions["` + l.Table + `"]`: "EDD-9068 no entity that is declared names this table; " +
			`it is the physical name of the table that entities call ""` + "\n",
	}
	require.Equal(t, want, schemaErrors(t, tables.Of(l.DB).Err()))
	require.Equal(t, want, schemaErrors(t, tables.Create(t.Context(), l.DB)))
	require.Equal(t, want, schemaErrors(t, tables.Verify(t.Context(), l.DB)))
	require.Empty(t, l.Operations())
	require.Equal(t, "EDD-9068", dbtest.SchemaCode(tables.Of(l.DB).Err()))
}

// equipped has all that DynamoDB Local can have.
func equipped(c *entity.Config) {
	c.TableOptions = map[string]entity.TableOptions{"": {
		DeletionProtection: true, Provisioned: &entity.Throughput{Read: 3, Write: 4},
		Indexes: map[string]entity.Throughput{"gsi2": {Read: 5, Write: 6}},
	}}
}

// unprotect lets the table be deleted when the test is over.
func unprotect(t *testing.T, l *dbtest.Bench) {
	t.Helper()
	t.Cleanup(func() {
		off := false
		_, err := l.Raw.UpdateTable(context.WithoutCancel(t.Context()), &dynamodb.UpdateTableInput{TableName: &l.Table, DeletionProtectionEnabled: &off})
		require.NoError(t, err)
	})
}

func TestCreateTables_GivesATableItsStreamUnitsAndProtection(t *testing.T) {
	t.Parallel()
	l := dbtest.Open(t, equipped)
	dbtest.Declare[Followed](t, l.DB)
	unprotect(t, l)
	l.CreateTables()
	require.NoError(t, tables.Verify(t.Context(), l.DB))
	got := l.Described(l.Table)
	require.True(t, *got.DeletionProtectionEnabled)
	require.True(t, *got.StreamSpecification.StreamEnabled)
	require.Equal(t, types.StreamViewTypeNewAndOldImages, got.StreamSpecification.StreamViewType)
	require.Equal(t, [2]int64{3, 4}, [2]int64{*got.ProvisionedThroughput.ReadCapacityUnits, *got.ProvisionedThroughput.WriteCapacityUnits})
	units := map[string][2]int64{}
	for _, x := range got.GlobalSecondaryIndexes {
		units[*x.IndexName] = [2]int64{*x.ProvisionedThroughput.ReadCapacityUnits, *x.ProvisionedThroughput.WriteCapacityUnits}
	}
	require.Equal(t, map[string][2]int64{"gsi1": {3, 4}, "gsi2": {5, 6}}, units)
}

// wide is the spec of a table with indexes that carry so many attributes each.
func wide(carried ...int) tables.Spec {
	key := tables.Key{Partition: []tables.Attribute{{Name: "pk", Type: "S"}}}
	t := tables.Table{Name: "wide", Key: key, Billing: types.BillingModePayPerRequest}
	for i, n := range carried {
		x := tables.Index{Name: fmt.Sprintf("gsi%d", i), Key: key, Projection: tables.Projection{Type: "INCLUDE"}}
		for j := range n {
			x.Projection.Include = append(x.Projection.Include, fmt.Sprintf("a%02d", j))
		}
		t.GSIs = append(t.GSIs, x)
	}
	return tables.Spec{Tables: []tables.Table{t}}
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
	for code, spec := range map[string]tables.Spec{"EDD-9070": s, "EDD-9071": wide(21)} {
		require.Equal(t, code, dbtest.SchemaCode(spec.CheckNew()))
	}
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
	db := entity.Must(entity.Open(mute{t: t}, entity.Config{Table: table, Tables: map[string]string{"logs": "x"}}))
	return db
}

func TestCreateTables_ATableIsMadeByName(t *testing.T) {
	t.Parallel()
	type Line struct {
		_ entity.Key `name:"Line" table:"logs" pk:"$#{id}" sk:"$"`

		ID string `dynamodbav:"id"`
	}
	db := served(t, "arn:aws:dynamodb:eu-west-1:123456789012:table/app")
	dbtest.Declare[Team](t, db)
	dbtest.Declare[Line](t, db)
	require.NoError(t, tables.Of(db).Err(), "such a table can be used and verified")
	for _, err := range []error{tables.Create(t.Context(), db), tables.Of(db).CheckNew()} {
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
