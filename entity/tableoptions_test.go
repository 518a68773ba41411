package entity_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
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
	declare[Unfollowed](t, db)
	require.Empty(t, db.Spec().Tables[0].Stream)
	declare[Followed](t, db)
	require.Equal(t, types.StreamViewTypeNewAndOldImages, db.Spec().Tables[0].Stream, "who does not read the stream does not mind")
	_, err := entity.New[Other](db)
	var mistake *entity.SchemaError
	require.ErrorAs(t, err, &mistake)
	require.Equal(t, "EDD-9067", mistake.Code)
	require.Len(t, db.Spec().Tables[0].Entities, 2)
	_, err = entity.New[Wrong](paper(t))
	require.ErrorAs(t, err, &mistake)
	require.Equal(t, "EDD-9003", mistake.Code)
	require.Contains(t, mistake.Problem, "new, old, both, keys")
}

func TestStream_HasAWordForEachView(t *testing.T) {
	t.Parallel()
	type New struct {
		_ entity.Key `name:"A" table:"a" pk:"id" stream:"new"`

		ID string `dynamodbav:"id"`
	}
	type Old struct {
		_ entity.Key `name:"A" table:"b" pk:"id" stream:"old"`

		ID string `dynamodbav:"id"`
	}
	type Keys struct {
		_ entity.Key `name:"A" table:"c" pk:"id" stream:"keys"`

		ID string `dynamodbav:"id"`
	}
	db := paper(t)
	declare[New](t, db)
	declare[Old](t, db)
	declare[Keys](t, db)
	var views []types.StreamViewType
	for _, table := range db.Spec().Tables {
		views = append(views, table.Stream)
	}
	require.Equal(t, []types.StreamViewType{"NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY"}, views)
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
	l := newLab(t, func(c *entity.Config) {
		c.Tables = map[string]string{"logs": c.Table, "spare": c.Table + "-spare"}
		c.TableOptions = map[string]entity.TableOptions{
			"":             {Provisioned: &entity.Throughput{Read: 1, Write: 2}, Indexes: map[string]entity.Throughput{"gsi9": {Read: 1, Write: 1}}},
			"logs":         {DeletionProtection: true},
			"typo":         {},
			c.Table:        {},
			"spare-unused": {PointInTimeRecovery: true},
		}
	})
	declare[Followed](t, l.db)
	type Line struct {
		_ entity.Key `name:"Line" table:"logs" pk:"$#{id}" sk:"$"`

		ID string `dynamodbav:"id"`
	}
	declare[Line](t, l.db)
	want := map[string]string{
		`TableOptions[""]`:             "EDD-9068 Indexes names gsi9, which is no global index of table " + l.table + "\n",
		`TableOptions["logs"]`:         `EDD-9068 differs from TableOptions[""], and both names lead to table ` + l.table + "\n",
		`TableOptions["typo"]`:         "EDD-9068 no entity that is declared names this table\n",
		`TableOptions["spare-unused"]`: "EDD-9068 no entity that is declared names this table\n",
		`TableOptions["` + l.table + `"]`: "EDD-9068 no entity that is declared names this table; " +
			`it is the physical name of the table that entities call ""` + "\n",
	}
	require.Equal(t, want, schemaErrors(t, l.db.Spec().Err()))
	require.Equal(t, want, schemaErrors(t, l.db.CreateTables(t.Context())))
	require.Equal(t, want, schemaErrors(t, l.db.Verify(t.Context())))
	require.Empty(t, l.sent())
	var mistake *entity.SchemaError
	require.ErrorAs(t, l.db.Spec().Err(), &mistake)
	require.Equal(t, "EDD-9068", mistake.Code)
}

func TestTableOptions_AreCopiedByOpen(t *testing.T) {
	t.Parallel()
	units := &entity.Throughput{Read: 1, Write: 2}
	options := map[string]entity.TableOptions{"": {Provisioned: units, Indexes: map[string]entity.Throughput{"gsi1": {Read: 3, Write: 4}}}}
	db, err := entity.Open(nil, entity.Config{Table: "app", TableOptions: options})
	require.NoError(t, err)
	declare[Followed](t, db)
	units.Read, options[""].Indexes["gsi1"] = 0, entity.Throughput{}
	options["typo"] = entity.TableOptions{}
	spec := db.Spec()
	require.NoError(t, spec.Err())
	require.Equal(t, entity.Throughput{Read: 1, Write: 2}, spec.Tables[0].Throughput)
	require.Equal(t, entity.Throughput{Read: 3, Write: 4}, spec.Tables[0].GSIs[0].Throughput)
	require.Equal(t, entity.Throughput{Read: 1, Write: 2}, spec.Tables[0].GSIs[1].Throughput, "an index has the table's")
	require.Contains(t, spec.String(), `
  gsi      gsi1: gsi1pk (S) HASH; ALL; 3 read, 4 write units
  gsi      gsi2: gsi2pk (S) HASH; ALL; 1 read, 2 write units
  stream   NEW_AND_OLD_IMAGES
  billing  PROVISIONED: 1 read, 2 write units`)
}

// equipped has all that DynamoDB Local can have.
func equipped(c *entity.Config) {
	c.TableOptions = map[string]entity.TableOptions{"": {
		DeletionProtection: true, Provisioned: &entity.Throughput{Read: 3, Write: 4},
		Indexes: map[string]entity.Throughput{"gsi2": {Read: 5, Write: 6}},
	}}
}

// unprotect lets the table be deleted when the test is over.
func unprotect(t *testing.T, l *lab) {
	t.Helper()
	t.Cleanup(func() {
		off := false
		_, err := l.raw.UpdateTable(context.WithoutCancel(t.Context()), &dynamodb.UpdateTableInput{TableName: &l.table, DeletionProtectionEnabled: &off})
		require.NoError(t, err)
	})
}

func TestCreateTables_GivesATableItsStreamUnitsAndProtection(t *testing.T) {
	t.Parallel()
	l := newLab(t, equipped)
	declare[Followed](t, l.db)
	unprotect(t, l)
	l.create(t)
	require.NoError(t, l.db.Verify(t.Context()))
	got := l.described(t, l.table)
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
