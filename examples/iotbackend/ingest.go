package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// submission is one batch of a request: a reading, and the name under which it is stored once.
type submission struct {
	BatchID         BatchID       `json:"batch_id" validate:"batch_id"`
	TimestampMS     Millis        `json:"timestamp_ms" validate:"device_time"`
	BootID          UUID4         `json:"boot_id" validate:"uuid4"`
	FirmwareVersion Firmware      `json:"firmware_version" validate:"label"`
	Sensors         *Sensors      `json:"sensors" validate:"required"`
	SensorStatus    *SensorStatus `json:"sensor_status" validate:"required"`
}

// mostReadings is how many readings one request may have.
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

// place is a batch of a request. The index distinguishes batches with the same name.
type place struct {
	Index   int     `json:"index"`
	BatchID BatchID `json:"batch_id"`
}

// receipt says what became of the batches of a request. Each is in one of its lists.
type receipt struct {
	Acknowledged []place `json:"acknowledged"` // stored by this request
	Duplicates   []place `json:"duplicates"`   // stored before
}

// interrupted is an ingestion that could not go on: Err is about Failed, which may have been stored only if the error is
// ambiguous, and nothing after it was tried. The whole request can be sent again.
type interrupted struct {
	receipt
	Failed       place   `json:"failed"`
	NotAttempted []place `json:"not_attempted"`
	Err          error   `json:"-"`
}

func (e *interrupted) Error() string { return fmt.Sprintf("readings[%d]: %v", e.Failed.Index, e.Err) }
func (e *interrupted) Unwrap() error { return e.Err }

// ingest stores the readings of one device. All of them are checked before the first is written; then each goes in a
// transaction of its own, in order, up to the first error.
func (b *backend) ingest(ctx context.Context, id MAC, all []submission) (receipt, error) {
	got := receipt{[]place{}, []place{}}
	if err := validateBatch(id, all); err != nil {
		return got, err
	}
	device, err := b.devices.Get(ctx, Device{HardwareID: id}, entity.Consistent())
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
			return got, &interrupted{got, place{i, s.BatchID}, places(all, i+1), err}
		case stored:
			got.Acknowledged = append(got.Acknowledged, place{i, s.BatchID})
		default:
			got.Duplicates = append(got.Duplicates, place{i, s.BatchID})
		}
	}
	return got, nil
}

func places(all []submission, from int) []place {
	rest := []place{}
	for i := from; i < len(all); i++ {
		rest = append(rest, place{i, all[i].BatchID})
	}
	return rest
}

// reading is the item of a submission. The device's name is the one that it has now; later ones do not change it.
func (s submission) reading(d Device) Reading {
	return Reading{
		HardwareID: d.HardwareID, TimestampMS: s.TimestampMS, BatchID: s.BatchID, BootID: s.BootID,
		FirmwareVersion: s.FirmwareVersion, FriendlyName: d.FriendlyName, Sensors: *s.Sensors, SensorStatus: *s.SensorStatus,
	}
}

// store writes the reading and the proof that its batch was stored, or neither. stored is false when the proof is there
// already. Only a proof of the same device makes a duplicate: whatever else may have cancelled the transaction is an error,
// because a device forgets what was acknowledged.
func (b *backend) store(ctx context.Context, r Reading) (stored bool, err error) {
	proof := b.batches.Op().Create(ProcessedBatch{BatchID: r.BatchID, HardwareID: r.HardwareID})
	err = b.db.Transact(ctx, proof, b.readings.Op().Put(r))
	if err == nil {
		b.warnExpired(ctx, r)
		return true, nil
	}
	why := entity.FailureOf(err, proof)
	if !errors.Is(why, entity.ErrExists) {
		return false, err
	}
	first, ok := entity.StoredItem[ProcessedBatch](why) // comes with the refusal
	if !ok {
		if first, err = b.batches.Get(ctx, ProcessedBatch{BatchID: r.BatchID}, entity.Consistent()); err != nil {
			return false, err
		}
	}
	if first.HardwareID != r.HardwareID {
		return false, errCollision
	}
	return false, nil
}

// warnExpired logs a reading whose retention was over before it came: the device's clock must be wrong.
func (b *backend) warnExpired(ctx context.Context, r Reading) {
	end := time.UnixMilli(int64(r.TimestampMS)).Add(b.retention)
	if b.retention > 0 && !end.After(b.now()) {
		b.log.WarnContext(ctx, "reading had expired when it came", "hardware_id", r.HardwareID, "timestamp_ms", int64(r.TimestampMS))
	}
}
