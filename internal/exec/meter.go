package exec

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// meter counts what one call costs; requests of one call may run at the same time.
type meter struct {
	mu          sync.Mutex
	requests    int
	read, write float64
}

func meterOf(ctx context.Context) *meter {
	m, _ := ctx.Value(meterKey{}).(*meter)
	return m
}

func (m *meter) request() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
}

func (m *meter) reads(units ...*types.ConsumedCapacity) { m.add(false, units) }

func (m *meter) writes(units ...*types.ConsumedCapacity) { m.add(true, units) }

func (m *meter) add(write bool, units []*types.ConsumedCapacity) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range units {
		switch {
		case u == nil || u.CapacityUnits == nil:
		case write:
			m.write += *u.CapacityUnits
		default:
			m.read += *u.CapacityUnits
		}
	}
}

func (m *meter) report() Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Report{Requests: m.requests, ReadUnits: m.read, WriteUnits: m.write}
}
