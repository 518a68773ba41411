package timeline_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/timeline"
)

func TestRebuild_RowsExpireWithTheirRetention(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1, 2)
	v := view(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Retention = time.Hour }))
	rebuild(l, v)
	want := l.clock.Now().Add(time.Hour).Truncate(time.Second) // the events happened after they were accepted
	found := false
	for _, it := range l.scan() {
		if _, row := it["state"]; row {
			found = true
			require.Equal(t, &types.AttributeValueMemberN{Value: fmt.Sprint(want.Unix())}, it["_ttl"])
		}
	}
	require.True(t, found)
	assert.Equal(t, want.Unix(), rows(l, v)["north"].ExpiresAt.Unix())
	l.clock.forward(time.Hour)
	assert.Empty(t, rows(l, v), "it is gone at once, whenever DynamoDB removes it")
}
