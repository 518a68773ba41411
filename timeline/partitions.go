package timeline

import (
	"container/heap"
	"iter"
	"strconv"

	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout/generations"
)

// spreadOver returns the id of a generation whose rows are in n partitions.
func spreadOver(id string, n int) string {
	if n <= 1 && generations.PartitionsOf(id) == 1 {
		return id
	}
	return id + generations.Mark + strconv.Itoa(max(n, 1))
}

// partitionOf returns the partition with the row of a group.
func partitionOf(generation, group string) string {
	n := generations.PartitionsOf(generation)
	if n == 1 {
		return generation
	}
	return generations.PartitionAt(generation, key.Shard(group, n))
}

// inGroupOrder yields what several sequences yield, each in group order, in group order. It stops at the first error.
func inGroupOrder(parts []iter.Seq2[rowSummary, error]) iter.Seq2[rowSummary, error] {
	return func(yield func(rowSummary, error) bool) {
		var heads headHeap
		for _, part := range parts {
			next, stop := iter.Pull2(part)
			defer stop()
			h := &head{next: next}
			if h.advance() {
				heads = append(heads, h)
			}
		}
		heap.Init(&heads)
		for len(heads) > 0 {
			h := heads[0]
			if !yield(h.row, h.err) || h.err != nil {
				return
			}
			if h.advance() {
				heap.Fix(&heads, 0)
			} else {
				heap.Pop(&heads)
			}
		}
	}
}

// head is the first row of a sequence that was not yielded yet.
type head struct {
	next func() (rowSummary, error, bool)
	row  rowSummary
	err  error
}

// advance moves to the next row. It returns false at the end.
func (h *head) advance() (ok bool) {
	h.row, h.err, ok = h.next()
	return ok
}

// headHeap orders sequences by their next group, and errors first.
type headHeap []*head

func (h headHeap) Len() int { return len(h) }

func (h headHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h headHeap) Less(i, j int) bool {
	if h[i].err != nil || h[j].err != nil {
		return h[i].err != nil && h[j].err == nil
	}
	return h[i].row.Group < h[j].row.Group
}

func (h *headHeap) Push(x any) { *h = append(*h, x.(*head)) }

func (h *headHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
