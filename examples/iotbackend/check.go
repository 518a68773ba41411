package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is an item as it is stored.
type item = map[string]types.AttributeValue

// readRaw reads all items of a table without the library, as an independent proof.
func readRaw(ctx context.Context, client *dynamodb.Client, table string) (all []item, err error) {
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
	}
	return all, nil
}

// check compares what is stored with what was acknowledged: every reading is there once, under its time, with its end and the
// proof of its batch, and nothing else is.
func (s *story) check(ctx context.Context, client *dynamodb.Client, cfg config) error {
	readings, err := readRaw(ctx, client, cfg.Readings)
	if err != nil {
		return err
	}
	batches, err := readRaw(ctx, client, cfg.Batches)
	if err != nil {
		return err
	}
	s.must(len(readings) == len(s.acknowledged) && len(batches) == len(readings), "%d readings and %d proofs are stored, want %d", len(readings), len(batches), len(s.acknowledged))
	proofs := map[string]string{}
	for _, b := range batches {
		proofs[str(b, "batch_id")] = str(b, "hardware_id")
	}
	for _, r := range readings {
		id := str(r, "batch_id")
		sent, ok := s.acknowledged[BatchID(id)]
		s.must(ok && str(r, "boot_id") == string(sent.BootID), "the reading %s was not sent", id)
		s.must(str(r, "ts_batch") == fmt.Sprintf("%013d#%s", sent.TimestampMS, id), "the reading %s has the sort key %s", id, str(r, "ts_batch"))
		end := int64(sent.TimestampMS)/1000 + int64(cfg.Retention/time.Second)
		s.must(str(r, "expiration_time") == fmt.Sprint(end), "the reading %s ends at %s", id, str(r, "expiration_time"))
		s.must(proofs[id] == str(r, "hardware_id"), "the reading %s has no proof of its own device", id)
	}
	return nil
}

// str is the text or number of an attribute.
func str(it item, name string) string {
	switch v := it[name].(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}
