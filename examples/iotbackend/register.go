package main

import (
	"context"
	"errors"

	"github.com/dynastrata/dynastrata/entity"
)

// registration is what a device says of itself when it boots.
type registration struct {
	HardwareID      MAC          `json:"hardware_id" validate:"hardware_id"`
	BootID          UUID4        `json:"boot_id" validate:"uuid4"`
	FirmwareVersion Firmware     `json:"firmware_version" validate:"label"`
	Capabilities    Capabilities `json:"capabilities"`
	FriendlyName    FriendlyName `json:"friendly_name" validate:"omitempty,label"`
}

// register creates the device or notes that it has booted again: one request, which sets confirmation_id and
// first_registered_at if they are not there. However many registrations come at once, all return one confirmation_id.
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
		device, _, err = b.devices.Upsert(ctx, report)
		return err
	})
	// Nobody else makes the same id, so it says who created the device, even after a lost answer.
	return device, err == nil && device.ConfirmationID == mine, err
}

// rename gives a device that exists another name.
func (b *backend) rename(ctx context.Context, id MAC, name FriendlyName) (device Device, err error) {
	var v violations
	v.ask("hardware_id", id, "hardware_id")
	v.ask("friendly_name", name, "label")
	if err := v.err(); err != nil {
		return Device{}, err
	}
	err = settle(ctx, func() error {
		device, err = b.devices.Update(ctx, Device{HardwareID: id}, entity.Set(&deviceField.FriendlyName, name))
		return err
	})
	if errors.Is(err, entity.ErrNotFound) {
		return Device{}, errDeviceNotFound
	}
	return device, err
}

// listDevices returns devices, those seen last first.
func (b *backend) listDevices(ctx context.Context, limit int, cursor string) (entity.Page[Device], error) {
	return b.activity.Query(Device{}, entity.Desc(), entity.Limit(limit)).Page(ctx, cursor)
}
