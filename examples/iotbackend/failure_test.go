package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// loose is a device whose values are not checked, as if the service's checks had missed them.
type loose struct {
	_ entity.Key `name:"Device" table:"devices" pk:"hardware_id"`

	HardwareID MAC     `dynamodbav:"hardware_id"`
	Reported   float64 `dynamodbav:"reported,omitempty"`
	Text       string  `dynamodbav:"text,omitempty"`
}

// What the library refuses to store is the sender's mistake, and the answer does not quote it.
func TestExplain_ValuesThatTheLibraryRefusesAreTheSendersMistake(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db, err := entity.Open(l.client, entity.Config{Tables: l.cfg.tables()})
	require.NoError(t, err)
	unchecked, err := entity.New[loose](db)
	require.NoError(t, err)
	const quoted = "grün-and-secret"
	odd := boots(macA, boot1)
	for name, err := range map[string]error{
		"refused by its type":     second(l.devices.Put(t.Context(), Device{HardwareID: quoted, ConfirmationID: boot1, LastBootID: boot1, FirmwareVersion: "1", Capabilities: odd.Capabilities})),
		"beyond DynamoDB's range": second(unchecked.Put(t.Context(), loose{HardwareID: macA, Reported: 1e200})),
		"larger than an item":     second(unchecked.Put(t.Context(), loose{HardwareID: macA, Text: quoted + strings.Repeat("x", 400<<10)})),
	} {
		require.Error(t, err, name)
		for at, err := range []error{err, &interrupted{Failed: place{1, "b"}, Err: err}} {
			p := explain(err)
			require.Equal(t, http.StatusBadRequest, p.Status, "%s: %v", name, err)
			require.Equal(t, "VALIDATION_FAILED", p.Code, name)
			require.Zero(t, p.RetryAfter, name)
			answer, err := json.Marshal(p)
			require.NoError(t, err)
			require.NotContains(t, string(answer), quoted, name)
			require.Equal(t, at == 1, strings.Contains(string(answer), `"failed"`), name)
		}
	}
	require.Empty(t, l.wire.Requests())

	// Mistakes of the service itself stay its own.
	_, err = l.readings.Update(t.Context(), Reading{HardwareID: macA, TimestampMS: firstMS, BatchID: "b"}, entity.Set(&readingField.BatchID, "c"))
	require.ErrorAs(t, err, new(*entity.InputError))
	require.Equal(t, http.StatusInternalServerError, explain(err).Status)
}
