package main

import (
	"testing"

	"github.com/go-playground/validator/v10"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// foundBy returns the error of the validator behind err, whose field the library names.
func foundBy(t *testing.T, err error, field string) validator.ValidationErrors {
	t.Helper()
	var refused *entity.ValidationError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "EDD-9130", refused.Code)
	require.Equal(t, field, refused.Field)
	var found validator.ValidationErrors
	require.ErrorAs(t, err, &found)
	return found
}

func TestRules_AreCheckedForWholeValues(t *testing.T) {
	t.Parallel()
	b := planner(t)
	r := lockedReading()
	r.HardwareID, r.BatchID = "aa", "grün"
	found := foundBy(t, second(b.Readings.Put(t.Context(), r)), "")
	require.Len(t, found, 2)
	require.Equal(t, []string{"hardware_id", "batch_id"}, []string{found[0].Tag(), found[1].Tag()})
	foundBy(t, b.db.Transact(t.Context(), b.Readings.Op().Put(r)), "")
	_, err := b.Readings.Put(t.Context(), lockedReading())
	require.ErrorIs(t, err, entity.ErrNoClient, "a valid one would be sent")
}

func TestRules_AreCheckedForSingleChanges(t *testing.T) {
	t.Parallel()
	b, f := planner(t), entity.Fields[Device]()
	for field, change := range map[string]entity.UpdateOption{
		"FriendlyName":                  entity.Set(&f.FriendlyName, "grün"),
		"FirmwareVersion":               entity.Remove(&f.FirmwareVersion),
		"Capabilities":                  entity.Set(&f.Capabilities, Capabilities{Sensors: []string{"a"}}),
		"Capabilities.Sensors":          entity.ListAppend(&f.Capabilities.Sensors, "a", ""),
		`Capabilities.Features["grün"]`: entity.MapEntry(&f.Capabilities.Features, "grün").Set(true),
	} {
		require.Len(t, foundBy(t, second(b.Devices.Update(t.Context(), Device{HardwareID: macA}, change)), field), 1, field)
	}
	valid := entity.ListAppend(&f.Capabilities.Sensors, "a")
	require.ErrorIs(t, second(b.Devices.Update(t.Context(), Device{HardwareID: macA}, valid)), entity.ErrNoClient)
}
