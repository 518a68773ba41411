package rules_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/tables"
)

// Sealed is keyed by a binary and a number, and has an index on each kind of attribute, one that holds keys only, and a
// native index key of several attributes.
type Sealed struct {
	_ entity.Key `name:"Sealed" table:"sealed" pk:"digest" sk:"size"`
	_ entity.GSI `name:"byOwner" index:"owner-index" pk:"owner" sk:"digest" project:"keys"`
	_ entity.GSI `name:"byPlace" index:"place-index" pk:"owner+shelf" sk:"row+digest" project:"note,colour"`
	_ entity.LSI `name:"byColour" index:"colour-index" sk:"colour"`

	Digest []byte `dynamodbav:"digest"`
	Size   int    `dynamodbav:"size"`
	Owner  string `dynamodbav:"owner,omitempty"`
	Shelf  []byte `dynamodbav:"shelf,omitempty"`
	Row    int    `dynamodbav:"row,omitempty"`
	Colour string `dynamodbav:"colour,omitempty"`
	Note   string `dynamodbav:"note,omitempty"`
}

// Parked expires, shares the default table and the first index with reports, and copies a key of its own.
type Parked struct {
	_ entity.Key `name:"Parked" pk:"$#{id}" sk:"$#{day}"`
	_ entity.GSI `name:"byDay" index:"gsi2" pk:"gsi2pk={day}" project:"keys"`
	_ entity.GSI `name:"byNumber" index:"gsi4" pk:"day" sk:"number" project:"keys"`
	_ mortal

	ID     string `dynamodbav:"id"`
	Day    string `dynamodbav:"day"`
	Number int    `dynamodbav:"number,omitempty"`
}

func declareSpecs(t *testing.T, db *entity.DB) {
	t.Helper()
	dbtest.Declare[Report](t, db)
	dbtest.Declare[Sealed](t, db)
	dbtest.Declare[Parked](t, db)
	dbtest.Declare[Report](t, db, entity.Named("Summary"))
}

func TestSpec_PrintsWhatTheDeclarationsNeed(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app", Tables: map[string]string{"sealed": "prod-sealed"}}))
	require.Empty(t, tables.Of(db))
	declareSpecs(t, db)
	require.Equal(t, `table app
  logical  (default)
  entities Report, Parked, Summary
  key      pk (S) HASH, sk (S) RANGE
  gsi      gsi1: gsi1pk (S) HASH, gsi1sk (S) RANGE; ALL
  gsi      gsi2: gsi2pk (S) HASH; INCLUDE __edd_e__, _ttl
  gsi      gsi3: gsi3pk (S) HASH, gsi3sk (S) RANGE; INCLUDE id, title, __edd_e__
  gsi      gsi4: day (S) HASH, number (N) RANGE; INCLUDE __edd_e__, _ttl
  ttl      _ttl
  billing  PAY_PER_REQUEST
table prod-sealed
  logical  sealed
  entities Sealed
  key      digest (B) HASH, size (N) RANGE
  gsi      owner-index: owner (S) HASH, digest (B) RANGE; KEYS_ONLY
  gsi      place-index: owner (S) HASH, shelf (B) HASH, row (N) RANGE, digest (B) RANGE; INCLUDE note, colour
  lsi      colour-index: digest (B) HASH, colour (S) RANGE; ALL
  billing  PAY_PER_REQUEST`, tables.Of(db).String())
}

// What DescribeTable says of the tables that CreateTables made is compared by code of this test, not of the library.
func TestSpec_AgreesWithTheTablesThatAreMade(t *testing.T) {
	t.Parallel()
	l := dbtest.Open(t, func(c *entity.Config) {
		c.Tables = map[string]string{"sealed": c.Table + "-sealed", "logs": c.Table + "-logs"}
	})
	declareSpecs(t, l.DB)
	dbtest.Declare[LogEntry](t, l.DB)
	l.CreateTables()
	require.NoError(t, tables.Verify(t.Context(), l.DB))
	spec := tables.Of(l.DB)
	require.Len(t, spec.Tables, 3)
	for _, want := range spec.Tables {
		got := l.Described(want.Name)
		require.Equal(t, keyed(want.Key), storedKey(got, got.KeySchema), want.Name)
		require.Equal(t, want.Billing, got.BillingModeSummary.BillingMode)
		attributes := map[string]bool{}
		for _, k := range append(keyed(want.Key), keyedAll(want)...) {
			attributes[strings.Fields(k)[0]] = true
		}
		require.Len(t, got.AttributeDefinitions, len(attributes), "no attribute is defined that is no key")

		made, lean := map[string][][]string{}, map[string][][]string{}
		for _, x := range got.GlobalSecondaryIndexes {
			made["gsi "+*x.IndexName] = [][]string{storedKey(got, x.KeySchema), projectionText(x.Projection)}
		}
		for _, x := range got.LocalSecondaryIndexes {
			made["lsi "+*x.IndexName] = [][]string{storedKey(got, x.KeySchema), projectionText(x.Projection)}
		}
		for _, x := range want.GSIs {
			lean["gsi "+x.Name] = [][]string{keyed(x.Key), append([]string{string(x.Projection.Type)}, x.Projection.Include...)}
		}
		for _, x := range want.LSIs {
			lean["lsi "+x.Name] = [][]string{keyed(x.Key), append([]string{string(x.Projection.Type)}, x.Projection.Include...)}
		}
		require.Equal(t, lean, made, want.Name)
		ttl, err := l.Raw.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &want.Name})
		require.NoError(t, err)
		require.Equal(t, want.TTL != "", ttl.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled, want.Name)
		if want.TTL != "" {
			require.Equal(t, want.TTL, *ttl.TimeToLiveDescription.AttributeName)
		}
	}
}

// keyedAll are the keys of all indexes.
func keyedAll(t tables.Table) (all []string) {
	for _, x := range append(append([]tables.Index(nil), t.GSIs...), t.LSIs...) {
		all = append(all, keyed(x.Key)...)
	}
	return all
}

// keyed is a key in text: each attribute with its type and kind.
func keyed(k tables.Key) []string {
	var parts []string
	for _, a := range k.Partition {
		parts = append(parts, a.Name+" "+string(a.Type)+" HASH")
	}
	for _, a := range k.Sort {
		parts = append(parts, a.Name+" "+string(a.Type)+" RANGE")
	}
	return parts
}

// storedKey is the same of a table that exists.
func storedKey(d *types.TableDescription, key []types.KeySchemaElement) []string {
	var parts []string
	for _, k := range key {
		for _, a := range d.AttributeDefinitions {
			if *a.AttributeName == *k.AttributeName {
				parts = append(parts, *k.AttributeName+" "+string(a.AttributeType)+" "+string(k.KeyType))
			}
		}
	}
	return parts
}
