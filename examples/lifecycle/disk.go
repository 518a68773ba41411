package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Kinds of rows, in the order in which they are compared.
const (
	current  = "current"
	snapshot = "snapshot"
	deleted  = "deleted copy"
	sentinel = "sentinel"
)

var kinds = []string{current, snapshot, deleted, sentinel}

// row is a stored item, read without the library, as an independent proof. What is printed comes from the command.
type row struct {
	PK       string `dynamodbav:"pk"`
	SK       string `dynamodbav:"sk"`
	Entity   string `dynamodbav:"__edd_e__"`
	Kind     string `dynamodbav:"_k"`
	Op       string `dynamodbav:"_op"`
	Deleted  bool   `dynamodbav:"_deleted"`
	TTL      int64  `dynamodbav:"_ttl"`
	OwnerPK  string `dynamodbav:"_entity_pk"`
	IndexKey string `dynamodbav:"gsi1pk"`

	Version     int64  `dynamodbav:"version"`
	Email       string `dynamodbav:"email"`
	DisplayName string `dynamodbav:"displayName"`
	Department  string `dynamodbav:"department"`
}

// rows are items in the order in which they are compared.
type rows []row

// readTable reads every item, consistently.
func readTable(ctx context.Context, client *dynamodb.Client, table string) (rows, error) {
	var all rows
	consistent := true
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: &consistent})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		var some rows
		if err := attributevalue.UnmarshalListOfMaps(page.Items, &some); err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.owner(), b.owner()), cmp.Compare(slices.Index(kinds, a.kind()), slices.Index(kinds, b.kind())),
			cmp.Compare(a.SK, b.SK), cmp.Compare(a.PK, b.PK))
	})
	return all, nil
}

// about returns the rows of some records: those in their partitions, and the sentinels that name them.
func (all rows) about(ids []string) rows {
	var some rows
	for _, r := range all {
		if slices.Contains(ids, r.owner()) {
			some = append(some, r)
		}
	}
	return some
}

func (r row) kind() string {
	switch {
	case r.OwnerPK != "":
		return sentinel
	case r.Kind == "v":
		return snapshot
	case r.Kind == "d":
		return deleted
	}
	return current
}

// owner returns the id of the record that the row belongs to: the last part of its partition key, or of the key in a
// sentinel.
func (r row) owner() string {
	pk := cmp.Or(r.OwnerPK, r.PK)
	return pk[strings.LastIndex(pk, "#")+1:]
}

// claimed returns the value that a sentinel claims.
func (r row) claimed() string { return r.PK[strings.LastIndex(r.PK, "#")+1:] }

// brief describes the row in a few words.
func (r row) brief() string {
	words := []string{r.owner() + ":", r.kind()}
	if r.kind() == sentinel {
		words = append(words, r.claimed())
	} else {
		words = append(words, strconv.FormatInt(r.Version, 10))
	}
	if r.Deleted {
		words = append(words, "deleted")
	}
	if r.TTL != 0 {
		words = append(words, "expires")
	}
	return strings.Join(words, " ")
}

func (all rows) briefs() []string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.brief()
	}
	return texts
}
