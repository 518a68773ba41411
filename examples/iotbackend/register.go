package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// A registration holds what a device reports about itself when it boots.
type registration struct {
	HardwareID      MAC          `json:"hardware_id" validate:"hardware_id"`
	BootID          UUID4        `json:"boot_id" validate:"uuid4"`
	FirmwareVersion Firmware     `json:"firmware_version" validate:"label"`
	Capabilities    Capabilities `json:"capabilities"`
	FriendlyName    FriendlyName `json:"friendly_name" validate:"omitempty,label"`
}

// register creates the device, or records that it has booted again: one request, which sets confirmation_id and
// first_registered_at if they are absent. All registrations that arrive at once return the same confirmation_id.
func (b *backend) register(ctx context.Context, r registration) (device Device, created bool, err error) {
	if err := validate(r); err != nil {
		return Device{}, false, err
	}
	now, mine := b.clock(), b.newUUID()
	report := Device{
		HardwareID: r.HardwareID, ConfirmationID: mine, Capabilities: r.Capabilities, FirstRegisteredAt: now, LastSeenAt: now,
		LastBootID: r.BootID, FirmwareVersion: r.FirmwareVersion, FriendlyName: r.FriendlyName,
	}
	err = settle(ctx, func() error {
		device, _, err = b.Devices.Upsert(ctx, report)
		return err
	})
	// No other call makes the same id, so it shows who created the device, even after a lost answer.
	return device, err == nil && device.ConfirmationID == mine, err
}

// listDevices returns devices, the one seen last first.
func (b *backend) listDevices(ctx context.Context, limit int, cursor string) (entity.Page[Device], error) {
	return b.Activity.Query(Device{}, entity.Desc(), entity.Limit(limit)).Page(ctx, cursor)
}

// settle repeats a write while it is unknown whether it was applied. The library leaves that to its caller if items carry
// nothing that would prove who wrote them, as in tables whose schema is fixed. So write must do no harm if it is applied twice.
func settle(ctx context.Context, write func() error) error {
	const attempts = 5
	for n := 1; ; n++ {
		err := write()
		if !entity.IsAmbiguous(err) || n == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(10 * time.Millisecond << n)):
		}
	}
}
