package docs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
)

const (
	costsBegin = "<!-- costs "
	costsEnd   = "<!-- /costs -->"
)

// costRow is one row of a table of costs: the situation that before makes, and the call whose requests are counted.
type costRow struct {
	what   string                // empty: part of the row before, whose costs it has
	before func(id string) error // may be nil
	call   func(id string) error
}

// TestCosts_AreThoseOfTheTables counts the requests of each row of each page, and the capacity units that DynamoDB charges for them when no
// item is larger than 1 KB. Those of single writes are as the database counts them, with indexes. Those of transactions are computed, because
// DynamoDB Local does not count them in full.
func TestCosts_AreThoseOfTheTables(t *testing.T) {
	t.Parallel()
	made := map[string]string{}
	for page, rows := range costs(t) {
		made[page] = rows
	}
	shown := map[string]bool{}
	for _, name := range pages(t) {
		text, renewed := read(t, name), ""
		for rest := text; ; {
			before, after, found := strings.Cut(rest, costsBegin)
			renewed += before
			if !found {
				break
			}
			page, after, _ := strings.Cut(after, " -->\n")
			was, after, closed := strings.Cut(after, costsEnd)
			require.True(t, closed, "%s: the table of costs is not closed", name)
			require.Contains(t, made, page, name)
			if !*update {
				require.Equal(t, made[page], was, "%s: go test ./docs -update rewrites the table of costs", name)
			}
			shown[page] = true
			renewed, rest = renewed+costsBegin+page+" -->\n"+made[page]+costsEnd, after
		}
		if *update && renewed != text {
			require.NoError(t, os.WriteFile(name, []byte(renewed), 0o644))
		}
	}
	for _, page := range slices.Sorted(maps.Keys(made)) {
		require.True(t, shown[page], "no page shows the costs of %q", page)
	}
}

// bill adds up what requests cost.
type bill struct {
	http.RoundTripper
	mu            sync.Mutex
	requests      int
	writes, reads float64
	rows          int // for ids
}

func (b *bill) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	b.add(operation, body)
	single := operation == "PutItem" || operation == "UpdateItem" || operation == "DeleteItem"
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer, err := b.RoundTrip(r)
	if err != nil || !single {
		return answer, err
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	var out struct {
		ConsumedCapacity struct{ CapacityUnits float64 }
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes += out.ConsumedCapacity.CapacityUnits
	return answer, nil
}

func (b *bill) add(operation string, body []byte) {
	type keys struct {
		Keys           []json.RawMessage
		ConsistentRead bool
	}
	var q struct {
		ConsistentRead bool
		TransactItems  []json.RawMessage
		RequestItems   map[string]json.RawMessage
	}
	if err := json.Unmarshal(body, &q); err != nil {
		panic(err)
	}
	read := func(consistent bool) float64 {
		if consistent {
			return 1
		}
		return 0.5
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests++
	switch operation {
	case "TransactWriteItems":
		b.writes += 2 * float64(len(q.TransactItems))
	case "TransactGetItems":
		b.reads += 2 * float64(len(q.TransactItems))
	case "GetItem", "Query", "Scan":
		b.reads += read(q.ConsistentRead)
	case "BatchWriteItem":
		for _, of := range q.RequestItems {
			var all []json.RawMessage
			if err := json.Unmarshal(of, &all); err != nil {
				panic(err)
			}
			b.writes += float64(len(all))
		}
	case "BatchGetItem":
		for _, of := range q.RequestItems {
			var of1 keys
			if err := json.Unmarshal(of, &of1); err != nil {
				panic(err)
			}
			b.reads += float64(len(of1.Keys)) * read(of1.ConsistentRead)
		}
	}
}

// costTable runs the rows of a page one after the other and returns their table.
func (b *bill) costTable(t *testing.T, rows []costRow) string {
	t.Helper()
	var table strings.Builder
	table.WriteString("| call | requests | write units | read units |\n| --- | --- | --- | --- |\n")
	last, cost := "", ""
	for _, row := range rows {
		b.rows++
		id := fmt.Sprintf("c%03d", b.rows)
		if row.before != nil {
			require.NoError(t, row.before(id), "before %s", row.what)
		}
		b.mu.Lock()
		b.requests, b.writes, b.reads = 0, 0, 0
		b.mu.Unlock()
		require.NoError(t, row.call(id), row.what)
		now := fmt.Sprintf("%d | %s | %s", b.requests, units(b.writes), units(b.reads))
		if row.what == "" {
			require.Equal(t, cost, now, "a part of the row %s", last)
			continue
		}
		last, cost = row.what, now
		fmt.Fprintf(&table, "| %s | %s |\n", row.what, now)
	}
	return table.String()
}

func units(n float64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}

// billed opens a database whose requests are counted. The clock stands where at says.
func billed(t *testing.T, at *time.Time) (*bill, *entity.DB) {
	t.Helper()
	b := &bill{RoundTripper: http.DefaultTransport}
	client, table := localdb.Test(t, func(o *dynamodb.Options) { o.HTTPClient = b })
	db := entity.Must(entity.Open(client, entity.Config{
		Table: table, TTL: "expires", Clock: func() time.Time { return *at },
		Tracer: entity.SlogTracer(slog.New(slog.DiscardHandler), entity.SlogOptions{}), // with a tracer, requests ask for their units
	}))
	return b, db
}

// err drops the result of a call.
func err(_ any, err error) error { return err }

// all returns the first error of several.
func all(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
