package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// config is the configuration from the environment.
type config struct {
	Devices, Readings, Batches string        // physical table names
	Retention                  time.Duration // how long readings are kept; 0: for ever
	Token                      secret        // of the callers of the API
}

// The environment variables.
const (
	envDevices   = "DEVICES_TABLE"
	envReadings  = "DEVICE_READINGS_TABLE"
	envBatches   = "PROCESSED_BATCHES_TABLE"
	envRetention = "READING_RETENTION_DAYS"
	envToken     = "API_TOKEN"
)

const (
	day              = 24 * time.Hour
	longestRetention = 36500 // days
)

// readConfig reads the environment. It reports all mistakes at once.
func readConfig(getenv func(string) string) (config, error) {
	cfg := config{
		Devices:  cmp.Or(getenv(envDevices), "devices"),
		Readings: cmp.Or(getenv(envReadings), "device_readings"),
		Batches:  cmp.Or(getenv(envBatches), "processed_batches"),
		Token:    secret{getenv(envToken)},
	}
	var errs []error
	if text := getenv(envRetention); text != "" {
		// Too many days would overflow.
		if days, err := strconv.ParseInt(text, 10, 32); err != nil || days < 1 || days > longestRetention {
			errs = append(errs, fmt.Errorf("%s: a number of days is needed, 1 to %d", envRetention, longestRetention))
		} else {
			cfg.Retention = time.Duration(days) * day
		}
	}
	if cfg.Token.text == "" {
		errs = append(errs, fmt.Errorf("%s is not set: anybody could call the service", envToken))
	}
	return cfg, errors.Join(errs...)
}

// tables maps the names in the declarations to the physical ones.
func (c config) tables() map[string]string {
	return map[string]string{"devices": c.Devices, "device_readings": c.Readings, "processed_batches": c.Batches}
}
