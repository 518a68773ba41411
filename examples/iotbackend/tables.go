package main

import (
	"context"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// tables are all items of the four tables, as they are stored.
type tables struct{ devices, readings, batches, keys []item }

func readTables(ctx context.Context, client *dynamodb.Client, cfg config) (all tables, err error) {
	for _, t := range []struct {
		name string
		into *[]item
	}{{cfg.Devices, &all.devices}, {cfg.Readings, &all.readings}, {cfg.Batches, &all.batches}, {cfg.Keys, &all.keys}} {
		if *t.into, err = readRaw(ctx, client, t.name); err != nil {
			return tables{}, err
		}
	}
	return all, nil
}

// table is one of them, under its name in the declarations.
type table struct {
	name  string
	items []item
}

func (all tables) each() []table {
	return []table{{"devices", all.devices}, {"device_readings", all.readings}, {"processed_batches", all.batches}, {"api_keys", all.keys}}
}

// print shows the items in DynamoDB's own JSON.
func (all tables) print(out io.Writer) {
	for _, t := range all.each() {
		fmt.Fprintf(out, "\n%s: %d items, as DynamoDB has them (S text, N number, BOOL, M map, L list)\n", t.name, len(t.items))
		for _, it := range t.items {
			fmt.Fprintln(out, fold("  "+text(it)))
		}
	}
}
