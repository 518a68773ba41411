package rules_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
)

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

// Local is Parcel with a local index, which cannot be added, and a global one.
type Local struct {
	_ entity.Key `name:"Parcel" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byCity" index:"gsi1" pk:"$#{city}"`
	_ entity.GSI `name:"byDay" index:"gsi2" pk:"day"`
	_ entity.LSI `name:"local" index:"lsi1" sk:"day"`

	ID   string `dynamodbav:"id"`
	City string `dynamodbav:"city"`
	Day  string `dynamodbav:"day"`
}

// before returns a bench with a table of parcels, and one of them.
func before(t *testing.T, configure ...func(*entity.Config)) *dbtest.Bench {
	t.Helper()
	b := dbtest.Open(t, configure...)
	s := dbtest.Declare[Parcel](t, b.DB)
	b.CreateTables()
	b.OK(s.Create(b.Ctx, Parcel{ID: "p-1", City: "Oslo", Day: "mon"}))
	b.Wire.Reset()
	return b
}

func described(b *dbtest.Bench) *types.TableDescription {
	b.T.Helper()
	out, err := b.Raw.DescribeTable(b.Ctx, &dynamodb.DescribeTableInput{TableName: &b.Table})
	require.NoError(b.T, err)
	return out.Table
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
	t.Parallel()
	b := before(t)
	db := b.Open(b.Client)
	s := dbtest.Declare[Indexed](t, db)
	var missing *tables.Error
	require.ErrorAs(t, tables.Create(b.Ctx, db), &missing)
	require.Len(t, missing.Differences, 2)
	require.Zero(t, b.Wire.Count("UpdateTable"))

	require.NoError(t, tables.Create(b.Ctx, db, tables.AddIndexes()))
	require.Equal(t, []string{"gsi2", "gsi3"}, added(b), "one at a time")
	require.NoError(t, tables.Verify(b.Ctx, db))
	require.Len(t, described(b).GlobalSecondaryIndexes, 3)

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
	t.Parallel()
	b := before(t)
	db := b.Open(b.Client)
	dbtest.Declare[Local](t, db)
	var differs *tables.Error
	require.ErrorAs(t, tables.Create(b.Ctx, db, tables.AddIndexes()), &differs)
	require.Len(t, differs.Differences, 2, "the local index and the global one")
	require.Zero(t, b.Wire.Count("UpdateTable"))
}

// A request that did not arrive, or whose answer was lost, is made good by the next look at the table.
func TestAddIndexes_AFaultAtEitherIndex(t *testing.T) {
	t.Parallel()
	for _, round := range testsize.Rounds(faults.Drop, faults.Lost, faults.Throttle) {
		for n := 1; n <= testsize.Pick(1, 2); n++ {
			t.Run(fmt.Sprintf("%s at index %d", round, n), func(t *testing.T) {
				t.Parallel()
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
				require.Len(t, described(b).GlobalSecondaryIndexes, 3)
			})
		}
	}
}

// building answers the first looks after an UpdateTable as if the new index were still being built.
type building struct {
	next  faults.HTTPClient
	looks int
}

func (s *building) Do(req *http.Request) (*http.Response, error) {
	resp, err := s.next.Do(req)
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	if operation == "UpdateTable" {
		s.looks = 2
	}
	if err != nil || operation != "DescribeTable" || s.looks == 0 {
		return resp, err
	}
	s.looks--
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	at := bytes.LastIndex(body, []byte(`"IndexStatus":"ACTIVE"`))
	body = append(append(bytes.Clone(body[:at]), `"IndexStatus":"CREATING","Backfilling":true`...), body[at+len(`"IndexStatus":"ACTIVE"`):]...)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

func TestOnIndex_ReportsIndexesThatAreBuilt(t *testing.T) {
	t.Parallel()
	b := before(t)
	db := b.Open(b.Through(faults.New(&building{next: b.Raw.Options().HTTPClient})))
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

// plain is a client without UpdateTable.
type plain struct{ entity.Client }

func TestAddIndexes_MistakesAreFoundBeforeARequest(t *testing.T) {
	t.Parallel()
	b := before(t)
	db := b.Open(plain{b.Client})
	dbtest.Declare[Parcel](t, db)
	require.Equal(t, "EDD-9069", dbtest.SchemaCode(tables.Create(b.Ctx, db, tables.AddIndexes())))
	require.Equal(t, "EDD-9108", dbtest.InputCode(tables.Create(b.Ctx, db, tables.OnIndex(nil))))
	require.Equal(t, "EDD-9108", dbtest.InputCode(tables.Create(b.Ctx, db, tables.Option{})))
	require.Empty(t, b.Wire.Requests())
	require.NoError(t, tables.Create(b.Ctx, db), "without the option such a client will do")
}
