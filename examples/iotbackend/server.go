package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Sizes that the HTTP server accepts.
const (
	mostHeader = 16 << 10
	mostBody   = 256 << 10 // 100 readings are about 60 KB
)

// limits are how long the HTTP server waits.
type limits struct {
	request             time.Duration // for one request, database included
	header, read, write time.Duration
	idle                time.Duration
	grace               time.Duration // for requests under way when the service ends
}

var (
	// strict is for a public service.
	strict = limits{
		request: requestTimeout, header: 5 * time.Second, read: 10 * time.Second, write: requestTimeout + 5*time.Second,
		idle: time.Minute, grace: requestTimeout + 5*time.Second,
	}
	// patient is for the demonstration, which must succeed on a busy machine.
	patient = limits{request: time.Hour, header: time.Hour, read: time.Hour, write: 2 * time.Hour, idle: time.Hour, grace: time.Hour}
)

const requestTimeout = 15 * time.Second

// service is the HTTP side.
type service struct {
	*backend
	admin   secret
	timeout time.Duration
	newID   func() string // of requests
}

func newService(b *backend, cfg config) *service {
	return &service{backend: b, admin: cfg.AdminToken, timeout: requestTimeout, newID: func() string { return string(randomUUID()) }}
}

// newServer returns an HTTP server that bounds every wait for a client.
func newServer(h http.Handler, log *slog.Logger, wait limits) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: wait.header,
		ReadTimeout:       wait.read,
		WriteTimeout:      wait.write,
		IdleTimeout:       wait.idle,
		MaxHeaderBytes:    mostHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// serve answers requests until ctx ends. Then it accepts no new ones, and waits for those under way.
func serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger, wait limits) error {
	server := newServer(h, log, wait)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	log.Info("shutting down")
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait.grace)
	defer cancel()
	if err := server.Shutdown(patience); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}
