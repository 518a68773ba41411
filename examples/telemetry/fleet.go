package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// The size of the simulation.
const (
	devices  = 8
	reports  = 24 // that a device publishes one by one
	buffered = 30 // that it collects while it is offline; four times as many for the first device
	again    = 6  // earlier reports that it uploads again with the buffered ones, not knowing which of them arrived
	interval = 10 * time.Second
)

// epoch is the time at which the simulated devices are switched on. It is fixed, so a seed always gives the same reports.
var epoch = time.Date(2026, time.April, 22, 10, 0, 0, 0, time.UTC)

// device is one simulated device: what it will send, and the results.
type device struct {
	key       Telemetry // channel and deviceId: all that Get, Update and History need
	skew      time.Duration
	corrected int // number of the first report after the clock was set right

	deliveries []delivery
	backlog    []Telemetry // uploaded in bulk, in no order

	receipts  []receipt
	account   string
	enriched  Telemetry // its last enrichment
	createdAt time.Time // as the first write returned it
}

// delivery is one report on its way. If copies is above one, the device sends them at the same moment, without waiting for
// an answer.
type delivery struct {
	event   Telemetry
	copies  int
	arrival float64 // in intervals since the device was switched on
}

// newFleet makes the devices and everything that they will send.
func newFleet(seed uint64) []*device {
	fleet := make([]*device, devices)
	for i := range fleet {
		fleet[i] = newDevice(rand.New(rand.NewPCG(seed, uint64(i))), i)
	}
	return fleet
}

func newDevice(rng *rand.Rand, i int) *device {
	d := &device{
		key:       Telemetry{Channel: fmt.Sprintf("c-%d", i%2+1), DeviceID: fmt.Sprintf("d-%02d", i+1)},
		skew:      time.Duration(rng.IntN(25)-12) * 5 * time.Second,
		corrected: reports/3 + rng.IntN(reports/3),
		account:   fmt.Sprintf("acct-%d", i%3+1),
	}
	for n := range reports {
		d.send(rng, n, d.report(rng, n))
	}
	slices.SortStableFunc(d.deliveries, func(a, b delivery) int { return int(2 * (a.arrival - b.arrival)) })
	d.collect(rng, i)
	return d
}

// report makes the n-th report, by the device's clock: wrong at first, right after its correction. Correcting a clock that is
// ahead sets it back, so the next reports carry times that were used already.
func (d *device) report(rng *rand.Rand, n int) Telemetry {
	ev := d.key
	ev.Timestamp = epoch.Add(time.Duration(n) * interval)
	if n < d.corrected {
		ev.Timestamp = ev.Timestamp.Add(d.skew)
	}
	gpio := rng.IntN(100)
	ev.GPIO = &gpio
	if chance(rng, 30) {
		location := fmt.Sprintf("cabinet-%c", 'A'+rng.IntN(6))
		ev.Location = &location
	}
	if chance(rng, 40) {
		alert := chance(rng, 25)
		ev.Alert = &alert
	}
	return ev
}

// send puts a report on its way through a network that delays some and repeats some. Delayed reports get half an interval
// more, so that they arrive between two others.
func (d *device) send(rng *rand.Rand, n int, ev Telemetry) {
	out := delivery{event: ev, copies: 1, arrival: float64(n)}
	if n > 0 && chance(rng, 15) {
		out.arrival += float64(rng.IntN(3)) + 1.5
	}
	if n > 0 && chance(rng, 15) {
		out.copies = 2
	}
	d.deliveries = append(d.deliveries, out)
	if chance(rng, 10) {
		d.deliveries = append(d.deliveries, delivery{event: ev, copies: 1, arrival: out.arrival + float64(rng.IntN(4)) + 1.5})
	}
}

// collect fills the backlog: the last reports once more, new ones, shuffled.
func (d *device) collect(rng *rand.Rand, i int) {
	last := d.deliveries[len(d.deliveries)-again:]
	for _, sent := range last {
		d.backlog = append(d.backlog, sent.event)
	}
	size := buffered
	if i == 0 {
		size *= 4
	}
	for n := range size {
		d.backlog = append(d.backlog, d.report(rng, reports+n))
	}
	rng.Shuffle(len(d.backlog), func(a, b int) { d.backlog[a], d.backlog[b] = d.backlog[b], d.backlog[a] })
}

func chance(rng *rand.Rand, percent int) bool { return rng.IntN(100) < percent }

// name is the device in tables and messages.
func (d *device) name() string { return d.key.Channel + "/" + d.key.DeviceID }
