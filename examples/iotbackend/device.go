package main

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// Device is an item of the table devices. What was written at the first registration stays: confirmation_id and
// first_registered_at. Everything else is as the device reported it last; to keep firmware_version and capabilities of the
// first registration too, give them the role set_once.
type Device struct {
	_ entity.Key `name:"Device" table:"devices" pk:"hardware_id"`
	_ entity.GSI `name:"byActivity" index:"gsi1" pk:"gsi1pk=devices" sk:"gsi1sk={last_seen_at}"`

	HardwareID        MAC          `dynamodbav:"hardware_id" validate:"hardware_id"`
	ConfirmationID    UUID4        `dynamodbav:"confirmation_id" entity:"set_once" validate:"uuid4"`
	Capabilities      Capabilities `dynamodbav:"capabilities"`
	FirstRegisteredAt time.Time    `dynamodbav:"first_registered_at" entity:"set_once,time=s"`
	LastSeenAt        time.Time    `dynamodbav:"last_seen_at" entity:"time=s"`
	LastBootID        UUID4        `dynamodbav:"last_boot_id" validate:"uuid4"`
	FirmwareVersion   Firmware     `dynamodbav:"firmware_version" validate:"label"`
	FriendlyName      FriendlyName `dynamodbav:"friendly_name,omitempty" validate:"omitempty,label"`
}

// Capabilities is what a device says that it can do. Neither part may be nil, which would be stored as NULL where the
// schema has a list and a map. What the schema leaves open is bounded, so that no device can fill an item.
type Capabilities struct {
	Sensors  []string        `dynamodbav:"sensors" json:"sensors" validate:"required,max=64,dive,label"`
	Features map[string]bool `dynamodbav:"features" json:"features" validate:"required,max=64,dive,keys,label,endkeys"`
}

// Firmware is the version of a device's program.
type Firmware string

// FriendlyName is how people call a device.
type FriendlyName string
