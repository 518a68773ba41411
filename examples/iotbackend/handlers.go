package main

import "net/http"

// pathDevice returns the device in the path of a request.
func pathDevice(r *http.Request) MAC { return MAC(r.PathValue("hardware_id")) }

// postDevice registers a device: 201 the first time, 200 after that.
func (s *service) postDevice(r *http.Request) (int, any, error) {
	var body registration
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	device, created, err := s.register(r.Context(), body)
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return status, device, err
}

// list is one page of an answer.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next_cursor,omitempty"`
}

// getDevices lists devices by their last activity.
func (s *service) getDevices(r *http.Request) (int, any, error) {
	limit, err := pageSize(r)
	if err != nil {
		return 0, nil, err
	}
	page, err := s.listDevices(r.Context(), limit, r.URL.Query().Get("cursor"))
	return http.StatusOK, list[Device]{page.Items, page.Next}, err
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
	return http.StatusOK, reading, err
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
	page, err := s.between(r.Context(), pathDevice(r), ends[0], ends[1], limit, r.URL.Query().Get("cursor"))
	return http.StatusOK, list[Reading]{page.Items, page.Next}, err
}
