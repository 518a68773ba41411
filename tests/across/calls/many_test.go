package calls_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// crowd lets the first batches go on only once four of them are there.
type crowd struct {
	*dynamodb.Client
	fail error // of the first one; the others then wait until their context ends

	mu                  sync.Mutex
	sent, running, most int
	together            chan struct{}
}

func (c *crowd) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	c.mu.Lock()
	c.sent++
	c.running++
	first := c.sent == 1
	if c.most = max(c.most, c.running); c.sent == 4 {
		close(c.together)
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running--
	}()
	<-c.together
	switch {
	case c.fail == nil:
		return c.Client.BatchGetItem(ctx, in, opts...)
	case first:
		return nil, c.fail
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestGetMany_SendsFourBatchesAtOnce(t *testing.T) {
	t.Parallel()
	l := open(t)
	_, quiet := store[Plain](l)
	keys, stored := make([]Plain, 650), []Plain{}
	for i := range keys {
		if keys[i].ID = fmt.Sprint(i); i%3 == 0 {
			stored = append(stored, Plain{ID: keys[i].ID, Count: i})
		}
	}
	_, err := quiet.PutMany(t.Context(), stored)
	require.NoError(t, err)
	client := &crowd{Client: l.Raw, together: make(chan struct{})}
	db := l.Bench.Open(client)
	s := entity.Must(entity.New[Plain](db))
	found, err := s.GetMany(t.Context(), keys)
	require.NoError(t, err)
	require.Equal(t, []int{7, 4}, []int{client.sent, client.most})
	for i, v := range found {
		if i%3 != 0 {
			require.Nil(t, v)
			continue
		}
		require.Equal(t, Plain{ID: fmt.Sprint(i), Count: i}, *v)
	}

	into, loads := append([]Plain{}, keys...), make([]entity.GetOp, len(keys))
	for i := range into {
		loads[i] = s.Op().GetInto(&into[i])
	}
	there, err := db.BatchGet(t.Context(), loads...)
	require.NoError(t, err)
	require.Equal(t, []int{14, 4}, []int{client.sent, client.most})
	for i := range into {
		require.Equal(t, i%3 == 0, there[i])
		if there[i] {
			require.Equal(t, i, into[i].Count)
		}
	}
}
