package lifecycle_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// A Put that found an expired item and was about to replace it meets the life that somebody else has begun meanwhile: it
// replaces that one, as a Put over a live item does.
func TestTTL_APutOverARenewedItemReplacesTheNewOne(t *testing.T) {
	t.Parallel()
	h, s := lapsed(t)
	arrived, release := h.wire.Hold(func(r faults.Request) bool { return r.Operation == "PutItem" })
	defer release()
	done := make(chan error, 1)
	go func() {
		_, err := s.Put(t.Context(), Token{User: "u", ID: "t", Uses: 1})
		done <- err
	}()
	<-arrived
	client := dynamodb.New(h.raw.Options())
	db, err := entity.Open(client, entity.Config{Table: h.table, Clock: h.now})
	require.NoError(t, err)
	_, err = entity.Must(entity.New[Token](db)).Create(t.Context(), Token{User: "u", ID: "t", Uses: 2})
	require.NoError(t, err)
	release()
	require.NoError(t, <-done)
	got, err := s.Get(t.Context(), token, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, 1, got.Uses)
	require.EqualValues(t, 2, got.Version, "it is the second write of the new life")
}
