package main

import (
	"errors"
	"math"
	"time"

	"github.com/dynastrata/dynastrata/check"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// Reading is an item of the table device_readings. The sort key is composed from its parts, so that nobody can give
// another one; it has 13 digits, so that the order of texts is that of time. expiration_time follows timestamp_ms.
type Reading struct {
	_ entity.Key    `name:"Reading" table:"device_readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}" stream:"new"`
	_ lifecycle.TTL `attr:"expiration_time" from:"timestamp_ms"` // for how long, the configuration says

	HardwareID      check.MAC    `dynamodbav:"hardware_id"`
	TimestampMS     Millis       `dynamodbav:"timestamp_ms" entity:"time=unixms"`
	BatchID         BatchID      `dynamodbav:"batch_id"`
	BootID          check.UUID4  `dynamodbav:"boot_id"`
	FirmwareVersion Firmware     `dynamodbav:"firmware_version"`
	FriendlyName    FriendlyName `dynamodbav:"friendly_name,omitempty"` // of the device when the reading came
	Sensors         Sensors      `dynamodbav:"sensors"`
	SensorStatus    SensorStatus `dynamodbav:"sensor_status"`
	ExpirationTime  int64        `dynamodbav:"expiration_time,omitempty"` // the library's, unless the caller gives one
}

// Validate refuses an end that counts milliseconds.
func (r Reading) Validate() error { return wholeSeconds(r.ExpirationTime) }

// Millis is a time in milliseconds since 1970, as devices count it.
type Millis int64

// The times that devices may report: a clock outside them was never set.
var (
	firstTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime  = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Validate refuses times of devices that do not know the time at all.
func (m Millis) Validate() error { return check.UnixMillis(m, firstTime, lastTime) }

// Sensors is what a device measured. It need not have every sensor.
type Sensors struct {
	BME280TempC     *float64 `dynamodbav:"bme280_temp_c,omitempty" json:"bme280_temp_c,omitempty"`
	DS18B20TempC    *float64 `dynamodbav:"ds18b20_temp_c,omitempty" json:"ds18b20_temp_c,omitempty"`
	HumidityPct     *float64 `dynamodbav:"humidity_pct,omitempty" json:"humidity_pct,omitempty"`
	PressureHPA     *float64 `dynamodbav:"pressure_hpa,omitempty" json:"pressure_hpa,omitempty"`
	SoilMoisturePct *float64 `dynamodbav:"soil_moisture_pct,omitempty" json:"soil_moisture_pct,omitempty"`
}

// Validate refuses what is no number, or none that DynamoDB can store.
func (s Sensors) Validate() error {
	var errs []error
	for _, f := range []*float64{s.BME280TempC, s.DS18B20TempC, s.HumidityPct, s.PressureHPA, s.SoilMoisturePct} {
		if f != nil {
			errs = append(errs, storable(*f))
		}
	}
	return errors.Join(errs...)
}

// storable refuses numbers whose magnitude DynamoDB does not have. The write would refuse them, too, but only when other
// readings of the request are stored.
func storable(f float64) error {
	if err := check.Finite(f); err != nil {
		return err
	}
	if size := math.Abs(f); size != 0 && (size < 1e-130 || size >= 1e126) {
		return errors.New("zero or a magnitude from 1e-130 to below 1e126 is needed")
	}
	return nil
}

// SensorStatus says which sensors work. A sensor that is not there has no status, which is not the same as an empty one.
type SensorStatus struct {
	BME280       *Health `dynamodbav:"bme280,omitempty" json:"bme280,omitempty"`
	DS18B20      *Health `dynamodbav:"ds18b20,omitempty" json:"ds18b20,omitempty"`
	SoilMoisture *Health `dynamodbav:"soil_moisture,omitempty" json:"soil_moisture,omitempty"`
}

// Validate refuses a status that nobody knows.
func (s SensorStatus) Validate() error {
	var errs []error
	for _, h := range []*Health{s.BME280, s.DS18B20, s.SoilMoisture} {
		if h != nil {
			errs = append(errs, h.Validate())
		}
	}
	return errors.Join(errs...)
}

// Health is the state of a sensor.
type Health string

// Validate refuses other states.
func (h Health) Validate() error { return check.OneOf(h, "ok", "error") }

// wholeSeconds refuses an end that must be a count of milliseconds: as seconds it would lie after the year 5138.
func wholeSeconds(end int64) error {
	if end == 0 {
		return nil
	}
	return check.Between(end, 0, 99_999_999_999)
}
