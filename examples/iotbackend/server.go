package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// limits of the HTTP server.
const (
	requestTimeout = 15 * time.Second // for one request, database included
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = requestTimeout + 5*time.Second
	idleTimeout    = 60 * time.Second
	grace          = requestTimeout + 5*time.Second // for requests under way when the service ends
	mostHeader     = 16 << 10
	mostBody       = 256 << 10 // 100 readings are about 60 KB
)

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

// newServer returns an HTTP server with a limit on everything that a client could make it wait for.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    mostHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// serve answers requests until ctx ends. Then it takes no new ones, and waits for those under way.
func serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	server := newServer(h, log)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	log.Info("shutting down")
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(patience); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}
