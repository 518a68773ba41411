package main

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/check"
	"github.com/dynastrata/dynastrata/entity"
)

// Device is an item of the table devices. What was written at the first registration stays: confirmation_id and
// first_registered_at. Everything else is as the device reported it last; to keep firmware_version and capabilities of the
// first registration too, give them the role set_once.
type Device struct {
	_ entity.Key `name:"Device" table:"devices" pk:"hardware_id"`
	_ entity.GSI `name:"byActivity" index:"gsi1" pk:"gsi1pk=devices" sk:"gsi1sk={last_seen_at}"`

	HardwareID        check.MAC    `dynamodbav:"hardware_id"`
	ConfirmationID    check.UUID4  `dynamodbav:"confirmation_id" entity:"set_once"`
	Capabilities      Capabilities `dynamodbav:"capabilities"`
	FirstRegisteredAt time.Time    `dynamodbav:"first_registered_at" entity:"set_once,time=s"`
	LastSeenAt        time.Time    `dynamodbav:"last_seen_at" entity:"time=s"`
	LastBootID        check.UUID4  `dynamodbav:"last_boot_id"`
	FirmwareVersion   Firmware     `dynamodbav:"firmware_version"`
	FriendlyName      FriendlyName `dynamodbav:"friendly_name,omitempty"`
}

// Capabilities is what a device says that it can do.
type Capabilities struct {
	Sensors  []string        `dynamodbav:"sensors" json:"sensors"`
	Features map[string]bool `dynamodbav:"features" json:"features"`
}

// Validate refuses nil, which would be stored as NULL where the schema has a list and a map, and names that are empty,
// long, or not printable.
func (c Capabilities) Validate() error {
	var errs []error
	if c.Sensors == nil {
		errs = append(errs, errors.New("sensors: a list is needed, even if it is empty"))
	}
	if c.Features == nil {
		errs = append(errs, errors.New("features: an object is needed, even if it is empty"))
	}
	if len(c.Sensors) > maxCapabilities || len(c.Features) > maxCapabilities {
		return errors.Join(append(errs, errors.New("at most 64 sensors and 64 features are allowed"))...)
	}
	errs = append(errs, badName("sensors", slices.Values(c.Sensors)), badName("features", maps.Keys(c.Features)))
	return errors.Join(errs...)
}

// badName says that one of the names is not valid, without quoting it.
func badName(field string, names iter.Seq[string]) error {
	for name := range names {
		if check.Bytes(name, 1, maxName) != nil || check.Printable(name) != nil {
			return fmt.Errorf("%s: names of 1 to %d printable ASCII characters are needed", field, maxName)
		}
	}
	return nil
}

// What the schema leaves open is bounded, so that no device can fill an item.
const (
	maxCapabilities = 64
	maxName         = 64 // bytes
)

// Firmware is the version of a device's program.
type Firmware string

// Validate refuses what no firmware calls itself.
func (f Firmware) Validate() error {
	return errors.Join(check.Bytes(f, 1, 64), check.Printable(f))
}

// FriendlyName is how people call a device.
type FriendlyName string

// Validate refuses names that are empty, long, or not printable.
func (n FriendlyName) Validate() error {
	return errors.Join(check.Bytes(n, 1, 64), check.Printable(n))
}
