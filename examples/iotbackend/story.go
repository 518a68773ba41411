package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"
)

// A story runs a small fleet against a backend and prints the responses that it gets.
type story struct {
	out          io.Writer
	client       *client
	now          func() time.Time
	broken       []error
	acknowledged map[BatchID]submission
}

func newStory(out io.Writer, base, token string, now func() time.Time) *story {
	return &story{out: out, client: &client{base, token}, now: now, acknowledged: map[BatchID]submission{}}
}

// Two devices of the story.
const (
	greenhouse MAC = "AA:BB:CC:DD:EE:01"
	cellar     MAC = "AA:BB:CC:DD:EE:02"
)

// readingsOf is the path of a device's readings.
func readingsOf(id MAC) string { return "/v1/devices/" + string(id) + "/readings" }

// tell plays the story. Its error says why it could not continue; broken has everything that was wrong.
func (s *story) tell(ctx context.Context) error {
	fmt.Fprintln(s.out, "\nRequests and their answers. Those of 400 and above are refusals that the story asks for: each is what it must be.")
	for _, part := range []func(context.Context) error{s.devices, s.readings, s.refusals} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// do sends a request, prints it with the response, and records an unexpected response.
func (s *story) do(ctx context.Context, method, path string, body, into any, want string) error {
	status, err := s.client.call(ctx, method, path, body, into)
	got := fmt.Sprint(status)
	var refused *apiError
	if errors.As(err, &refused) {
		got, err = fmt.Sprint(status, " ", refused.Code), nil
	}
	fmt.Fprintf(s.out, "  %-6s %-60s %s\n", method, path, got)
	s.must(err != nil || got == want, "%s %s: %s, want %s", method, path, got, want)
	return err
}

// must records a violation unless ok.
func (s *story) must(ok bool, format string, args ...any) {
	if !ok {
		s.broken = append(s.broken, fmt.Errorf(format, args...))
	}
}

// devices registers two devices, one of them twice, and lists them.
func (s *story) devices(ctx context.Context) error {
	var first, again, other Device
	body := func(id MAC, name FriendlyName) registration {
		return registration{
			HardwareID: id, BootID: randomUUID(), FirmwareVersion: "1.0.16", FriendlyName: name,
			Capabilities: Capabilities{[]string{"bme280", "soil_moisture"}, map[string]bool{"tft_display": true}},
		}
	}
	err := errors.Join(
		s.do(ctx, "POST", "/v1/devices", body(greenhouse, "greenhouse-sensor-01"), &first, "201"),
		s.do(ctx, "POST", "/v1/devices", body(greenhouse, ""), &again, "200"),
		s.do(ctx, "POST", "/v1/devices", body(cellar, ""), &other, "201"),
		s.do(ctx, "GET", "/v1/devices", nil, nil, "200"),
	)
	s.must(first.ConfirmationID == again.ConfirmationID, "the second registration gave another confirmation_id")
	s.must(first.ConfirmationID != other.ConfirmationID, "two devices have one confirmation_id")
	return err
}

// batch returns the nth reading of a device, five minutes after the one before; the last one ends now.
func (s *story) batch(id MAC, boot UUID4, n, of int) submission {
	works, fails := Health("ok"), Health("error")
	end := Millis(s.now().Add(time.Duration(n-of+1) * 5 * time.Minute).UnixMilli())
	celsius, percent := 20.5+float64(n), 45.25
	return submission{
		BatchID:     BatchID(fmt.Sprintf("%s_%s_%d_%d", id, boot, end-300_000, end)),
		TimestampMS: end, BootID: boot, FirmwareVersion: "1.0.16",
		Sensors: &Sensors{BME280TempC: &celsius, HumidityPct: &percent}, SensorStatus: &SensorStatus{BME280: &works, SoilMoisture: &fails},
	}
}

// readings sends batches, some of them again, and reads them back.
func (s *story) readings(ctx context.Context) error {
	boot := randomUUID()
	var all []submission
	for n := range 5 {
		all = append(all, s.batch(greenhouse, boot, n, 5))
	}
	path := readingsOf(greenhouse)
	for _, c := range []struct {
		part                     []submission
		acknowledged, duplicates int
	}{{all[:3], 3, 0}, {all, 2, 3}, {all, 0, 5}} {
		var got receipt
		if err := s.do(ctx, "POST", path, map[string]any{"readings": c.part}, &got, "200"); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "        %d acknowledged, %d duplicates\n", len(got.Acknowledged), len(got.Duplicates))
		s.must(len(got.Acknowledged) == c.acknowledged && len(got.Duplicates) == c.duplicates, "ingestion: %v", got)
		for _, p := range append(got.Acknowledged, got.Duplicates...) {
			s.acknowledged[p.BatchID] = c.part[p.Index]
		}
	}
	var latest Reading
	var page list[Reading]
	query := url.Values{"from": {fmt.Sprint(all[1].TimestampMS)}, "to": {fmt.Sprint(all[4].TimestampMS)}, "limit": {"2"}}
	err := errors.Join(s.do(ctx, "GET", path+"/latest", nil, &latest, "200"), s.do(ctx, "GET", path+"?"+query.Encode(), nil, &page, "200"))
	s.must(latest.BatchID == all[4].BatchID && latest.FriendlyName == "greenhouse-sensor-01", "the latest reading is %v", latest)
	s.must(len(page.Items) == 2 && page.Items[1].BatchID == all[3].BatchID && page.Next != "", "the range begins with %v", page)
	return err
}

// refusals are requests that must not be granted.
func (s *story) refusals(ctx context.Context) error {
	var taken []submission
	for _, b := range s.acknowledged {
		taken = []submission{b}
	}
	return errors.Join(
		s.do(ctx, "POST", readingsOf(cellar), map[string]any{"readings": taken}, nil, "409 BATCH_COLLISION"),
		s.do(ctx, "POST", readingsOf(cellar), map[string]any{"readings": []submission{}}, nil, "400 VALIDATION_FAILED"),
		s.do(ctx, "GET", readingsOf(cellar)+"/latest", nil, nil, "404 NO_READINGS"),
		s.do(ctx, "GET", readingsOf("AA:BB:CC:DD:EE:99")+"/latest", nil, nil, "404 DEVICE_NOT_FOUND"),
	)
}
