package calls_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/versioned"
)

// Mortal needs an index, a stream and time to live.
type Mortal struct {
	_ entity.Key       `name:"Mortal" pk:"$#{id}" sk:"$" stream:"both"`
	_ entity.GSI       `name:"byOwner" index:"gsi1" pk:"$#{owner}"`
	_ versioned.Retain `ttl:"1h"`

	ID      string `dynamodbav:"id"`
	Owner   string `dynamodbav:"owner"`
	Version int    `dynamodbav:"version" entity:"version"`
}

func mortals(t *testing.T, client entity.Client, table string) *entity.DB {
	t.Helper()
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	_ = entity.Must(entity.New[Mortal](db))
	return db
}

func TestCreateTables_ManyProgramsAtOnce(t *testing.T) {
	t.Parallel()
	client, table := dbtest.Database(t)
	for round := range testsize.Pick(2, 40) {
		name := fmt.Sprintf("%s-%d", table, round)
		errs, begin, all := make([]error, 6), make(chan struct{}), sync.WaitGroup{}
		for i := range errs {
			db := mortals(t, client, name)
			all.Go(func() {
				<-begin
				errs[i] = tables.Create(t.Context(), db)
			})
		}
		close(begin)
		all.Wait()
		require.NoError(t, errors.Join(errs...), "round %d", round)
		require.NoError(t, tables.Verify(t.Context(), mortals(t, client, name)))
		_, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name})
		require.NoError(t, err)
	}
}

// meanwhile is a client in whose time another program works too: between our look at a table and our request.
type meanwhile struct {
	*dynamodb.Client
	attr   string // what the other program enables time to live on, before our first UpdateTimeToLive arrives
	stale  int    // how many looks do not show it yet
	unborn int    // how many looks do not show the table yet
	looks  int
}

func (m *meanwhile) UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	if m.attr != "" {
		theirs := *in
		theirs.TimeToLiveSpecification = &types.TimeToLiveSpecification{AttributeName: &m.attr, Enabled: ref(true)}
		if _, err := m.Client.UpdateTimeToLive(ctx, &theirs); err != nil {
			return nil, err
		}
		m.attr = ""
	}
	return m.Client.UpdateTimeToLive(ctx, in, o...)
}

func (m *meanwhile) DescribeTimeToLive(ctx context.Context, in *dynamodb.DescribeTimeToLiveInput, o ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	if m.looks++; m.looks > 1 && m.stale > 0 {
		m.stale--
		return &dynamodb.DescribeTimeToLiveOutput{TimeToLiveDescription: &types.TimeToLiveDescription{TimeToLiveStatus: types.TimeToLiveStatusDisabled}}, nil
	}
	return m.Client.DescribeTimeToLive(ctx, in, o...)
}

func (m *meanwhile) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, o ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	if m.unborn > 0 {
		m.unborn--
		return nil, &types.ResourceNotFoundException{}
	}
	return m.Client.DescribeTable(ctx, in, o...)
}

func TestCreateTables_AnotherProgramEnablesTimeToLiveAfterOurLook(t *testing.T) {
	t.Parallel()
	for _, stale := range []int{0, 1, 3} {
		client, table := dbtest.Database(t)
		db := mortals(t, &meanwhile{Client: client, attr: "_ttl", stale: stale}, table)
		require.NoError(t, tables.Create(t.Context(), db), "%d stale looks", stale)
		require.NoError(t, tables.Verify(t.Context(), db))
	}
}

func TestCreateTables_TimeToLiveEnabledOnAnotherAttribute(t *testing.T) {
	t.Parallel()
	client, table := dbtest.Database(t)
	err := tables.Create(t.Context(), mortals(t, &meanwhile{Client: client, attr: "expires"}, table))
	require.Equal(t, "EDD-9041", dbtest.SchemaCode(err))
}

func TestCreateTables_ATableThatIsNotSeenYet(t *testing.T) {
	t.Parallel()
	client, table := dbtest.Database(t)
	require.NoError(t, tables.Create(t.Context(), mortals(t, &meanwhile{Client: client, unborn: 2}, table)))
}

// Every request is made to fail once, before and after it is applied.
func TestCreateTables_RepeatsWhatFailed(t *testing.T) {
	t.Parallel()
	for _, round := range testsize.Rounds(faults.Throttle, faults.Lost, faults.Internal, faults.Drop, faults.InternalApplied) {
		for k := 1; ; k++ {
			f := round.At(k)
			l := open(t)
			entity.Must(entity.New[Mortal](l.DB))
			n := 0
			l.Wire.Inject(func(faults.Request) faults.Fault {
				if n++; n == k {
					return f
				}
				return faults.None
			})
			require.NoError(t, tables.Create(t.Context(), l.DB), "%s of request %d", f, k)
			if n < k {
				break
			}
			require.NoError(t, tables.Verify(t.Context(), l.DB), "%s of request %d", f, k)
		}
	}
}
