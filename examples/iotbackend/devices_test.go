package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

func TestHardwareIDsAreUpperCaseMACs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, bad := range []MAC{"", "aa:bb:cc:dd:ee:ff", "AA:BB:CC:DD:EE", "AA-BB-CC-DD-EE-FF", "AA:BB:CC:DD:EE:FG", "AA:BB:CC:DD:EE:FF:00", " AA:BB:CC:DD:EE:FF"} {
		_, _, err := l.register(t.Context(), boots(bad, boot1))
		require.Equal(t, []string{"hardware_id"}, fields(t, err), bad)
		require.Equal(t, []string{"hardware_id"}, fields(t, second(l.latest(t.Context(), bad))), bad)
		require.Equal(t, []string{"hardware_id"}, fields(t, second(l.ingest(t.Context(), bad, samples(macA, 1)))), bad)
	}
	require.Empty(t, l.wire.Requests())
}

func TestRequiredFieldsAreRequired(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	_, _, err := l.register(t.Context(), registration{HardwareID: macA})
	require.Equal(t, []string{"boot_id", "firmware_version", "capabilities"}, fields(t, err))
	for _, name := range []FriendlyName{FriendlyName(strings.Repeat("x", 65)), "grün", "a\tb"} {
		r := boots(macA, boot1)
		r.FriendlyName = name
		_, _, err := l.register(t.Context(), r)
		require.Equal(t, []string{"friendly_name"}, fields(t, err))
	}
	r := boots(macA, "7c9e6679-7425-10de-944b-e07fc1f90ae7") // version 1
	_, _, err = l.register(t.Context(), r)
	require.Equal(t, []string{"boot_id"}, fields(t, err))
	for _, bad := range []string{"", strings.Repeat("x", 65), "grün", "a\tb"} { // names of sensors are bounded, too
		r := boots(macA, boot1)
		r.Capabilities.Sensors = []string{"a", bad}
		_, _, err := l.register(t.Context(), r)
		require.Equal(t, []string{"capabilities"}, fields(t, err), "%q", bad)
	}
	require.Empty(t, l.wire.Requests())
}

func TestDevicesAreListedByActivity(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var want []MAC
	for i := range 5 {
		id := MAC(fmt.Sprintf("AA:BB:CC:DD:EE:%02X", (i*7)%60))
		l.registered(id)
		want = append(want, id)
		l.clock.Move(time.Second)
	}
	again := want[2]
	l.registered(again)
	want = append(slices.Delete(want, 2, 3), again)
	slices.Reverse(want)
	ask := func(query string) (ids []MAC, next string) {
		t.Helper()
		var page list[Device]
		l.succeeds(t, "GET", "/v1/devices"+query, nil, &page)
		for _, d := range page.Items {
			ids = append(ids, d.HardwareID)
		}
		return ids, page.Next
	}
	first, next := ask("?limit=3")
	require.Equal(t, want[:3], first)
	rest, next := ask("?cursor=" + next)
	require.Equal(t, want[3:], rest)
	require.Empty(t, next)
	for _, bad := range []string{"0", "-1", "x", "1.5"} {
		l.refused(t, "GET", "/v1/devices?limit="+bad, nil, http.StatusBadRequest, "VALIDATION_FAILED")
	}
	l.wire.Reset()
	ask("?limit=5000")
	require.Contains(t, string(l.wire.Requests()[0].Body), `"Limit":1000`)
}

func TestTwoFirstBootsGetOneConfirmationID(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const n = 16
	ids, news, errs := make([]UUID4, n), make([]bool, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			d, created, err := l.register(t.Context(), boots(macA, boot1))
			ids[i], news[i], errs[i] = d.ConfirmationID, created, err
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(ids))), 1)
	require.Len(t, slices.DeleteFunc(news, func(created bool) bool { return !created }), 1, "one of them created it")
	require.Equal(t, string(ids[0]), dbtest.Text(l.stored(l.cfg.Devices)[0]["confirmation_id"]))
}

// A first registration whose answer was lost is still the one that created the device.
func TestLostAnswersChangeNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for i, f := range []faults.Fault{faults.Lost, faults.Drop, faults.InternalApplied, faults.Throttle, faults.Conflict} {
		l.wire.Reset()
		l.wire.Inject(faults.Nth(1, f, "UpdateItem"))
		id := MAC(fmt.Sprintf("AA:BB:CC:DD:EE:%02X", i))
		d, created, err := l.register(t.Context(), boots(id, boot1))
		require.NoError(t, err, f)
		require.True(t, created, f)
		require.Equal(t, 2, l.wire.Count("UpdateItem"), f)
		require.Equal(t, string(d.ConfirmationID), dbtest.Text(l.stored(l.cfg.Devices)[i]["confirmation_id"]))
	}
}

func TestRegisteringAgainKeepsWhatWasSetOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var first, again Device
	r := boots(macA, boot1)
	r.FriendlyName = "roof"
	status := l.succeeds(t, "POST", "/v1/devices", r, &first)
	require.Equal(t, http.StatusCreated, status)
	l.clock.Move(time.Hour)
	l.wire.Reset()
	r = boots(macA, boot2)
	r.FirmwareVersion, r.Capabilities = "2.0.0", Capabilities{[]string{"z", "a", "z"}, map[string]bool{"on": true}}
	status = l.succeeds(t, "POST", "/v1/devices", r, &again)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, first.ConfirmationID, again.ConfirmationID)
	require.Equal(t, first.FirstRegisteredAt, again.FirstRegisteredAt)
	require.Equal(t, []any{boot2, Firmware("2.0.0"), r.Capabilities}, []any{again.LastBootID, again.FirmwareVersion, again.Capabilities}, "they follow the device")
	require.Equal(t, FriendlyName("roof"), again.FriendlyName, "a name that is not given stays")
	require.Equal(t, first.LastSeenAt.Add(time.Hour), again.LastSeenAt)
	require.Equal(t, []string{"UpdateItem"}, dbtest.Operations(l.wire.Requests()), "nothing is read first")
	require.Contains(t, string(l.wire.Requests()[0].Body), "if_not_exists")
	require.NotEqual(t, randomUUID(), randomUUID())
	require.NoError(t, rules.Var(randomUUID(), "uuid4"))
}
