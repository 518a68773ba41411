package main

import (
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// Reading is an item of the table device_readings. The library composes the sort key from its parts, so no caller can set
// another one; it has 13 digits, so it sorts in the order of time. expiration_time follows timestamp_ms.
type Reading struct {
	_ entity.Key    `name:"Reading" table:"device_readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}" stream:"new"`
	_ lifecycle.TTL `attr:"expiration_time" from:"timestamp_ms"` // after: config.Retention, in open

	HardwareID      MAC          `dynamodbav:"hardware_id" json:"hardware_id" validate:"hardware_id"`
	TimestampMS     Millis       `dynamodbav:"timestamp_ms" json:"timestamp_ms" entity:"time=unixms" validate:"device_time"`
	BatchID         BatchID      `dynamodbav:"batch_id" json:"batch_id" validate:"batch_id"`
	BootID          UUID4        `dynamodbav:"boot_id" json:"boot_id" validate:"uuid4"`
	FirmwareVersion Firmware     `dynamodbav:"firmware_version" json:"firmware_version" validate:"label"`
	FriendlyName    FriendlyName `dynamodbav:"friendly_name,omitempty" json:"friendly_name,omitempty" validate:"omitempty,label"` // of the device when the reading came
	Sensors         Sensors      `dynamodbav:"sensors" json:"sensors"`
	SensorStatus    SensorStatus `dynamodbav:"sensor_status" json:"sensor_status"`
	ExpirationTime  int64        `dynamodbav:"expiration_time,omitempty" json:"-" validate:"seconds"` // the library's, unless the caller gives one
}

// Millis is a time in milliseconds since 1970, as devices count it.
type Millis int64

// Sensors holds what a device measured. It need not have every sensor.
type Sensors struct {
	BME280TempC     *float64 `dynamodbav:"bme280_temp_c,omitempty" json:"bme280_temp_c,omitempty" validate:"omitempty,storable"`
	DS18B20TempC    *float64 `dynamodbav:"ds18b20_temp_c,omitempty" json:"ds18b20_temp_c,omitempty" validate:"omitempty,storable"`
	HumidityPct     *float64 `dynamodbav:"humidity_pct,omitempty" json:"humidity_pct,omitempty" validate:"omitempty,storable"`
	PressureHPA     *float64 `dynamodbav:"pressure_hpa,omitempty" json:"pressure_hpa,omitempty" validate:"omitempty,storable"`
	SoilMoisturePct *float64 `dynamodbav:"soil_moisture_pct,omitempty" json:"soil_moisture_pct,omitempty" validate:"omitempty,storable"`
}

// SensorStatus is the state of each sensor. An absent sensor has no status, which differs from an empty one.
type SensorStatus struct {
	BME280       *Health `dynamodbav:"bme280,omitempty" json:"bme280,omitempty" validate:"omitempty,oneof=ok error"`
	DS18B20      *Health `dynamodbav:"ds18b20,omitempty" json:"ds18b20,omitempty" validate:"omitempty,oneof=ok error"`
	SoilMoisture *Health `dynamodbav:"soil_moisture,omitempty" json:"soil_moisture,omitempty" validate:"omitempty,oneof=ok error"`
}

// Health is the state of a sensor.
type Health string
