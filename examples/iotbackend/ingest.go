package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
)

// submission is one batch of a request: a reading, and the id under which it is stored once.
type submission struct {
	BatchID         BatchID       `json:"batch_id" validate:"batch_id"`
	TimestampMS     Millis        `json:"timestamp_ms" validate:"device_time"`
	BootID          UUID4         `json:"boot_id" validate:"uuid4"`
	FirmwareVersion Firmware      `json:"firmware_version" validate:"label"`
	Sensors         *Sensors      `json:"sensors" validate:"required"`
	SensorStatus    *SensorStatus `json:"sensor_status" validate:"required"`
}

// mostReadings limits the readings of one request.
const mostReadings = 100

func validateBatch(id MAC, all []submission) error {
	var v violations
	v.ask("hardware_id", id, "hardware_id")
	if len(all) == 0 || len(all) > mostReadings {
		v.add("readings", "1 to %d are needed", mostReadings)
	}
	for i, s := range all {
		v.take(fmt.Sprintf("readings[%d].", i), validate(s))
	}
	return v.err()
}

// place is a batch of a request. The index distinguishes batches with the same id.
type place struct {
	Index   int     `json:"index"`
	BatchID BatchID `json:"batch_id"`
}

// receipt is the result of a request. Each of its batches is in one of the lists.
type receipt struct {
	Acknowledged []place `json:"acknowledged"` // stored by this request
	Duplicates   []place `json:"duplicates"`   // stored before
}

// ingest stores the readings of one device. It checks all of them before it writes the first. Then each gets its own
// transaction, in order, up to the first error. The request can be sent again: what it has stored is a duplicate then.
func (b *backend) ingest(ctx context.Context, id MAC, all []submission) (receipt, error) {
	got := receipt{[]place{}, []place{}}
	if err := validateBatch(id, all); err != nil {
		return got, err
	}
	device, err := b.Devices.Get(ctx, Device{HardwareID: id}, entity.Consistent())
	if errors.Is(err, entity.ErrNotFound) {
		return got, errDeviceNotFound
	}
	if err != nil {
		return got, err
	}
	for i, s := range all {
		stored, err := b.store(ctx, s.reading(device))
		switch {
		case err != nil:
			return receipt{}, fmt.Errorf("readings[%d]: %w", i, err)
		case stored:
			got.Acknowledged = append(got.Acknowledged, place{i, s.BatchID})
		default:
			got.Duplicates = append(got.Duplicates, place{i, s.BatchID})
		}
	}
	return got, nil
}

// reading returns the item of a submission. It has the current name of the device; later names do not change it.
func (s submission) reading(d Device) Reading {
	return Reading{
		HardwareID: d.HardwareID, TimestampMS: s.TimestampMS, BatchID: s.BatchID, BootID: s.BootID,
		FirmwareVersion: s.FirmwareVersion, FriendlyName: d.FriendlyName, Sensors: *s.Sensors, SensorStatus: *s.SensorStatus,
	}
}

// store writes the reading and the proof that its batch was stored, or neither. stored is false if the proof exists already.
// Only a proof of the same device makes a duplicate: any other reason for a cancelled transaction is an error, because a
// device forgets what was acknowledged.
func (b *backend) store(ctx context.Context, r Reading) (stored bool, err error) {
	proof := b.Batches.Op().Create(ProcessedBatch{BatchID: r.BatchID, HardwareID: r.HardwareID})
	err = b.db.Transact(ctx, proof, b.Readings.Op().Put(r))
	if err == nil {
		return true, nil
	}
	why := entity.FailureOf(err, proof)
	if !errors.Is(why, entity.ErrExists) {
		return false, err
	}
	first, ok := entity.StoredItem[ProcessedBatch](why) // comes with the refusal
	if !ok {
		if first, err = b.Batches.Get(ctx, ProcessedBatch{BatchID: r.BatchID}, entity.Consistent()); err != nil {
			return false, err
		}
	}
	if first.HardwareID != r.HardwareID {
		return false, errCollision
	}
	return false, nil
}
