package main

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// Device is an item of the table devices. What was written at the first registration stays: confirmation_id and
// first_registered_at. Everything else is as the device reported it last; to keep firmware_version and capabilities of the
// first registration too, give them the role set_once. The API shows devices with the same names.
type Device struct {
	_ entity.Key `name:"Device" table:"devices" pk:"hardware_id"`
	_ entity.GSI `name:"byActivity" index:"gsi1" pk:"gsi1pk=devices" sk:"gsi1sk={last_seen_at}"`

	HardwareID        MAC          `dynamodbav:"hardware_id" json:"hardware_id" validate:"hardware_id"`
	ConfirmationID    UUID4        `dynamodbav:"confirmation_id" json:"confirmation_id" entity:"set_once" validate:"uuid4"`
	Capabilities      Capabilities `dynamodbav:"capabilities" json:"capabilities"`
	FirstRegisteredAt time.Time    `dynamodbav:"first_registered_at" json:"first_registered_at" entity:"set_once,time=s"`
	LastSeenAt        time.Time    `dynamodbav:"last_seen_at" json:"last_seen_at" entity:"time=s"`
	LastBootID        UUID4        `dynamodbav:"last_boot_id" json:"last_boot_id" validate:"uuid4"`
	FirmwareVersion   Firmware     `dynamodbav:"firmware_version" json:"firmware_version" validate:"label"`
	FriendlyName      FriendlyName `dynamodbav:"friendly_name,omitempty" json:"friendly_name,omitempty" validate:"omitempty,label"`
}

// Capabilities lists what a device can do, as it reports it. Neither part may be nil, which would be stored as NULL where the
// schema has a list and a map. Sizes that the schema leaves open are bounded, so that no device can fill an item.
type Capabilities struct {
	Sensors  []string        `dynamodbav:"sensors" json:"sensors" validate:"required,max=64,dive,label"`
	Features map[string]bool `dynamodbav:"features" json:"features" validate:"required,max=64,dive,keys,label,endkeys"`
}

// Firmware is the version of a device's program.
type Firmware string

// A FriendlyName is the name that people give a device.
type FriendlyName string

// MAC is a hardware address of six bytes as upper-case hexadecimal pairs: "AA:BB:CC:00:11:22". Another spelling of the
// same address would be another key.
type MAC string

// UUID4 is a random UUID in lower-case hexadecimal digits.
type UUID4 string

// randomUUID returns a new UUID of version 4.
func randomUUID() UUID4 {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: see crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return UUID4(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}
