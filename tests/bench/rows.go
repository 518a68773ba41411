package main

import (
	"context"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
)

// operation does one thing with one library and returns what the caller gets.
type operation func(context.Context) (any, error)

// A library is one that an operation is done with.
type library int

const (
	withRaw library = iota
	withGuregu
	withOurs
	withRawWatched // from here on the client has middleware
	withOursIgnoring
	withOursSeeing
)

// libraries are compared in this order.
var libraries = []string{
	"raw SDK", "guregu/dynamo", "dynastrata",
	"raw SDK, with middleware", "dynastrata, with middleware that ignores items", "dynastrata, with middleware",
}

// base returns what a library is compared with: the raw SDK with the same client.
func (l library) base() library {
	if l < withRawWatched {
		return withRaw
	}
	return withRawWatched
}

// timed is an operation with each of the libraries, without a network.
type timed struct {
	row
	run [6]operation // by library
}

// allTimed returns the operations whose name matches.
func allTimed(c *canned, names *regexp.Regexp) (all []timed) {
	of := tables{"plain", "prefixed"}
	ignores := func(cfg *entity.Config) { cfg.MiddlewareIgnoresItems = true }
	bare, ignoring, seeing := rows(c.client(), of), rows(c.client(watched), of, ignores), rows(c.client(watched), of)
	for i, r := range bare {
		if names == nil || names.MatchString(r.name) {
			all = append(all, timed{r, [...]operation{
				r.run[withRaw], r.run[withGuregu], r.run[withOurs], seeing[i].run[withRaw], ignoring[i].run[withOurs], seeing[i].run[withOurs],
			}})
		}
	}
	return all
}

// row is an operation of the table.
type row struct {
	name string
	run  [3]operation // by library

	answers answers // what the database answers, without a network

	before  []seed // what is stored before the operation, on a database
	refused []seed // what is stored when every library must fail; nil if nothing makes the operation fail
	reads   bool   // changes nothing
}

// seed is a stored item.
type seed struct {
	table string
	item  item
}

func seeds(table string, items ...item) []seed {
	all := make([]seed, len(items))
	for i, it := range items {
		all[i] = seed{table, it}
	}
	return all
}

