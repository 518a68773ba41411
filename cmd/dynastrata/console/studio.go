package console

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/internal/studio"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
)

// StudioOptions are the settings of [Studio]. The zero value is read-only, and refuses every request.
type StudioOptions struct {
	// Token must be the parameter token of the URL that a browser opens first. A browser is then known by a cookie. The studio can
	// only be called by names of this machine, unless Hosts has others.
	Token string
	// Authenticated says that the handler is reached only by people whom the application lets in: it is wrapped by the application's own
	// authentication, and needs no token.
	Authenticated bool

	Hosts []string // host names, without a port, by which the studio is called; with a token by default localhost and the loopback addresses, else any
	Table string   // physical name of the default table, for App.Open

	// Write offers forms that edit, revert, restore and purge items.
	Write bool
	// Actor names who makes a request, for Config.FromContext; the default asks for it in the form.
	Actor func(*http.Request) string

	PageUnits   float64 // read units that one page may use; default 200
	MinuteUnits float64 // read units that all pages, checks and counts may use in a minute; default 3000
}

// Studio returns the studio of a program: pages that show its entities, queries, and the life of an item, and, with Write, change items.
// docs/command.md describes them, and what makes them safe. App.Open is called once, and App.Client, which must not be nil, reads; the
// program's database writes. The handler can be mounted under a path: http.Handle("/studio/", http.StripPrefix("/studio",
// authenticated(handler))). It does no I/O before the first request. The error is that of App.Open, or an *entity.InputError.
func Studio(ctx context.Context, app App, o StudioOptions) (http.Handler, error) {
	switch {
	case app.Client == nil || app.Open == nil:
		return nil, invalid(bind.CodeConsoleProgram, "Studio needs App.Open and App.Client")
	case (o.Token == "") != o.Authenticated:
		return nil, invalid(bind.CodeConsoleProgram, "Studio needs a Token, or the application's own authentication and Authenticated, and not both")
	case len(o.Token) > 0 && len(o.Token) < 16:
		return nil, invalid(bind.CodeConsoleProgram, "the Token of a Studio has at least 16 characters: crypto/rand.Text makes one")
	case o.PageUnits < 0 || o.MinuteUnits < 0:
		return nil, invalid(bind.CodeConsoleProgram, "budgets of read units are positive")
	}
	if app.Clock == nil {
		app.Clock = time.Now
	}
	app.wait = engine.Sleep
	s := &session{app: app, opened: true, out: newPrinter(nil, false, true), err: newPrinter(nil, false, true)}
	if err := s.connectStudio(ctx, o.Table); err != nil {
		return nil, err
	}
	return s.studio(o), nil
}

// connectStudio learns the entities of a program.
func (s *session) connectStudio(ctx context.Context, table string) error {
	s.use(s.app.Client)
	program, err := s.app.Open(ctx, Connection{s.client, table})
	if err != nil {
		return err
	}
	return s.learn(program)
}

const (
	defaultPageUnits   = 200
	defaultMinuteUnits = 3000
)

// studio returns the handler of a session that is connected.
func (s *session) studio(o StudioOptions) *studio.Server {
	if o.PageUnits == 0 {
		o.PageUnits = defaultPageUnits
	}
	if o.MinuteUnits == 0 {
		o.MinuteUnits = defaultMinuteUnits
	}
	metered := *s
	metered.client = meteredClient(s.client)
	if s.db != nil {
		metered.db = s.db.WithClient(metered.client) // of checks; writes go by the program's handles
	}
	return studio.New(newStudioData(&metered), studio.Options{
		Token: o.Token, Hosts: o.Hosts, Write: o.Write && s.db != nil, PageUnits: o.PageUnits, MinuteUnits: o.MinuteUnits, Clock: s.app.Clock, Sleep: engine.Sleep, Actor: o.Actor,
	})
}

// studioCommand serves the studio until it is interrupted.
func (s *session) studioCommand() *cli.Command {
	return &cli.Command{
		Name: "studio", Usage: "show tables in a browser, until it is interrupted", ShellComplete: s.complete(nothingNext),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0", Usage: "loopback address and port; port 0 is a free one"},
			&cli.BoolFlag{Name: "write", Usage: "offer forms that change items"},
			&cli.FloatFlag{Name: "page-units", Value: defaultPageUnits, Usage: "read units that a page may use"},
			&cli.FloatFlag{Name: "minute-units", Value: defaultMinuteUnits, Usage: "read units that may be used in a minute"},
		},
		Action: s.action(func(ctx context.Context, c *cli.Command) error {
			host, _, err := net.SplitHostPort(c.String("listen"))
			if err != nil || !studio.Loopback(host) {
				return &usageError{c, errors.New("--listen is an address of this machine, such as 127.0.0.1:8080: to serve others, mount console.Studio behind your own authentication")}
			}
			if c.Float("page-units") <= 0 || c.Float("minute-units") <= 0 {
				return &usageError{c, errors.New("--page-units and --minute-units are positive")}
			}
			if c.Bool("write") {
				if err := s.hasProgram(); err != nil {
					return err
				}
			}
			if err := s.database(ctx, c); err != nil {
				return err
			}
			return s.serve(ctx, c.String("listen"), StudioOptions{Token: rand.Text(), Write: c.Bool("write"), PageUnits: c.Float("page-units"), MinuteUnits: c.Float("minute-units")})
		}),
	}
}

// serve serves the studio until ctx ends, and prints its URL.
func (s *session) serve(ctx context.Context, address string, o StudioOptions) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	pages := s.studio(o)
	defer pages.Close()
	server := &http.Server{Handler: pages, ReadHeaderTimeout: 10 * time.Second}
	s.out.line("http://%s/?token=%s", l.Addr(), o.Token)
	s.err.line("^C ends it; the URL is a secret")
	stop := context.AfterFunc(ctx, func() {
		soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if server.Shutdown(soon) != nil {
			_ = server.Close()
		}
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil // as tail, it ends so
}
