package storm_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

// address is a primary key.
type address struct{ pk, sk string }

// being is everything in a table that belongs to one item.
type being struct {
	current   item
	snapshots map[int64]item
	copies    []item
}

// dump is a table, sorted by what its items are, from their keys alone.
type dump struct {
	beings    map[address]*being
	sentinels map[address]item
}

// scan reads a whole table below the library.
func scan(t testing.TB, ctx context.Context, client *dynamodb.Client, table string) []item {
	t.Helper()
	strong := true
	in := &dynamodb.ScanInput{TableName: &table, ConsistentRead: &strong}
	var all []item
	for {
		out, err := client.Scan(ctx, in)
		require.NoError(t, err)
		all = append(all, out.Items...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return all
		}
	}
}

// sorted makes a dump of items.
func sorted(items []item) (dump, error) {
	d := dump{map[address]*being{}, map[address]item{}}
	of := func(pk, sk string) *being {
		a := address{pk, sk}
		if d.beings[a] == nil {
			d.beings[a] = &being{snapshots: map[int64]item{}}
		}
		return d.beings[a]
	}
	for _, it := range items {
		pk, sk := text(it, "pk"), text(it, "sk")
		if strings.Contains(text(it, "__edd_e__"), "._unique.") {
			d.sentinels[address{pk, sk}] = it
		} else if base, version, ok := strings.Cut(sk, "#v#"); ok {
			n, err := strconv.ParseInt(strings.TrimPrefix(version, "~"), 10, 64)
			if err != nil || n != number(it, "version") {
				return d, fmt.Errorf("the snapshot %s holds version %d", sk, number(it, "version"))
			}
			of(pk, base).snapshots[n] = it
		} else if base, at, ok := strings.Cut(sk, "#deleted#"); ok {
			if at != text(it, "deletedAt") {
				return d, fmt.Errorf("the copy %s was deleted at %s", sk, text(it, "deletedAt"))
			}
			b := of(pk, base)
			b.copies = append(b.copies, it)
		} else {
			of(pk, sk).current = it
		}
	}
	return d, nil
}

func text(it item, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func number(it item, name string) int64 {
	n, _ := it[name].(*types.AttributeValueMemberN)
	if n == nil {
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return -1
	}
	return v
}
