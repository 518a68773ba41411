package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestHardwareIDsAreUpperCaseMACs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, bad := range []MAC{"", "aa:bb:cc:dd:ee:ff", "AA:BB:CC:DD:EE", "AA-BB-CC-DD-EE-FF", "AA:BB:CC:DD:EE:FG", "AA:BB:CC:DD:EE:FF:00", " AA:BB:CC:DD:EE:FF"} {
		_, _, err := l.register(t.Context(), boots(bad, boot1))
		require.Equal(t, []string{"hardware_id"}, fields(t, err), bad)
		_, err = l.latest(t.Context(), bad)
		require.Equal(t, []string{"hardware_id"}, fields(t, err), bad)
		_, err = l.ingest(t.Context(), bad, samples(macA, 1))
		require.Equal(t, []string{"hardware_id"}, fields(t, err), bad)
		_, err = l.rename(t.Context(), bad, "x")
		require.Equal(t, []string{"hardware_id"}, fields(t, err), bad)
	}
	require.Empty(t, l.wire.Requests())
	require.Equal(t, "hardware_id (S) HASH", l.db.Spec().Tables[0].Key.String())
}

func TestNamesOfCapabilitiesAreBounded(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	with := func(name string) []Capabilities {
		return []Capabilities{{[]string{"a", name}, map[string]bool{}}, {[]string{}, map[string]bool{"a": true, name: true}}}
	}
	for _, bad := range []string{"", strings.Repeat("x", 65), "grün", "a\tb", "a\xff"} {
		for _, c := range with(bad) {
			r := boots(macA, boot1)
			r.Capabilities = c
			_, _, err := l.register(t.Context(), r)
			require.Equal(t, []string{"capabilities"}, fields(t, err), "%q", bad)
			require.True(t, bad == "" || !strings.Contains(err.Error(), bad), "the name is in the error")
		}
	}
	require.Empty(t, l.wire.Requests())
	for _, good := range []string{"x", strings.Repeat("x", 64), "soil moisture~"} {
		for _, c := range with(good) {
			require.NoError(t, rules.Struct(c))
		}
	}
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
	require.Empty(t, l.wire.Requests())
	r = boots(macA, boot1)
	r.FriendlyName = FriendlyName(strings.Repeat("x", 64))
	l.registers(r)
}

func TestTheIndexFollowsLastSeen(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	inStep := func() string {
		t.Helper()
		it := l.raw(l.cfg.Devices)[0]
		require.Equal(t, "devices", dbtest.Text(it["gsi1pk"]))
		require.Equal(t, it["last_seen_at"], it["gsi1sk"])
		return dbtest.Text(it["gsi1sk"])
	}
	l.registered(macA)
	first := inStep()
	l.clock.Move(time.Minute)
	l.wire.Reset()
	l.registered(macA)
	require.Greater(t, inStep(), first)
	require.Len(t, l.wire.Requests(), 2, "one UpdateItem, and the scan of this test")
	_, err := l.rename(t.Context(), macA, "roof")
	require.NoError(t, err)
	inStep()
	require.Equal(t, "gsi1: gsi1pk (S) HASH, gsi1sk (S) RANGE; ALL", l.db.Spec().Tables[0].GSIs[0].String())
}

func TestDevicesAreListedByActivity(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var want []MAC
	for i := range 60 {
		id := MAC(fmt.Sprintf("AA:BB:CC:DD:EE:%02X", (i*7)%60))
		l.registered(id)
		want = append(want, id)
		l.clock.Move(time.Second)
	}
	again := want[10]
	l.registered(again)
	want = append(slices.Delete(want, 10, 11), again)
	slices.Reverse(want)

	type answer struct {
		Devices []deviceView `json:"devices"`
		Next    string       `json:"next_cursor"`
	}
	list := func(query string) (ids []MAC, next string) {
		t.Helper()
		var a answer
		l.admin().succeeds(t, "GET", "/v1/devices"+query, nil, &a)
		for _, d := range a.Devices {
			ids = append(ids, d.HardwareID)
		}
		return ids, a.Next
	}
	first, next := list("")
	require.Equal(t, want[:50], first)
	rest, next := list("?cursor=" + next)
	require.Equal(t, want[50:], rest)
	require.Empty(t, next)
	all, _ := list("?limit=5000") // brought down to 1000
	require.Equal(t, want, all)
	for _, bad := range []string{"0", "-1", "x", "1.5"} {
		l.admin().refused(t, "GET", "/v1/devices?limit="+bad, nil, http.StatusBadRequest, "VALIDATION_FAILED")
	}
	l.wire.Reset()
	list("?limit=5000")
	require.Contains(t, string(l.wire.Requests()[0].Body), `"Limit":1000`)
}

