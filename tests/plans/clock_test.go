package plans_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// lease expires a day after its last change, and an index lists leases by that time.
type lease struct {
	_ entity.Key    `name:"Lease" pk:"$#{id}" sk:"$"`
	_ entity.GSI    `name:"byChange" index:"gsi1" pk:"$#{owner}" sk:"$#{updatedAt}"`
	_ lifecycle.TTL `attr:"ends" from:"updatedAt" after:"24h"`

	ID        string    `dynamodbav:"id"`
	Owner     string    `dynamodbav:"owner,omitempty"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// A write is bound once and can be sent at any time: what follows from the clock is that of each plan.
func TestPlan_FollowsTheClockOfEachRun(t *testing.T) {
	t.Parallel()
	f := entity.Fields[lease]()
	for name, write := range map[string]func(entity.Ops[lease]) entity.Op{
		"Update": func(o entity.Ops[lease]) entity.Op { return o.Update(lease{ID: "a"}, entity.Set(&f.Owner, "ann")) },
		"Upsert": func(o entity.Ops[lease]) entity.Op { return o.Upsert(lease{ID: "a", Owner: "ann"}) },
		"Put":    func(o entity.Ops[lease]) entity.Op { return o.Put(lease{ID: "a", Owner: "ann"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2101, 5, 6, 7, 8, 9, 0, time.UTC)
			config := entity.Config{Table: "app", Clock: func() time.Time { return now }, NewID: func() string { return "w" }}
			op := write(entity.Must(entity.New[lease](entity.Must(entity.Open(nil, config)))).Op())
			first, was, ends := op.String(), now.Format(time.DateOnly+"T15:04:05"), strconv.FormatInt(now.Add(24*time.Hour).Unix(), 10)
			require.Contains(t, first, ends)
			require.GreaterOrEqual(t, strings.Count(first, was), 2, "the attribute and the index key\n%s", first)
			now = now.Add(time.Hour)
			second := op.String()
			require.NotContains(t, second, was)
			require.NotContains(t, second, ends)
			require.Equal(t, strings.Count(first, was), strings.Count(second, now.Format(time.DateOnly+"T15:04:05")))
		})
	}
}
