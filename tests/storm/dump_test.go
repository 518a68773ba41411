package storm_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/dbtest"
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

func text(it item, name string) string { return dbtest.Text(it[name]) }

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
