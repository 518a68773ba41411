package check_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/dynastrata/dynastrata/check"
	"github.com/dynastrata/dynastrata/entity"
)

// Device has fields that follow rules: by types of the package, and by its own.
type Device struct {
	_          entity.Key        `name:"Device" table:"devices" pk:"hardware_id"`
	HardwareID check.MAC         `dynamodbav:"hardware_id"`
	Boot       check.UUID4       `dynamodbav:"boot_id,omitempty"`
	Firmware   Firmware          `dynamodbav:"firmware_version"`
	Status     map[string]Health `dynamodbav:"status"`
}

// Firmware is a version like 2.11.
type Firmware string

var versions = regexp.MustCompile(`^\d+\.\d+$`)

// Validate is asked by every write of a Firmware.
func (f Firmware) Validate() error {
	return errors.Join(check.Characters(f, 1, 8), check.Pattern(f, versions, "a version like 2.11"))
}

// Health is how a sensor does.
type Health string

// Validate is asked by every write of a Health, also inside maps and lists.
func (h Health) Validate() error { return check.OneOf(h, "ok", "error") }

// A write reports everything that is wrong with its values, and sends no request.
func Example() {
	ctx := context.Background()
	db := entity.Must(entity.Open(nil, entity.Config{Tables: map[string]string{"devices": "devices"}}))
	devices := entity.Must(entity.New[Device](db))

	_, err := devices.Create(ctx, Device{HardwareID: "aa:bb:cc:00:11:22", Firmware: "beta"})
	var invalid *entity.ValidationError
	fmt.Println(errors.As(err, &invalid), invalid.Field)
	var broken *check.Error
	fmt.Println(errors.As(err, &broken), broken.Rule)

	d := entity.Fields[Device]()
	_, err = devices.Update(ctx, Device{HardwareID: "AA:BB:CC:00:11:22"}, entity.Set(&d.Firmware, "beta"))
	if errors.As(err, &broken) {
		fmt.Println(broken)
	}
	// Output:
	// true HardwareID
	// true mac
	// pattern: a version like 2.11 is needed
}

func ExampleOneOf() {
	fmt.Println(check.OneOf("broken", "ok", "error"))
	fmt.Println(check.OneOf("ok", "ok", "error"))
	// Output:
	// one_of: one of "ok", "error" is needed
	// <nil>
}
