package main

import (
	"net/http"
	"time"
)

// deviceView is a device as the API shows it.
type deviceView struct {
	HardwareID        MAC          `json:"hardware_id"`
	ConfirmationID    UUID4        `json:"confirmation_id"`
	FriendlyName      FriendlyName `json:"friendly_name,omitempty"`
	FirmwareVersion   Firmware     `json:"firmware_version"`
	Capabilities      Capabilities `json:"capabilities"`
	FirstRegisteredAt time.Time    `json:"first_registered_at"`
	LastSeenAt        time.Time    `json:"last_seen_at"`
	LastBootID        UUID4        `json:"last_boot_id"`
}

func viewDevice(d Device) deviceView {
	return deviceView{
		d.HardwareID, d.ConfirmationID, d.FriendlyName, d.FirmwareVersion, d.Capabilities, d.FirstRegisteredAt, d.LastSeenAt, d.LastBootID,
	}
}

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
	return status, viewDevice(device), err
}

// patchDevice changes the name of a device.
func (s *service) patchDevice(r *http.Request) (int, any, error) {
	var body struct {
		FriendlyName FriendlyName `json:"friendly_name"`
	}
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	device, err := s.rename(r.Context(), pathDevice(r), body.FriendlyName)
	return http.StatusOK, viewDevice(device), err
}

// getDevices lists devices by their last activity.
func (s *service) getDevices(r *http.Request) (int, any, error) {
	limit, err := pageSize(r)
	if err != nil {
		return 0, nil, err
	}
	page, err := s.listDevices(r.Context(), limit, r.URL.Query().Get("cursor"))
	devices := make([]deviceView, len(page.Items))
	for i, d := range page.Items {
		devices[i] = viewDevice(d)
	}
	return http.StatusOK, struct {
		Devices []deviceView `json:"devices"`
		Next    string       `json:"next_cursor,omitempty"`
	}{devices, page.Next}, err
}