func TestTwoFirstBootsGetOneConfirmationID(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const n = 16
	ids, news := make([]UUID4, n), make([]bool, n)
	require.NoError(t, together(n, func(i int) error {
		d, created, err := l.register(t.Context(), boots(macA, boot1))
		ids[i], news[i] = d.ConfirmationID, created
		return err
	}))
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(ids))), 1)
	require.Len(t, slices.DeleteFunc(news, func(created bool) bool { return !created }), 1, "one of them created it")
	require.Equal(t, string(ids[0]), dbtest.Text(l.raw(l.cfg.Devices)[0]["confirmation_id"]))
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
		require.Equal(t, string(d.ConfirmationID), dbtest.Text(l.raw(l.cfg.Devices)[i]["confirmation_id"]))
	}
}

func TestRegisteringAgainKeepsWhatWasSetOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	device := l.device()
	var first, again deviceView
	status := device.succeeds(t, "POST", "/v1/devices", boots(macA, boot1), &first)
	require.Equal(t, http.StatusCreated, status)
	l.clock.Move(time.Hour)
	l.wire.Reset()
	status = device.succeeds(t, "POST", "/v1/devices", boots(macA, boot2), &again)
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, rules.Var(first.ConfirmationID, "uuid4"))
	require.Equal(t, first.ConfirmationID, again.ConfirmationID)
	require.Equal(t, first.FirstRegisteredAt, again.FirstRegisteredAt)
	require.Equal(t, boot2, again.LastBootID)
	require.Equal(t, first.LastSeenAt.Add(time.Hour), again.LastSeenAt)
	// The key was touched an hour ago at most once, so there may be a touch besides the one write of the device.
	writes := 0
	for _, r := range l.wire.Requests() {
		if r.Operation == "UpdateItem" && strings.Contains(string(r.Body), l.cfg.Devices) {
			writes++
			require.Contains(t, string(r.Body), "if_not_exists")
		}
		require.NotEqual(t, "GetItem", r.Operation, "nothing is read first")
	}
	require.Equal(t, 1, writes)
	for range 100 {
		require.NoError(t, rules.Var(randomUUID(), "uuid4"))
	}
}

func TestRenamingMakesNoGhosts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.admin().refused(t, "PATCH", "/v1/devices/"+string(macA), map[string]string{"friendly_name": "roof"}, http.StatusNotFound, "DEVICE_NOT_FOUND")
	require.Empty(t, l.raw(l.cfg.Devices))

	l.registered(macA)
	before := l.raw(l.cfg.Devices)[0]
	l.clock.Move(time.Hour)
	var got deviceView
	l.admin().succeeds(t, "PATCH", "/v1/devices/"+string(macA), map[string]string{"friendly_name": "roof"}, &got)
	require.Equal(t, FriendlyName("roof"), got.FriendlyName)
	before["friendly_name"] = dbtest.S("roof")
	require.Equal(t, []string{text(before)}, l.texts(l.cfg.Devices), "nothing else has changed")
	l.admin().refused(t, "PATCH", "/v1/devices/"+string(macA), map[string]string{"friendly_name": ""}, http.StatusBadRequest, "VALIDATION_FAILED")
}

// The schema does not say whether firmware_version and capabilities follow the device. They do; a name that a device does
// not give stays.
func TestRegisteringAgainRefreshesFirmwareAndCapabilities(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	r := boots(macA, boot1)
	r.FriendlyName = "roof"
	l.registers(r)
	r = boots(macA, boot2)
	r.FirmwareVersion, r.Capabilities = "2.0.0", Capabilities{[]string{"z", "a", "m", "a"}, map[string]bool{"on": true, "off": false}}
	l.registers(r)
	got, err := l.devices.Get(t.Context(), Device{HardwareID: macA})
	require.NoError(t, err)
	require.Equal(t, Firmware("2.0.0"), got.FirmwareVersion)
	require.Equal(t, r.Capabilities, got.Capabilities)
	require.Equal(t, FriendlyName("roof"), got.FriendlyName)
}
