package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// The load: every client sends its share of the requests one after the other.
const (
	loadClients = 64
	loadDevices = 32 // two clients speak for each device, and send some batches both
)

// loadRequests is the number of requests of all clients: 5,000 in a long run of the tests.
func loadRequests() int {
	if os.Getenv("DYNASTRATA_LONG") == "1" {
		return 5000
	}
	return 300
}

// fleetClient is one of the clients of the load, and its results.
type fleetClient struct {
	*client
	rng          *rand.Rand
	id           MAC
	number       int
	sent         map[BatchID]submission
	acknowledged map[BatchID]submission
	fresh        map[BatchID]int // how often a batch was acknowledged, not counting duplicates
	refused      int             // requests that failed for good
	requests     *atomic.Int64
}

// Under conflicts, throttling, lost answers and broken connections on both sides, every reading that was acknowledged is
// stored once, and nothing is stored that was not sent.
func TestLoad_NothingIsLostDoubledOrInvented(t *testing.T) {
	l := newLab(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range loadDevices {
		l.registered(loadDevice(i))
	}
	raw, _ := l.newAPIKey("")
	l.wire.Inject(faults.Random(seed, 0.05, faults.Conflict, faults.Throttle, faults.Lost, faults.Drop, faults.InternalApplied))

	total := int64(loadRequests())
	var requests atomic.Int64
	transport := &http.Transport{MaxIdleConnsPerHost: loadClients}
	defer transport.CloseIdleConnections()
	clients := make([]*fleetClient, loadClients)
	var wg sync.WaitGroup
	start := time.Now()
	for i := range clients {
		c := &fleetClient{
			client: &client{base: l.api.URL, token: raw.text, http: &http.Client{Transport: transport}, longest: 20 * time.Millisecond, attempts: 8},
			rng:    rand.New(rand.NewPCG(seed, uint64(i))), id: loadDevice(i % loadDevices), number: i,
			sent: map[BatchID]submission{}, acknowledged: map[BatchID]submission{}, fresh: map[BatchID]int{}, requests: &requests,
		}
		clients[i] = c
		wg.Go(func() {
			for requests.Add(1) <= total {
				c.step(t.Context())
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	l.wire.Inject(nil)

	want := expectation{sent: map[BatchID]submission{}, acknowledged: map[BatchID]submission{}, secrets: []secret{l.pepper, raw, {adminToken}}}
	fresh, refused := map[BatchID]int{}, 0
	for _, c := range clients {
		maps.Copy(want.sent, c.sent)
		maps.Copy(want.acknowledged, c.acknowledged)
		refused += c.refused
		for id, n := range c.fresh {
			fresh[id] += n
		}
	}
	stored, err := readTables(t.Context(), l.client, l.cfg)
	require.NoError(t, err)
	t.Logf("%d requests in %s, %d batches sent, %d acknowledged, %d stored, %d requests refused, %d to the database",
		total, took, len(want.sent), len(want.acknowledged), len(stored.readings), refused, len(l.wire.Requests()))
	require.Empty(t, stored.check(l.cfg.Retention, want))
	require.Len(t, stored.devices, loadDevices)
	for id, n := range fresh {
		require.Equal(t, 1, n, "batch %s was acknowledged as new %d times", id, n)
	}
	require.Greater(t, len(want.acknowledged), int(total/4), "most of the load went through")
	for _, s := range want.secrets {
		require.NotContains(t, l.logs.String(), s.text)
	}
	for _, id := range slices.Sorted(maps.Keys(want.acknowledged))[:20] { // as a client sees it
		s := want.acknowledged[id]
		page, err := l.between(t.Context(), MAC(id[:17]), span{s.TimestampMS, s.TimestampMS}, 10, "")
		require.NoError(t, err)
		require.Len(t, page.Items, 1, id)
		require.Equal(t, *s.Sensors, page.Items[0].Sensors, id)
	}
}

func loadDevice(i int) MAC { return MAC(fmt.Sprintf("AA:BB:CC:DD:00:%02X", i)) }

// step sends one request, as a device would: mostly readings, some of which were sent before, or are sent by the other
// client of the device too.
func (c *fleetClient) step(ctx context.Context) {
	path := "/v1/devices/" + string(c.id) + "/readings"
	var err error
	switch n := c.rng.IntN(100); {
	case n < 60:
		err = c.post(ctx, path)
	case n < 80:
		_, err = c.call(ctx, http.MethodGet, path+"/latest", nil, nil)
	case n < 95:
		from := firstMS + Millis(c.rng.IntN(100))*300_000
		_, err = c.call(ctx, http.MethodGet, fmt.Sprintf("%s?from=%d&to=%d&limit=10", path, from, from+3_000_000), nil, nil)
	default:
		_, err = c.call(ctx, http.MethodPost, "/v1/devices", boots(c.id, boot1), nil)
	}
	var refused *apiError
	if err != nil && !(errors.As(err, &refused) && refused.Code == "NO_READINGS") {
		c.refused++
	}
}

// post sends one or two batches. Once in a while the client hangs up before the answer, as one that loses its network.
func (c *fleetClient) post(ctx context.Context, path string) error {
	var all []submission
	for range 1 + c.rng.IntN(2) {
		s := sample(c.id, c.rng.IntN(150))
		all = append(all, s)
		c.sent[s.BatchID] = s
	}
	body := map[string]any{"readings": all}
	if c.rng.IntN(20) == 0 {
		hasty, cancel := context.WithTimeout(ctx, time.Duration(c.rng.IntN(8))*time.Millisecond)
		var got receipt
		_, err := c.once(hasty, http.MethodPost, path, body, &got)
		cancel()
		if err == nil {
			c.note(all, got)
		}
	}
	var got receipt
	_, err := c.call(ctx, http.MethodPost, path, body, &got)
	if err == nil {
		c.note(all, got)
	}
	return err
}

// note remembers what was acknowledged.
func (c *fleetClient) note(all []submission, got receipt) {
	for _, p := range got.Acknowledged {
		c.fresh[p.BatchID]++
	}
	for _, p := range append(got.Acknowledged, got.Duplicates...) {
		c.acknowledged[p.BatchID] = all[p.Index]
	}
}

// Each sabotage changes what was read from sound tables. The check must find it and name the broken rule.
func TestCheck_FindsEverySabotage(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	raw, _ := l.newAPIKey("")
	l.ingested(macA, samples(macA, 3))
	all := map[BatchID]submission{}
	for _, s := range samples(macA, 3) {
		all[s.BatchID] = s
	}
	want := expectation{sent: all, acknowledged: all, secrets: []secret{raw, l.pepper}}
	read := func() tables {
		t.Helper()
		stored, err := readTables(t.Context(), l.client, l.cfg)
		require.NoError(t, err)
		return stored
	}
	require.Empty(t, read().check(l.cfg.Retention, want))

	text := func(v string) types.AttributeValue { return dbtest.S(v) }
	number := func(v string) types.AttributeValue { return dbtest.N(v) }
	for name, c := range map[string]struct {
		sabotage func(*tables)
		rules    []string
	}{
		"an attribute is missing":      {func(all *tables) { delete(all.devices[0], "last_boot_id") }, []string{ruleAttributes}},
		"an attribute too many":        {func(all *tables) { all.keys[0]["_w"] = text("x") }, []string{ruleAttributes}},
		"a copy is behind":             {func(all *tables) { all.devices[0]["gsi1sk"] = text("2099-06-01T09:59:59Z") }, []string{ruleIndex}},
		"another constant":             {func(all *tables) { all.keys[0]["gsi1pk"] = text("keys") }, []string{ruleIndex}},
		"a sort key without its zeros": {func(all *tables) { all.readings[0]["timestamp_ms"] = number("84000000000") }, []string{ruleSortKey, ruleExpiry, ruleStored}},
		"an end in milliseconds":       {func(all *tables) { all.readings[0]["expiration_time"] = number("4091776000000") }, []string{ruleExpiry}},
		"no end":                       {func(all *tables) { delete(all.readings[0], "expiration_time") }, []string{ruleExpiry}},
		"a proof that ends too early":  {func(all *tables) { all.batches[0]["expiration_time"] = number("4084000000") }, []string{ruleExpiry}},
		"a proof is missing":           {func(all *tables) { all.batches = all.batches[1:] }, []string{ruleProof}},
		"another device's proof":       {func(all *tables) { all.batches[0]["hardware_id"] = text(string(macB)) }, []string{ruleProof}},
		"a reading is missing":         {func(all *tables) { all.readings = all.readings[1:] }, []string{ruleProof, ruleStored}},
		"a reading is there twice":     {func(all *tables) { all.readings = append(all.readings, maps.Clone(all.readings[0])) }, []string{ruleProof}},
		"a reading that was not sent":  {func(all *tables) { all.readings[0]["boot_id"] = text(string(boot2)) }, []string{ruleStored}},
		"a key is stored":              {func(all *tables) { all.keys[0]["description"] = text(raw.text) }, []string{ruleSecret}},
	} {
		stored := read()
		c.sabotage(&stored)
		var rules []string
		for _, err := range stored.check(l.cfg.Retention, want) {
			var b *broken
			require.ErrorAs(t, err, &b)
			rules = append(rules, b.rule)
		}
		require.Equal(t, c.rules, rules, name)
	}
}
