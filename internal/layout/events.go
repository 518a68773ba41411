package layout

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// EventKey returns the primary key of the event with a sort key, of the series with the primary key of its current item. Two
// events with the same orderBy and id have the same sort key, so they meet in one partition.
func EventKey(s *schema.Schema, primary item.Item, sortKey string) item.Item {
	k := item.Clone(primary)
	k[s.SK.Attr] = item.S(sortKey)
	if n := len(s.EventPartitions); n > 0 {
		k[s.PK.Attr] = inEventPartition(s, primary, key.Shard(sortKey, n))
	}
	return k
}

// inEventPartition returns the key of one of the partitions of a series' events.
func inEventPartition(s *schema.Schema, primary item.Item, shard int) types.AttributeValue {
	pk, _ := primary[s.PK.Attr].(*types.AttributeValueMemberS)
	if pk == nil {
		return primary[s.PK.Attr]
	}
	return item.S(pk.Value + schema.EventPartitionSuffix(shard))
}

// EventPartitions returns the primary key of a series' current item with the key of each partition of its events in turn.
// It returns nil if they are in the partition of the current item.
func EventPartitions(s *schema.Schema, primary item.Item) (keys []item.Item) {
	for shard := range s.EventPartitions {
		k := item.Clone(primary)
		k[s.PK.Attr] = inEventPartition(s, primary, shard)
		keys = append(keys, k)
	}
	return keys
}

// SeriesPartition returns the primary key of an event with the partition key of its series' current item. It returns false
// for a key in another partition than that of the event.
func SeriesPartition(s *schema.Schema, event item.Item) (item.Item, bool) {
	n := len(s.EventPartitions)
	if n == 0 {
		return event, true
	}
	sk, _ := SortKey(s, event)
	pk, ok := event[s.PK.Attr].(*types.AttributeValueMemberS)
	if !ok {
		return nil, false
	}
	home, ok := strings.CutSuffix(pk.Value, schema.EventPartitionSuffix(key.Shard(sk, n)))
	if !ok {
		return nil, false
	}
	k := item.Clone(event)
	k[s.PK.Attr] = item.S(home)
	return k, true
}
