package main

import "net/http"

// readingView is a reading as the API shows it.
type readingView struct {
	HardwareID      MAC          `json:"hardware_id"`
	TimestampMS     Millis       `json:"timestamp_ms"`
	BatchID         BatchID      `json:"batch_id"`
	BootID          UUID4        `json:"boot_id"`
	FirmwareVersion Firmware     `json:"firmware_version"`
	FriendlyName    FriendlyName `json:"friendly_name,omitempty"`
	Sensors         Sensors      `json:"sensors"`
	SensorStatus    SensorStatus `json:"sensor_status"`
}

func viewReading(r Reading) readingView {
	return readingView{r.HardwareID, r.TimestampMS, r.BatchID, r.BootID, r.FirmwareVersion, r.FriendlyName, r.Sensors, r.SensorStatus}
}

// postReadings stores readings, each of them once.
func (s *service) postReadings(r *http.Request) (int, any, error) {
	var body struct {
		Readings []submission `json:"readings"`
	}
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	got, err := s.ingest(r.Context(), pathDevice(r), body.Readings)
	return http.StatusOK, got, err
}

// getLatest returns the newest reading.
func (s *service) getLatest(r *http.Request) (int, any, error) {
	reading, err := s.latest(r.Context(), pathDevice(r))
	return http.StatusOK, viewReading(reading), err
}

// getReadings returns the readings between two times, the newest first.
func (s *service) getReadings(r *http.Request) (int, any, error) {
	limit, err := pageSize(r)
	if err != nil {
		return 0, nil, err
	}
	var ends [2]Millis
	for i, name := range []string{"from", "to"} {
		n, ok, err := wholeNumber(r, name)
		if err != nil {
			return 0, nil, err
		}
		if !ok {
			return 0, nil, &invalid{[]violation{{name, "milliseconds since 1970 are needed"}}}
		}
		ends[i] = Millis(n)
	}
	page, err := s.between(r.Context(), pathDevice(r), span{ends[0], ends[1]}, limit, r.URL.Query().Get("cursor"))
	readings := make([]readingView, len(page.Items))
	for i, r := range page.Items {
		readings[i] = viewReading(r)
	}
	return http.StatusOK, struct {
		Readings []readingView `json:"readings"`
		Next     string        `json:"next_cursor,omitempty"`
	}{readings, page.Next}, err
}
