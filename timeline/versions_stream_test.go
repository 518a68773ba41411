package timeline_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/timeline"
)

// lying makes states of one message as they lie in the table.
type lying struct {
	like map[string]types.AttributeValue
}

func (l *lab) lying() lying {
	l.t.Helper()
	l.create("a", "")
	for _, it := range l.scan() {
		if it["_k"] == nil {
			return lying{it}
		}
	}
	require.Fail(l.t, "there is no current item")
	return lying{}
}

// state is the current item, or with an infix what lies under it.
func (x lying) state(version int64, kind, infix string) map[string]types.AttributeValue {
	it := maps.Clone(x.like)
	it["version"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(version, 10)}
	if kind != "" {
		it["_k"] = &types.AttributeValueMemberS{Value: kind}
		it["sk"] = &types.AttributeValueMemberS{Value: it["sk"].(*types.AttributeValueMemberS).Value + infix}
	}
	return it
}

func (x lying) copied(version int64) map[string]types.AttributeValue {
	return x.state(version, "d", "#deleted#"+noon.Add(time.Duration(version)*time.Second).Format(time.RFC3339))
}

func (x lying) snapshot(version int64) map[string]types.AttributeValue {
	text := fmt.Sprintf("%07d", version)
	if version > 9_999_999 {
		text = fmt.Sprintf("~%012d", version)
	}
	return x.state(version, "v", "#v#"+text)
}

func sortKeyOf(it map[string]types.AttributeValue) string {
	return it["sk"].(*types.AttributeValueMemberS).Value
}

func TestVersions_ComeInOrderWhereverTheirStatesLie(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	x := l.lying()
	source := timeline.Versions(l.past)
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom([]int64{1, 2, 9_999_995, 99_999_995}).Draw(t, "from")
		n := rapid.IntRange(1, 12).Draw(t, "states")
		var items []map[string]types.AttributeValue
		var want, got []int64
		for i := range n {
			version := from + int64(i)
			want = append(want, version)
			switch last := i == n-1; rapid.IntRange(0, 3).Draw(t, "where") {
			case 0:
				items = append(items, x.copied(version))
			case 1: // it has just become a past one
				items = append(items, x.copied(version), x.snapshot(version))
			case 2:
				if items = append(items, x.snapshot(version)); last {
					items = append(items, x.state(version, "", ""))
				}
			default:
				items = append(items, x.snapshot(version))
			}
		}
		slices.SortFunc(items, func(a, b map[string]types.AttributeValue) int { return cmp.Compare(sortKeyOf(a), sortKeyOf(b)) })
		left := 0
		err := timeline.Assembled(source, items, func(name string, version int64, before bool) {
			assert.Equal(t, len(got) > 0, before)
			got = append(got, version)
		}, func(n int) { left = n })
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Zero(t, left, "nothing is held at the end")
	})
}

func TestVersions_HoldNoSnapshots(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	x := l.lying()
	const n = 1000
	items := []map[string]types.AttributeValue{x.state(n, "", ""), x.copied(3)}
	for v := range int64(n - 1) {
		items = append(items, x.snapshot(v+1))
	}
	most, told := 0, 0
	err := timeline.Assembled(timeline.Versions(l.past), items, func(string, int64, bool) { told++ }, func(n int) { most = max(most, n) })
	require.NoError(t, err)
	assert.Equal(t, n, told)
	assert.Equal(t, 2, most, "the current item and the copy")
}

func TestVersions_BoundTheBytesOfDeletedCopies(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	x := l.lying()
	x.like["text"] = &types.AttributeValueMemberS{Value: strings.Repeat("t", 390<<10)}
	var items []map[string]types.AttributeValue
	for v := range int64(200) { // 76 MiB
		items = append(items, x.copied(v+1))
	}
	read := func(items []map[string]types.AttributeValue) error {
		return timeline.Assembled(timeline.Versions(l.past), items, func(string, int64, bool) {}, func(int) {})
	}
	assert.NoError(t, read(items[:150]))
	var limit *timeline.LimitError
	require.ErrorAs(t, read(items), &limit)
	assert.Equal(t, 64<<20, limit.Limit)
	assert.Equal(t, "bytes of the deleted copies of one item", limit.What)
}

func TestVersions_OfSnapshotsThatContradictTheirKeysAreRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	x := l.lying()
	wrong := x.snapshot(3)
	wrong["version"] = &types.AttributeValueMemberN{Value: "1"}
	err := timeline.Assembled(timeline.Versions(l.past), []map[string]types.AttributeValue{x.snapshot(2), wrong}, func(string, int64, bool) {}, func(int) {})
	var bad *timeline.EventError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, timeline.History, bad.Stage)
}
