package main

import (
	"math"
	"reflect"
	"regexp"
	"strings"

	"github.com/go-playground/validator/v10"
)

// rules checks requests, and everything that is written, by `validate` tags.
var rules = newRules()

func newRules() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string { // requests name their fields as JSON does
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	for tag, rule := range map[string]validator.Func{"hardware_id": isHardwareID, "storable": isStorable} {
		if err := v.RegisterValidation(tag, rule); err != nil {
			panic(err) // the tag is empty or taken
		}
	}
	v.RegisterAlias("label", "printascii,min=1,max=64")
	v.RegisterAlias("batch_id", "printascii,min=1,max=256")
	v.RegisterAlias("device_time", "min=946684800000,max=4102444800000") // 2000 to 2100: a clock outside was never set
	v.RegisterAlias("seconds", "min=0,max=99999999999")                  // more are milliseconds: the year 5138
	return v
}

// problems describe what a rule requires. They never contain the value.
var problems = map[string]string{
	"hardware_id": "six pairs of upper-case hexadecimal digits with colons between them are needed",
	"uuid4":       "a version 4 UUID of 8-4-4-4-12 lower-case hexadecimal digits is needed",
	"label":       "1 to 64 printable ASCII characters are needed",
	"batch_id":    "1 to 256 printable ASCII characters are needed",
	"device_time": "milliseconds since 1970 of a time from 2000 to 2100 are needed",
	"required":    "a list or an object is needed, even if it is empty",
	"max":         "at most 64 sensors and 64 features are allowed",
	"oneof":       "ok or error is needed",
	"storable":    "zero or a magnitude from 1e-130 to below 1e126 is needed",
}

func problemOf(tag string) string {
	if p := problems[tag]; p != "" {
		return p
	}
	return "the value is not valid"
}

var hardwareID = regexp.MustCompile(`^([0-9A-F]{2}:){5}[0-9A-F]{2}$`)

// isHardwareID is stricter than the rule mac, which accepts every spelling.
func isHardwareID(f validator.FieldLevel) bool { return hardwareID.MatchString(f.Field().String()) }

// isStorable refuses numbers that DynamoDB cannot store. The write would refuse them too, but only after other readings of
// the request are stored.
func isStorable(f validator.FieldLevel) bool {
	size := math.Abs(f.Field().Float())
	return size == 0 || size >= 1e-130 && size < 1e126 // not NaN
}
