package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// story is what a small fleet and its administrator do, and what they were answered.
type story struct {
	out      io.Writer
	base     string
	now      func() time.Time
	admin    *client
	secrets  []secret
	broken   []error
	expected expectation
	taken    submission // that the greenhouse has sent
}

func newStory(out io.Writer, base string, cfg config, now func() time.Time) *story {
	secrets := []secret{cfg.Pepper, cfg.AdminToken}
	return &story{
		out: out, base: base, now: now, admin: newClient(base, cfg.AdminToken.text), secrets: secrets,
		expected: expectation{acknowledged: map[BatchID]submission{}, sent: map[BatchID]submission{}, secrets: secrets},
	}
}

// Two devices of the story.
const (
	greenhouse MAC = "AA:BB:CC:DD:EE:01"
	cellar     MAC = "AA:BB:CC:DD:EE:02"
)

// tell goes through the story. Its error says why it could not go on; what was merely wrong is in broken.
func (s *story) tell(ctx context.Context) error {
	fmt.Fprintln(s.out, "\nRequests and their answers. Those of 400 and above are refusals that the story asks for: each is what it must be.")
	var made struct {
		KeyID  string `json:"key_id"`
		APIKey string `json:"api_key"`
	}
	if err := s.do(ctx, s.admin, "POST", "/v1/api-keys", map[string]string{"description": "greenhouse cluster"}, &made, "201"); err != nil {
		return err
	}
	s.secrets = append(s.secrets, secret{made.APIKey})
	s.expected.secrets = s.secrets
	device := newClient(s.base, made.APIKey)
	for _, part := range []func(context.Context, *client) error{s.devices, s.readings, s.refusals} {
		if err := part(ctx, device); err != nil {
			return err
		}
	}
	if err := s.do(ctx, s.admin, "POST", "/v1/api-keys/"+made.KeyID+"/revoke", nil, nil, "200"); err != nil {
		return err
	}
	return s.do(ctx, device, "GET", "/v1/devices/"+string(greenhouse)+"/readings/latest", nil, nil, "401 UNAUTHORIZED")
}

// do sends a request, prints it with its answer, and notes when that is not the one that is wanted.
func (s *story) do(ctx context.Context, c *client, method, path string, body, into any, want string) error {
	status, err := c.call(ctx, method, path, body, into)
	got := fmt.Sprint(status)
	var refused *apiError
	if errors.As(err, &refused) {
		got, err = fmt.Sprint(status, " ", refused.Code), nil
	}
	shown, unescaped := url.PathUnescape(path)
	if unescaped != nil {
		shown = path
	}
	fmt.Fprintf(s.out, "  %-6s %-60s %s\n", method, shown, got)
	s.must(err != nil || got == want, "%s %s: %s, want %s", method, path, got, want)
	return err
}

// must notes what is not as it must be.
func (s *story) must(ok bool, format string, args ...any) {
	if !ok {
		s.broken = append(s.broken, fmt.Errorf(format, args...))
	}
}

// devices registers two devices, one of them twice, and names one.
func (s *story) devices(ctx context.Context, device *client) error {
	var first, again, other deviceView
	body := func(id MAC) registration {
		return registration{
			HardwareID: id, BootID: randomUUID(), FirmwareVersion: "1.0.16",
			Capabilities: Capabilities{[]string{"bme280", "soil_moisture"}, map[string]bool{"tft_display": true}},
		}
	}
	err := s.do(ctx, device, "POST", "/v1/devices", body(greenhouse), &first, "201")
	if err == nil {
		err = s.do(ctx, device, "POST", "/v1/devices", body(greenhouse), &again, "200")
	}
	if err == nil {
		err = s.do(ctx, device, "POST", "/v1/devices", body(cellar), &other, "201")
	}
	s.must(first.ConfirmationID == again.ConfirmationID, "the second registration gave another confirmation_id")
	s.must(first.ConfirmationID != other.ConfirmationID, "two devices have one confirmation_id")
	if err == nil {
		err = s.do(ctx, s.admin, "PATCH", "/v1/devices/"+string(greenhouse), map[string]string{"friendly_name": "greenhouse-sensor-01"}, &again, "200")
	}
	return err
}

