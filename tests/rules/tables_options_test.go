package rules_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// Followed is read from the table's stream.
type Followed struct {
	_ entity.Key `name:"Followed" pk:"$#{id}" sk:"$" stream:"both"`
	_ entity.GSI `name:"byKind" index:"gsi1" pk:"$#{kind}"`
	_ entity.GSI `name:"byDay" index:"gsi2" pk:"$#{day}"`

	ID   string `dynamodbav:"id"`
	Kind string `dynamodbav:"kind,omitempty"`
	Day  string `dynamodbav:"day,omitempty"`
}

// Line is stored in the table that entities call logs. A note, in the default one, has no index.
type Line struct {
	_  entity.Key `name:"Line" table:"logs" pk:"$#{id}" sk:"$"`
	ID string     `dynamodbav:"id"`
}

// schemaErrors are the mistakes that err joins.
func schemaErrors(t *testing.T, err error) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, refusal := range refusals(err) {
		code, place, _ := strings.Cut(refusal, " ")
		field, problem, _ := strings.Cut(place, ": ")
		found[field] += code + " " + problem + "\n"
	}
	return found
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
		l.OK(l.Raw.UpdateTable(context.WithoutCancel(t.Context()), &dynamodb.UpdateTableInput{TableName: &l.Table, DeletionProtectionEnabled: &off}))
	})
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

