package main

import (
	"context"
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
)

// field is the prototype of Telemetry: the addresses of its fields name attributes.
var field = entity.Fields[Telemetry]()

// A sighting counts the deliveries of a device.
type sighting struct {
	device *device
	count  int
}

// register prepares the devices. Every second one has been sold already: its account is written before its first report,
// by an Upsert, because an Update needs an existing item.
func register(ctx context.Context, a *app, fleet []*device) error {
	for i, d := range fleet {
		_, err := a.Registrations.Create(ctx, Registration{Channel: d.key.Channel, DeviceID: d.key.DeviceID, InService: true})
		if err != nil {
			return fmt.Errorf("register %s: %w", d.name(), err)
		}
		if i%2 == 0 {
			continue
		}
		sold := d.key
		sold.AccountID, sold.Diagnostics = d.account, "sold, not seen yet"
		if d.enriched, _, err = a.Telemetry.Upsert(ctx, sold); err != nil {
			return fmt.Errorf("assign %s to an account: %w", d.name(), err)
		}
		d.createdAt = d.enriched.CreatedAt
	}
	return nil
}

// enrich is the background job: it writes account and diagnostics of the devices that are seen, while they publish. It leaves
// out the device that closeUp shows later, and returns how often it wrote.
func enrich(ctx context.Context, a *app, seen <-chan sighting, later *device) (updates int, err error) {
	for s := range seen {
		if s.device == later {
			continue
		}
		if _, err := s.device.enrich(ctx, a, fmt.Sprintf("ok after %d deliveries", s.count)); err != nil {
			return updates, err
		}
		updates++
	}
	return updates, nil
}

// enrich writes only account and diagnostics, so it does not race with appends.
func (d *device) enrich(ctx context.Context, a *app, diagnostics string) (Telemetry, error) {
	current, err := a.Telemetry.Update(ctx, d.key,
		entity.Set(&field.AccountID, d.account),
		entity.Set(&field.Diagnostics, diagnostics))
	if err != nil {
		return current, fmt.Errorf("enrich %s: %w", d.name(), err)
	}
	d.enriched = current
	return current, nil
}
