package docs_test

import (
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// plainWorker is what a program declared first, and worker what it declares later: the same entity with every feature.

type plainWorker struct {
	_ entity.Key `name:"Worker" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`

	ID    string `dynamodbav:"id"`
	Team  string `dynamodbav:"team"`
	Email string `dynamodbav:"email,omitempty"`
	Name  string `dynamodbav:"name"`
}

type worker struct {
	_ entity.Key           `name:"Worker" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`

	ID        string    `dynamodbav:"id"`
	Team      string    `dynamodbav:"team"`
	Email     string    `dynamodbav:"email,omitempty"`
	Name      string    `dynamodbav:"name"`
	Version   int64     `dynamodbav:"version"   entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// generations are two programs on one table: the first one, and the one that replaces it.
type generations struct {
	client  *dynamodb.Client
	table   string
	mu      sync.Mutex
	at      time.Time // of both clocks
	oldDB   *entity.DB
	newDB   *entity.DB
	old     *entity.Store[plainWorker]
	store   *entity.Store[worker]
	bin     *lifecycle.Deleted[worker]
	past    *versioned.History[worker]
	byEmail *unique.Lookup[worker]
}

// newGenerations creates the table as the later program needs it. Its clock is far ahead, so that nothing expires.
func newGenerations(t *testing.T) *generations {
	t.Helper()
	g := &generations{at: time.Date(2101, 3, 4, 5, 6, 7, 0, time.UTC)}
	g.client, g.table = localdb.Test(t)
	g.oldDB, g.newDB = g.open(t), g.open(t)
	var err error
	g.old, err = entity.New[plainWorker](g.oldDB)
	require.NoError(t, err)
	g.store, err = entity.New[worker](g.newDB)
	require.NoError(t, err)
	g.bin, err = lifecycle.Of(g.store)
	require.NoError(t, err)
	g.past, err = versioned.Of(g.store)
	require.NoError(t, err)
	g.byEmail, err = unique.Of(g.store, "email")
	require.NoError(t, err)
	require.NoError(t, tables.Create(t.Context(), g.newDB))
	return g
}

func (g *generations) open(t *testing.T) *entity.DB {
	t.Helper()
	db := entity.Must(entity.Open(g.client, entity.Config{Table: g.table, Clock: g.now, NewID: func() string { return rand.Text() }}))
	return db
}

// now advances by a second with each reading.
func (g *generations) now() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at = g.at.Add(time.Second)
	return g.at
}

// before stores a worker by the first program.
func (g *generations) before(t *testing.T, id, email string) worker {
	t.Helper()
	_, err := g.old.Create(t.Context(), plainWorker{ID: id, Team: "t-1", Email: email, Name: "Ada"})
	require.NoError(t, err)
	return worker{ID: id}
}

// stored returns the sort keys in the partition of a worker.
func (g *generations) stored(t *testing.T, id string) []string {
	t.Helper()
	strong := true
	out, err := g.client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &g.table, ConsistentRead: &strong, KeyConditionExpression: ptr("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: "$app#v1#worker#" + id}},
	})
	require.NoError(t, err)
	var keys []string
	for _, it := range out.Items {
		keys = append(keys, it["sk"].(*types.AttributeValueMemberS).Value)
	}
	return keys
}
