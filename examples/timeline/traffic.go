package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// epoch is the time at which the story begins. It is far in the future, so that a local database, whose clock is right, removes nothing.
var epoch = time.Date(2099, time.March, 1, 8, 0, 0, 0, time.UTC)

// The size of the chat.
const (
	posts     = 90            // messages
	inOldForm = 30            // of them by last year's program
	pace      = 8 * time.Hour // from one message to the next
	day       = 24 * time.Hour
)

// The moments that the story looks back to, and those at which it continues.
var (
	firstBuild = epoch.Add(posts * pace)
	moments    = []time.Time{epoch.Add(3 * day), epoch.Add(12 * day), epoch.Add(30 * day)}
)

// deed is one action of a user in the chat.
type deed struct {
	event    string    // its event name; "" for a verdict that accepts a message
	accepted time.Time // by the store
	at       time.Time // by the event's own clock
	user, id string
	channel  string
	text     string
	old      bool // by last year's program
}

// newChat makes everything that happens, in the order in which the store accepts it.
func newChat(seed uint64) (all []deed) {
	rng := rand.New(rand.NewPCG(seed, 1))
	users := []string{"ada", "bo", "cleo", "dan", "eve", "finn"}
	channels := []string{"email", "push", "sms"}
	texts := []string{"running late", "invoice sent", "thanks!", "see you at dock 4", "who has the keys?", "on my way"}
	for i := range posts {
		at := epoch.Add(time.Duration(i)*pace + time.Duration(rng.IntN(7*3600))*time.Second)
		d := deed{
			event: messageCreated, accepted: at, at: at, user: users[rng.IntN(len(users))], id: fmt.Sprintf("m-%03d", i+1),
			channel: channels[rng.IntN(len(channels))], text: texts[rng.IntN(len(texts))], old: i < inOldForm,
		}
		all = append(all, d)
		if rng.IntN(100) < 25 {
			gone := d
			gone.event, gone.old = messageDeleted, false
			gone.at = at.Add(time.Duration(1+rng.IntN(72))*time.Hour + time.Duration(i)*time.Millisecond) // no two at once
			gone.accepted = gone.at
			all = append(all, gone)
		}
		if rng.IntN(100) < 30 {
			verdict := deed{event: messageRejected, user: d.user, id: d.id}
			verdict.at = at.Add(time.Duration(1+rng.IntN(30))*time.Minute + time.Duration(i)*time.Microsecond)
			verdict.accepted = verdict.at.Add(2 * time.Second)
			switch {
			case rng.IntN(3) == 0:
				verdict.event = ""
			case i%3 == 1: // its moderator was on holiday
				verdict.accepted = firstBuild.Add(8*day + time.Duration(i)*time.Minute)
			}
			all = append(all, verdict)
		}
	}
	slices.SortStableFunc(all, func(a, b deed) int { return a.accepted.Compare(b.accepted) })
	return all
}

// do carries out the deeds that the store accepts after from and not after to.
func (s *story) do(ctx context.Context, from, to time.Time) (done int, err error) {
	for _, d := range s.chat {
		if !d.accepted.After(from) || d.accepted.After(to) {
			continue
		}
		s.clock.at = d.accepted
		switch {
		case d.event == messageDeleted:
			err = s.Messages.Delete(ctx, Message{UserID: d.user, MessageID: d.id})
		case d.event == messageCreated && d.old:
			_, err = s.lastYear.Create(ctx, messageV1{UserID: d.user, MessageID: d.id, Body: d.channel + ": " + d.text})
		case d.event == messageCreated:
			_, err = s.Messages.Create(ctx, Message{UserID: d.user, MessageID: d.id, Message: d.text, Channel: d.channel})
		default:
			var result timeseries.Result[Verdict]
			result, err = s.Verdicts.Append(ctx, Verdict{UserID: d.user, MessageID: d.id, DecidedAt: d.at, Rejected: d.event != ""})
			if err == nil && !result.Applied { // a message gets one verdict
				err = &timeseries.NotAppliedError{Reason: result.Reason}
			}
		}
		if err != nil {
			return done, fmt.Errorf("%s %s: %w", d.event, d.id, err)
		}
		done++
	}
	s.clock.at = to
	return done, nil
}

// The size of the fleet.
const (
	devices      = 100
	eachMeasures = 30
)

// newReadings makes what the devices report, in no order.
func newReadings(seed uint64, from time.Time) (all []Reading) {
	rng := rand.New(rand.NewPCG(seed, 2))
	for d := range devices {
		id := fmt.Sprintf("24:6F:28:00:%02X:%02X", d/256, d%256)
		boot := fmt.Sprintf("%08x-5c3e-4b1f-9d2a-%012x", rng.Uint32(), d)
		for n := range eachMeasures {
			at := from.Add(time.Duration(n)*time.Minute + time.Duration(rng.IntN(59_000))*time.Millisecond).UnixMilli()
			r := Reading{
				HardwareID: id, TimestampMS: at, BatchID: fmt.Sprintf("%s_%s_%d", id, boot, n), BootID: boot, FirmwareVersion: "1.4.2",
				Sensors:      map[string]float64{"bme280_temp_c": float64(rng.IntN(4000)-1000) / 100, "humidity_pct": float64(rng.IntN(10000)) / 100},
				SensorStatus: map[string]string{"bme280": "ok", "soil_moisture": "error"},
			}
			if d%3 == 0 {
				r.Sensors["soil_moisture_pct"], r.SensorStatus["soil_moisture"] = float64(rng.IntN(10000))/100, "ok"
			}
			all = append(all, r)
		}
	}
	rng.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	return all
}

// lastYearsStore is the store of a program that was written before messages had their own field for the channel.
func lastYearsStore(client entity.Client, table string, clock func() time.Time) (*entity.Store[messageV1], error) {
	db, err := connect(client, table, clock)
	if err != nil {
		return nil, err
	}
	return entity.New[messageV1](db)
}
