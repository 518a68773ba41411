// Command helpdesk shows what an application is made of: tickets with a history, a queue of those that wait, who did what, and agents
// with addresses of their own.
//
//	go run ./examples/helpdesk
//
// It uses the database that DYNAMODB_ENDPOINT names, or starts one. Read model.go first, then desk.go.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "helpdesk:", err)
		os.Exit(1)
	}
}

// start runs the story on a table of its own, which it deletes at the end.
func start(ctx context.Context, out io.Writer) (err error) {
	server, err := localdb.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	client, table := server.Client(), "helpdesk-"+strings.ToLower(rand.Text()[:8])
	defer func() {
		_, gone := client.DeleteTable(context.WithoutCancel(ctx), &dynamodb.DeleteTableInput{TableName: aws.String(table)})
		err = errors.Join(err, gone)
	}()
	d, err := newDesk(client, table)
	if err != nil {
		return err
	}
	if err := tables.Create(ctx, d.db); err != nil {
		return err
	}
	return story(ctx, out, d)
}

// newDesk declares the entities. It does no I/O, and finds mistakes in the tags.
func newDesk(client entity.Client, table string) (*desk, error) {
	at := time.Date(2026, 4, 22, 9, 0, 0, 0, time.UTC)
	db, err := entity.Open(client, entity.Config{
		Table: table,
		Clock: func() time.Time { at = at.Add(time.Minute); return at }, // of the story

		FromContext: fromContext,
	})
	if err != nil {
		return nil, err
	}
	opened, err := entity.Bind[handles](db)
	return &desk{opened, db}, err
}

// story is a day at the desk of a tenant.
func story(ctx context.Context, out io.Writer, d *desk) error {
	const tenant = "acme"
	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	if err := d.hire(ctx, tenant, "a-1", "Ann@Example.com"); err != nil {
		return err
	}
	say("another Ann: %v", d.hire(ctx, tenant, "a-2", "ann@example.com"))
	if err := d.rename(ctx, tenant, "a-1", "ANN@example.com"); err != nil {
		return err
	}
	ann, err := d.agent(ctx, tenant, "ann@EXAMPLE.com")
	if err != nil {
		return err
	}
	say("found %s as %s", ann.AgentID, ann.Email)

	due := time.Date(2026, 4, 23, 9, 0, 0, 0, time.UTC)
	key := func(url string) Ticket { return Ticket{TenantID: tenant, TicketID: path.Base(url)} }
	var tickets []Ticket
	for i := range 5 {
		url, err := d.open(as(ctx, "customer"), tenant, fmt.Sprintf("question %d", i+1), due.Add(time.Duration(7*i%5)*time.Hour))
		if err != nil {
			return err
		}
		tickets = append(tickets, key(url))
	}
	_, err = d.open(ctx, tenant, "whose question?", due)
	say("without an actor: %v", err != nil)

	by := as(ctx, ann.AgentID)
	for _, err := range []error{d.assign(by, tickets[0], ann.AgentID), d.close(by, tickets[1]), d.close(by, tickets[1])} {
		if err != nil {
			return err
		}
	}
	pages, cursor := []string{}, ""
	for {
		page, err := d.waiting(ctx, tenant, cursor)
		if err != nil {
			return err
		}
		var subjects []string
		for _, t := range page.Items {
			subjects = append(subjects, t.Subject)
		}
		if len(subjects) > 0 { // the last page can be empty
			pages = append(pages, strings.Join(subjects, ", "))
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	say("waiting: %s", strings.Join(pages, " | "))

	for _, err := range []error{d.remove(by, tickets[0], "spam"), d.restore(as(ctx, "boss"), tickets[0], "no spam")} {
		if err != nil {
			return err
		}
	}
	lines, err := d.audit(ctx, tickets[0])
	for i, line := range lines {
		say("version %d: %s", i+1, line)
	}
	return err
}