func TestCreateTables_ATableIsMadeByName(t *testing.T) {
	t.Parallel()
	named := entity.Config{Table: "arn:aws:dynamodb:eu-west-1:123456789012:table/app", Tables: map[string]string{"logs": "x"}}
	db := entity.Must(entity.Open(narrow{}, named))
	dbtest.Declare[note](t, db)
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

// Parcel is an entity before its indexes were declared.
type Parcel struct {
	_ entity.Key `name:"Parcel" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byCity" index:"gsi1" pk:"$#{city}"`

	ID   string `dynamodbav:"id"`
	City string `dynamodbav:"city"`
	Day  string `dynamodbav:"day"`
}

// Indexed is Parcel with two more indexes.
type Indexed struct {
	_ entity.Key `name:"Parcel" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byCity" index:"gsi1" pk:"$#{city}"`
	_ entity.GSI `name:"byDay" index:"gsi2" pk:"day" sk:"id" project:"keys"`
	_ entity.GSI `name:"byCityAndDay" index:"gsi3" pk:"$#{city}" sk:"$#{day}"`

	ID   string `dynamodbav:"id"`
	City string `dynamodbav:"city"`
	Day  string `dynamodbav:"day"`
}

// before returns a bench with a table of parcels, and one of them.
func before(t *testing.T, configure ...func(*entity.Config)) *dbtest.Bench {
	t.Helper()
	dbtest.Parallel(t)
	b := dbtest.Open(t, configure...)
	s := dbtest.Declare[Parcel](t, b.DB)
	b.CreateTables()
	b.OK(s.Create(b.Ctx, Parcel{ID: "p-1", City: "Oslo", Day: "mon"}))
	b.Wire.Reset()
	return b
}

// added returns the index that each UpdateTable asks for. A request that follows one for the same index is its repetition:
// the database may refuse one for a moment, while it works at another table.
func added(b *dbtest.Bench) []string {
	b.T.Helper()
	var names []string
	for _, r := range b.Wire.Requests() {
		if r.Operation != "UpdateTable" {
			continue
		}
		var in struct {
			GlobalSecondaryIndexUpdates []struct{ Create struct{ IndexName string } }
		}
		require.NoError(b.T, json.Unmarshal(r.Body, &in))
		require.Len(b.T, in.GlobalSecondaryIndexUpdates, 1)
		names = append(names, in.GlobalSecondaryIndexUpdates[0].Create.IndexName)
	}
	return slices.Compact(names)
}

func TestAddIndexes_AddsThoseThatAreMissing(t *testing.T) {
	b := before(t)
	db := b.Open(b.Client)
	s := dbtest.Declare[Indexed](t, db)
	require.Len(t, dbtest.As[*tables.Error](t, tables.Create(b.Ctx, db)).Differences, 2)
	require.Zero(t, b.Wire.Count("UpdateTable"))

	require.NoError(t, tables.Create(b.Ctx, db, tables.AddIndexes()))
	require.Equal(t, []string{"gsi2", "gsi3"}, added(b), "one at a time")
	require.NoError(t, tables.Verify(b.Ctx, db))
	require.Len(t, b.Described(b.Table).GlobalSecondaryIndexes, 3)

	b.Wire.Reset()
	require.NoError(t, tables.Create(b.Ctx, db, tables.AddIndexes()))
	require.Zero(t, b.Wire.Count("UpdateTable"), "a second time adds nothing")

	// An item with the attributes of an index is in it, others come in when they are written.
	byDay := entity.Must(s.Index("byDay"))
	require.Equal(t, 1, entity.Must(byDay.Query(Indexed{Day: "mon"}).Count(b.Ctx)))
	both := entity.Must(s.Index("byCityAndDay"))
	require.Zero(t, entity.Must(both.Query(Indexed{City: "Oslo"}).Count(b.Ctx)))
	b.OK(s.Put(b.Ctx, Indexed{ID: "p-1", City: "Oslo", Day: "mon"}))
	require.Equal(t, 1, entity.Must(both.Query(Indexed{City: "Oslo"}).Count(b.Ctx)))
}

func TestAddIndexes_AddsNoneToATableThatDiffersInSomethingElse(t *testing.T) {
	b := before(t)
	db := b.Open(b.Client)
	dbtest.Declare[Report](t, db) // whose first index has another key, and which has two more
	differs := dbtest.As[*tables.Error](t, tables.Create(b.Ctx, db, tables.AddIndexes()))
	require.Len(t, differs.Differences, 3)
	require.Zero(t, b.Wire.Count("UpdateTable"))
}

// A request that did not arrive, or whose answer was lost, is made good by the next look at the table.
func TestAddIndexes_AFaultAtEitherIndex(t *testing.T) {
	t.Parallel()
	for _, round := range testsize.Rounds(faults.Drop, faults.Lost, faults.Throttle) {
		for n := 1; n <= testsize.Pick(1, 2); n++ {
			t.Run(fmt.Sprintf("%s at index %d", round, n), func(t *testing.T) {
				b := before(t)
				db := b.Open(b.Client)
				dbtest.Declare[Indexed](t, db)
				seen := 0
				b.Wire.Inject(func(r faults.Request) faults.Fault {
					if r.Operation != "UpdateTable" {
						return faults.None
					}
					if seen++; seen == n {
						return round.At(n)
					}
					return faults.None
				})
				require.NoError(t, tables.Create(b.Ctx, db, tables.AddIndexes()))
				require.Len(t, b.Described(b.Table).GlobalSecondaryIndexes, 3)
			})
		}
	}
}

func TestOnIndex_ReportsIndexesThatAreBuilt(t *testing.T) {
	b := before(t)
	building := &slowTable{next: b.Raw.Options().HTTPClient, old: `"IndexStatus":"ACTIVE"`, new: `"IndexStatus":"CREATING","Backfilling":true`, after: "UpdateTable"}
	db := b.Open(b.Through(faults.New(building)))
	dbtest.Declare[Indexed](t, db)
	var seen []tables.IndexProgress
	require.NoError(t, tables.Create(b.Ctx, db, tables.AddIndexes(), tables.OnIndex(func(p tables.IndexProgress) { seen = append(seen, p) })))
	require.GreaterOrEqual(t, len(seen), 2)
	for _, p := range seen {
		require.Equal(t, b.Table, p.Table)
		require.NotEmpty(t, p.Index)
	}
	require.True(t, seen[0].Backfilling)
}

func TestAddIndexes_MistakesAreFoundBeforeARequest(t *testing.T) {
	b := before(t)
	db := b.Open(narrow{b.Client})
	dbtest.Declare[Parcel](t, db)
	require.Equal(t, "EDD-9069", dbtest.SchemaCode(tables.Create(b.Ctx, db, tables.AddIndexes())))
	require.Equal(t, "EDD-9108", dbtest.InputCode(tables.Create(b.Ctx, db, tables.OnIndex(nil))))
	require.Equal(t, "EDD-9108", dbtest.InputCode(tables.Create(b.Ctx, db, tables.Option{})))
	require.Empty(t, b.Wire.Requests())
	require.NoError(t, tables.Create(b.Ctx, db), "without the option such a client will do")
}