// batch is a device's nth reading, five minutes after the one before, the last one ending now.
func (s *story) batch(id MAC, boot UUID4, n, of int) submission {
	works, fails := Health("ok"), Health("error")
	end := Millis(s.now().Add(time.Duration(n-of+1) * 5 * time.Minute).UnixMilli())
	celsius, percent := 20.5+float64(n), 45.25
	b := submission{
		BatchID:     BatchID(fmt.Sprintf("%s_%s_%d_%d", id, boot, end-300_000, end)),
		TimestampMS: end, BootID: boot, FirmwareVersion: "1.0.16",
		Sensors: &Sensors{BME280TempC: &celsius, HumidityPct: &percent}, SensorStatus: &SensorStatus{BME280: &works, SoilMoisture: &fails},
	}
	s.expected.sent[b.BatchID] = b
	return b
}

// readings sends batches, some of them again, and reads them back.
func (s *story) readings(ctx context.Context, device *client) error {
	boot := randomUUID()
	var all []submission
	for n := range 5 {
		all = append(all, s.batch(greenhouse, boot, n, 5))
	}
	s.taken = all[0]
	path := "/v1/devices/" + string(greenhouse) + "/readings"
	for _, c := range []struct {
		part                     []submission
		acknowledged, duplicates int
	}{{all[:3], 3, 0}, {all, 2, 3}, {all, 0, 5}} {
		var got receipt
		if err := s.do(ctx, device, http.MethodPost, path, map[string]any{"readings": c.part}, &got, "200"); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "        %d acknowledged, %d duplicates\n", len(got.Acknowledged), len(got.Duplicates))
		s.must(len(got.Acknowledged) == c.acknowledged && len(got.Duplicates) == c.duplicates, "ingestion: %v", got)
		for _, p := range append(got.Acknowledged, got.Duplicates...) {
			s.expected.acknowledged[p.BatchID] = c.part[p.Index]
		}
	}
	var latest readingView
	if err := s.do(ctx, device, "GET", path+"/latest", nil, &latest, "200"); err != nil {
		return err
	}
	s.must(latest.BatchID == all[4].BatchID, "the latest reading is %s", latest.BatchID)
	s.must(latest.FriendlyName == "greenhouse-sensor-01", "the latest reading has the name %q", latest.FriendlyName)
	return s.pages(ctx, device, path, all)
}

// pages reads a range two by two.
func (s *story) pages(ctx context.Context, device *client, path string, all []submission) error {
	query := url.Values{"from": {fmt.Sprint(all[1].TimestampMS)}, "to": {fmt.Sprint(all[4].TimestampMS)}, "limit": {"2"}}
	var got []BatchID
	for {
		var page struct {
			Readings []readingView `json:"readings"`
			Next     string        `json:"next_cursor"`
		}
		if _, err := device.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		for _, r := range page.Readings {
			got = append(got, r.BatchID)
		}
		if page.Next == "" {
			break
		}
		query.Set("cursor", page.Next)
	}
	want := []BatchID{all[4].BatchID, all[3].BatchID, all[2].BatchID, all[1].BatchID}
	s.must(fmt.Sprint(got) == fmt.Sprint(want), "the range has %v, want %v", got, want)
	fmt.Fprintf(s.out, "  GET    %-60s %d readings in pages of 2\n", path, len(got))
	return nil
}

// refusals are requests that must not be granted.
func (s *story) refusals(ctx context.Context, device *client) error {
	readings := func(id MAC) string { return "/v1/devices/" + string(id) + "/readings" }
	for _, c := range []struct {
		who          *client
		method, path string
		body         any
		want         string
	}{
		{device, "POST", readings(cellar), map[string]any{"readings": []submission{s.taken}}, "409 BATCH_COLLISION"},
		{device, "POST", readings(cellar), map[string]any{"readings": []submission{}}, "400 VALIDATION_FAILED"},
		{device, "GET", readings(cellar) + "/latest", nil, "404 NO_READINGS"},
		{device, "GET", readings("AA:BB:CC:DD:EE:99") + "/latest", nil, "404 DEVICE_NOT_FOUND"},
		{device, "GET", "/v1/api-keys", nil, "401 UNAUTHORIZED"},
		{s.admin, "PATCH", "/v1/devices/AA:BB:CC:DD:EE:99", map[string]string{"friendly_name": "ghost"}, "404 DEVICE_NOT_FOUND"},
		{s.admin, "DELETE", "/v1/devices", nil, "405 METHOD_NOT_ALLOWED"},
	} {
		if err := s.do(ctx, c.who, c.method, c.path, c.body, nil, c.want); err != nil {
			return err
		}
	}
	return nil
}
