package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// mostBody limits the bytes of a body: 100 readings are about 60 KB.
const mostBody = 256 << 10

// requestTimeout limits the time of a request, database included; afterwards limits that of its answer.
const (
	requestTimeout = 15 * time.Second
	afterwards     = 5 * time.Second
)

// service is the HTTP side.
type service struct {
	*backend
	token   secret
	timeout time.Duration // of a request
}

func newService(b *backend, cfg config) *service {
	return &service{backend: b, token: cfg.Token, timeout: requestTimeout}
}

// serve answers requests until ctx ends. Then it accepts no new ones, and waits for those under way. Every wait for a client is
// bounded.
func (s *service) serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:      s.routes(),
		ReadTimeout:  s.timeout,
		WriteTimeout: s.timeout + afterwards,
		IdleTimeout:  time.Minute,
		ErrorLog:     slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout+afterwards)
	defer cancel()
	if err := server.Shutdown(patience); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}