// rows returns the operations, each with the three libraries on one client.
func rows(client *dynamodb.Client, names tables, configure ...func(*entity.Config)) []row {
	r, g, o := raw{client, names}, openGuregu(client, names), openOurs(client, names, configure...)

	stored := encode(order(1), "", "")
	thousand := many(1000, func(i int) item { return encode(order(i), "", "") })
	hundred := thousand[:100]
	updated := order(1)
	updated.Status, updated.Note, updated.Quantity = "sent", "with the neighbour", updated.Quantity+2

	prefixedItems := many(100, func(i int) item { return encode(storedPrefixedOf(prefixed(i)), "Prefixed", "") })
	current := encode(currentOf(reading(1)), "Reading", "")
	older, newer := encode(currentOf(reading(0)), "Reading", ""), encode(currentOf(reading(2)), "Reading", "")
	events := many(100, func(i int) item { return encode(eventOf(reading(i)), "Reading", "e") })
	employed := encode(storedEmployee{currentKeys("employee", employee.ID), employee}, "Employee", "")
	documented := encode(storedDocument{keys: currentKeys("document", document.ID), Document: document}, "Document", "")
	other := account
	other.ID = "account-8"
	taken := encode(claimOf(account, currentKeys("account", other.ID)), "Account._unique.email", "")

	nothing := []seed{}
	const empty, written = `{}`, `{"UnprocessedItems":{}}`
	return []row{
		{
			name: "create", run: [3]operation{r.create, g.create, o.create},
			answers: answers{"PutItem": empty}, refused: seeds(names.plain, stored),
		}, {
			name: "put", run: [3]operation{r.put, g.put, o.put},
			answers: answers{"PutItem": empty, "UpdateItem": empty},
		}, {
			name: "upsert", run: [3]operation{r.upsert, g.upsert, o.upsert},
			answers: answers{"UpdateItem": attributesAnswer(stored)}, before: seeds(names.plain, stored),
		}, {
			name: "get", run: [3]operation{r.get, g.get, o.get}, reads: true,
			answers: answers{"GetItem": itemAnswer(stored)}, before: seeds(names.plain, stored), refused: nothing,
		}, {
			name: "update 3 fields", run: [3]operation{r.update, g.update, o.update},
			answers: answers{"UpdateItem": attributesAnswer(encode(updated, "", ""))}, before: seeds(names.plain, stored), refused: nothing,
		}, {
			name: "delete", run: [3]operation{r.delete, g.delete, o.delete},
			answers: answers{"DeleteItem": empty}, before: seeds(names.plain, stored), refused: nothing,
		}, {
			name: "transaction of 2", run: [3]operation{r.transact, g.transact, o.transact},
			answers: answers{"TransactWriteItems": empty}, refused: seeds(names.plain, stored),
		}, {
			name: "query 100", run: [3]operation{r.query, g.query, o.query}, reads: true,
			answers: answers{"Query": pageAnswer(hundred)}, before: seeds(names.plain, hundred...),
		}, {
			name: "query 100, $ keys", run: [3]operation{r.queryPrefixed, g.queryPrefixed, o.queryPrefixed}, reads: true,
			answers: answers{"Query": pageAnswer(prefixedItems)}, before: seeds(names.prefixed, prefixedItems...),
		}, {
			name: "history 100", run: [3]operation{r.historyPage, g.historyPage, o.historyPage}, reads: true,
			answers: answers{"Query": pageAnswer(events)}, before: seeds(names.prefixed, events...),
		}, {
			name: "scan 1000", run: [3]operation{r.scan, g.scan, o.scan}, reads: true,
			answers: answers{"Scan": pageAnswer(thousand)}, before: seeds(names.plain, thousand...),
		}, {
			name: "batch get 100", run: [3]operation{r.batchGet, g.batchGet, o.batchGet}, reads: true,
			answers: answers{"BatchGetItem": batchAnswer(names.plain, hundred)}, before: seeds(names.plain, hundred...),
		}, {
			name: "batch write 25", run: [3]operation{r.batchWrite, g.batchWrite, o.batchWrite},
			answers: answers{"BatchWriteItem": written},
		}, {
			name: "append, without the current item", run: [3]operation{r.appendAlone, g.appendAlone, o.appendAlone},
			answers: answers{"TransactWriteItems": empty}, before: seeds(names.prefixed, older), refused: seeds(names.prefixed, newer),
		}, {
			name: "append and current item", run: [3]operation{r.appendCurrent, g.appendCurrent, o.appendCurrent},
			answers: answers{"TransactWriteItems": empty, "GetItem": itemAnswer(current)},
			before:  seeds(names.prefixed, older), refused: seeds(names.prefixed, newer),
		}, {
			name: "versioned update", run: [3]operation{r.versionedUpdate, g.versionedUpdate, o.versionedUpdate},
			answers: answers{"TransactWriteItems": empty, "GetItem": itemAnswer(employed)},
			before:  seeds(names.prefixed, employed), refused: nothing,
		}, {
			name: "soft delete", run: [3]operation{r.softDelete, g.softDelete, o.softDelete},
			answers: answers{"TransactWriteItems": empty, "GetItem": itemAnswer(documented), "Query": pageAnswer([]item{documented})},
			before:  seeds(names.prefixed, documented), refused: nothing,
		}, {
			name: "unique create", run: [3]operation{r.uniqueCreate, g.uniqueCreate, o.uniqueCreate},
			answers: answers{"TransactWriteItems": empty}, refused: seeds(names.prefixed, taken),
		}, {
			name: "modify, $ keys", run: [3]operation{r.modify, g.modify, o.modify},
			answers: answers{"GetItem": itemAnswer(prefixedItems[1]), "PutItem": empty},
			before:  seeds(names.prefixed, prefixedItems[1]), refused: nothing,
		},
	}
}
