package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/console"
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

// print shows the items as the command dynastrata dumps them: in DynamoDB's own JSON, with pseudonyms for secrets.
func (b *backend) print(ctx context.Context, out io.Writer, client *dynamodb.Client) error {
	command := console.App{
		Client: client, Clock: b.now,
		Open: func(context.Context, console.Connection) (console.Program, error) {
			return console.Program{DB: b.db}, nil
		},
	}
	for _, t := range []struct{ table, entity string }{
		{"devices", "Device"}, {"device_readings", "Reading"}, {"processed_batches", "ProcessedBatch"}, {"api_keys", "APIKey"},
	} {
		var dumped, problem bytes.Buffer
		switch console.Run(ctx, command, console.Streams{Out: &dumped, Err: &problem}, []string{"dump", t.entity}) {
		case console.ExitOK:
		case console.ExitInterrupted:
			return context.Cause(ctx)
		default:
			return fmt.Errorf("dump %s: %s", t.entity, problem.String())
		}
		items := slices.Sorted(strings.Lines(dumped.String()))
		fmt.Fprintf(out, "\n%s: %d items, as DynamoDB has them (S text, N number, BOOL, M map, L list)\n", t.table, len(items))
		for _, it := range items {
			fmt.Fprintln(out, fold("  "+strings.TrimSuffix(it, "\n")))
		}
	}
	return nil
}
