package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// config is the configuration from the environment.
type config struct {
	Devices, Readings, Batches, Keys string        // physical table names
	Retention                        time.Duration // how long readings are kept; 0: for ever
	Pepper                           Pepper
	AdminToken                       secret
	CursorKey                        secret // encrypts cursors, when it is set
	StrongCheck                      bool   // reads an API key consistently after it was found by its hash
	Recovery                         bool   // point-in-time recovery of the tables whose content cannot be sent again
}

// The environment variables.
const (
	envDevices   = "DEVICES_TABLE"
	envReadings  = "DEVICE_READINGS_TABLE"
	envBatches   = "PROCESSED_BATCHES_TABLE"
	envKeys      = "API_KEYS_TABLE"
	envRetention = "READING_RETENTION_DAYS"
	envPepper    = "API_KEY_PEPPER"
	envAdmin     = "ADMIN_TOKEN"
	envCursor    = "CURSOR_KEY"
	envStrong    = "API_KEY_STRONG_CHECK"
	envRecovery  = "POINT_IN_TIME_RECOVERY"
)

// readConfig reads the environment. It reports all mistakes at once.
func readConfig(getenv func(string) string) (config, error) {
	cfg := config{
		Devices:    cmp.Or(getenv(envDevices), "devices"),
		Readings:   cmp.Or(getenv(envReadings), "device_readings"),
		Batches:    cmp.Or(getenv(envBatches), "processed_batches"),
		Keys:       cmp.Or(getenv(envKeys), "api_keys"),
		Pepper:     Pepper{getenv(envPepper)},
		AdminToken: secret{getenv(envAdmin)},
		CursorKey:  secret{getenv(envCursor)},
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
	for _, flag := range []struct {
		name string
		into *bool
	}{{envStrong, &cfg.StrongCheck}, {envRecovery, &cfg.Recovery}} {
		on, err := strconv.ParseBool(cmp.Or(getenv(flag.name), "false"))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: true or false is needed", flag.name))
		}
		*flag.into = on
	}
	return cfg, errors.Join(append(errs, cfg.Validate())...)
}

const (
	day              = 24 * time.Hour
	longestRetention = 36500 // days
)

// Validate reports what the service cannot work with.
func (c config) Validate() error {
	var errs []error
	if c.Pepper.text == "" {
		errs = append(errs, fmt.Errorf("%s is not set: without it, API keys cannot be verified", envPepper))
	}
	if c.AdminToken.text == "" {
		errs = append(errs, fmt.Errorf("%s is not set: without it, API keys cannot be made", envAdmin))
	}
	if c.Retention < 0 || c.Retention > longestRetention*day {
		errs = append(errs, fmt.Errorf("%s: at most %d days are possible", envRetention, longestRetention))
	}
	if n := len(c.CursorKey.text); n > 0 && n < 16 {
		errs = append(errs, fmt.Errorf("%s: at least 16 bytes are needed", envCursor))
	}
	names := map[string]string{}
	for _, t := range []struct{ env, name string }{{envDevices, c.Devices}, {envReadings, c.Readings}, {envBatches, c.Batches}, {envKeys, c.Keys}} {
		if other, taken := names[t.name]; taken {
			errs = append(errs, fmt.Errorf("%s and %s name the same table", other, t.env))
		}
		names[t.name] = t.env
	}
	return errors.Join(errs...)
}

// tables maps the names in the declarations to the physical ones.
func (c config) tables() map[string]string {
	return map[string]string{
		"devices": c.Devices, "device_readings": c.Readings, "processed_batches": c.Batches, "api_keys": c.Keys,
	}
}

func (c config) cursorKey() []byte {
	if c.CursorKey.text == "" {
		return nil
	}
	return []byte(c.CursorKey.text)
}

// tableOptions are for devices and API keys: readings expire, and batches exist for a month only. Local databases have no
// point-in-time recovery, so it must be requested.
func (c config) tableOptions() map[string]entity.TableOptions {
	o := entity.TableOptions{PointInTimeRecovery: c.Recovery}
	return map[string]entity.TableOptions{"devices": o, "api_keys": o}
}
