package unique_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/unique"
)

// start is so far ahead that the database removes nothing itself.
var start = time.Date(2101, 3, 4, 5, 6, 7, 0, time.UTC)

// Person is a `$` entity.
type Person struct {
	_     entity.Key        `name:"Person" pk:"$#{id}" sk:"$"`
	_     unique.Constraint `name:"email" fields:"email"`
	ID    string            `dynamodbav:"id"`
	Email string            `dynamodbav:"email,omitempty"`
}

// Part is verbatim.
type Part struct {
	_      entity.Key        `name:"Part" pk:"id" sk:"kind"`
	_      unique.Constraint `name:"serial" fields:"serial"`
	ID     string            `dynamodbav:"id"`
	Kind   string            `dynamodbav:"kind"`
	Serial string            `dynamodbav:"serial,omitempty"`
}

// Member keeps its handle for 30 days after it was deleted.
type Member struct {
	_      entity.Key           `name:"Member" pk:"$#{id}" sk:"$"`
	_      lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_      unique.Constraint    `name:"handle" fields:"handle"`
	ID     string               `dynamodbav:"id"`
	Handle string               `dynamodbav:"handle,omitempty"`
}

// lab is one test's database.
type lab struct {
	db     *entity.DB
	raw    *dynamodb.Client
	wire   *faults.Transport
	table  string
	pk, sk string

	mu sync.Mutex
	at time.Time
}

func newLab(t *testing.T, pk, sk string) *lab {
	t.Helper()
	b := &lab{at: start, pk: pk, sk: sk}
	b.raw, b.table = localdb.Test(t)
	b.wire = faults.New(b.raw.Options().HTTPClient)
	b.db = b.open(t, b.wire, 0)
	return b
}

func (b *lab) open(t *testing.T, wire *faults.Transport, attempts int) *entity.DB {
	t.Helper()
	client := dynamodb.New(b.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = wire })
	db, err := entity.Open(client, entity.Config{Table: b.table, Clock: b.now, MaxAttempts: attempts})
	require.NoError(t, err)
	return db
}

func (b *lab) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at
}

func (b *lab) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = b.at.Add(d)
}

// make declares T, creates the table, and opens the constraint.
func prepare[T any](t *testing.T, b *lab, constraint string) (*entity.Store[T], *unique.Lookup[T]) {
	t.Helper()
	s, err := entity.New[T](b.db)
	require.NoError(t, err)
	require.NoError(t, b.db.CreateTables(t.Context()))
	l, err := unique.Of(s, constraint)
	require.NoError(t, err)
	return s, l
}

type row = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func str(av types.AttributeValue) string {
	if s, ok := av.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// rows returns everything in the table.
func (b *lab) rows(t *testing.T) []row {
	t.Helper()
	strong := true
	out, err := b.raw.Scan(t.Context(), &dynamodb.ScanInput{TableName: &b.table, ConsistentRead: &strong})
	require.NoError(t, err)
	return out.Items
}

// sentinel returns the sentinel whose value ends in v, nil if absent.
func (b *lab) sentinel(t *testing.T, v string) row {
	t.Helper()
	for _, it := range b.rows(t) {
		if strings.Contains(str(it["__edd_e__"]), "._unique.") && strings.HasSuffix(str(it[b.pk]), "#"+v) {
			return it
		}
	}
	return nil
}

func (b *lab) key(it row) row { return row{b.pk: it[b.pk], b.sk: it[b.sk]} }

func (b *lab) remove(t *testing.T, it row) {
	t.Helper()
	require.NotNil(t, it)
	_, err := b.raw.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &b.table, Key: b.key(it)})
	require.NoError(t, err)
}

func (b *lab) put(t *testing.T, it row) {
	t.Helper()
	_, err := b.raw.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.table, Item: it})
	require.NoError(t, err)
}

// item returns the item with that id that is no sentinel.
func (b *lab) item(t *testing.T, id string) row {
	t.Helper()
	for _, it := range b.rows(t) {
		if str(it["id"]) == id && it["_k"] == nil {
			return it
		}
	}
	return nil
}

// kinds are the findings' kinds, sorted.
func kinds(list []unique.Finding) []string {
	names := []string{}
	for _, f := range list {
		names = append(names, f.String())
	}
	slices.Sort(names)
	return names
}

// bijective requires that sentinels and owners with a value are one to one.
func (b *lab) bijective(t *testing.T, attr string) {
	t.Helper()
	owners, sentinels := map[string]string{}, map[string]string{}
	for _, it := range b.rows(t) {
		if strings.Contains(str(it["__edd_e__"]), "._unique.") {
			pk := str(it[b.pk])
			sentinels[pk[strings.LastIndex(pk, "#")+1:]] = str(it["_entity_pk"]) + " " + str(it["_entity_sk"])
		} else if v := str(it[attr]); v != "" {
			require.NotContains(t, owners, v, "two items have one value")
			owners[v] = str(it[b.pk]) + " " + str(it[b.sk])
		}
	}
	require.Equal(t, owners, sentinels, fmt.Sprintf("%d items", len(owners)))
}

// operations returns what was requested since the last call, and forgets it.
func (b *lab) operations() []string {
	var names []string
	for _, r := range b.wire.Requests() {
		names = append(names, r.Operation)
	}
	b.wire.Reset()
	return names
}
