package faults_test

import (
	"context"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestHold(t *testing.T) {
	t.Parallel()
	c, transport := newCounter(t)
	held := 0
	arrived, release := transport.Hold(func(r faults.Request) bool {
		if r.Operation != "UpdateItem" {
			return false
		}
		held++
		return held == 1 // only the first
	})
	var slow sync.WaitGroup
	slow.Go(func() { assert.NoError(t, c.add(t, 1)) })
	assert.Equal(t, "UpdateItem", (<-arrived).Operation)
	assert.Equal(t, "absent", c.value(t), "not sent yet")
	require.NoError(t, c.add(t, 1), "the second one overtakes it")
	assert.Equal(t, "1", c.value(t))

	release()
	release()
	slow.Wait()
	assert.Equal(t, "2", c.value(t))
	require.NoError(t, c.add(t, 1), "nothing is held any more")
}

func TestHoldOfManyThatNobodyReceives(t *testing.T) {
	t.Parallel()
	c, transport := newCounter(t)
	_, release := transport.Hold(func(faults.Request) bool { return true })
	arrived, releaseUpdates := transport.Hold(func(r faults.Request) bool { return r.Operation == "UpdateItem" })
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { assert.NoError(t, c.add(t, 1)) })
	}
	release() // now they wait for the second one
	for range 5 {
		<-arrived
	}
	releaseUpdates()
	all.Wait()
	assert.Equal(t, "5", c.value(t))
}

func TestHoldEndsWithTheContext(t *testing.T) {
	t.Parallel()
	transport := faults.New(nowhere{t})
	client := refused(t, faults.None)
	arrived, release := transport.Hold(func(faults.Request) bool { return true })
	defer release()
	for _, receive := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- put(ctx, dynamodb.New(client.Options(), func(o *dynamodb.Options) { o.HTTPClient = transport }))
		}()
		if receive {
			<-arrived
		}
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	}
}
