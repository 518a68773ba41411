package main

import (
	"context"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// handles are what entity.Bind opens.
type handles struct {
	Tickets   *entity.Store[Ticket]
	Queue     *entity.Index[Ticket] `entity:"queue"`
	Deleted   *lifecycle.Deleted[Ticket]
	History   *versioned.History[Ticket]
	Reminders *entity.Store[Reminder]
	Agents    *entity.Store[Agent]
	ByEmail   *unique.Lookup[Agent] `entity:"email"`
}

// desk is the application.
type desk struct {
	*handles
	db *entity.DB
}

type actorKey struct{}

// as returns a context in which actor calls. A server's middleware does this.
func as(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// fromContext says who calls.
func fromContext(ctx context.Context, name string) (string, bool) {
	actor, ok := ctx.Value(actorKey{}).(string)
	return actor, ok && name == "actor"
}

// open makes a ticket and its reminder, and returns where the ticket is.
func (d *desk) open(ctx context.Context, tenant, subject string, due time.Time) (url string, err error) {
	ticket, err := d.Tickets.Complete(ctx, Ticket{TenantID: tenant, Subject: subject, DueAt: due})
	if err != nil {
		return "", err
	}
	err = d.db.Transact(ctx, d.Tickets.Op().Create(ticket), d.Reminders.Op().Create(Reminder{TicketID: ticket.TicketID, At: due}))
	return "/" + tenant + "/tickets/" + ticket.TicketID, err
}

// assign gives a ticket to an agent.
func (d *desk) assign(ctx context.Context, key Ticket, agent string) error {
	t := entity.Fields[Ticket]()
	_, err := d.Tickets.Update(ctx, key, entity.Set(&t.Status, "assigned"), entity.Set(&t.Assignee, agent))
	return err
}

// close ends a ticket, and takes its reminder back if it was not sent yet.
func (d *desk) close(ctx context.Context, key Ticket) error {
	t := entity.Fields[Ticket]()
	return d.db.Transact(ctx, d.Tickets.Op().Update(key, entity.Set(&t.Status, "closed")), d.Reminders.Op().Delete(Reminder{TicketID: key.TicketID}, entity.IfPresent(nil)))
}

// remove deletes a ticket, and says why.
func (d *desk) remove(ctx context.Context, key Ticket, why string) error {
	t := entity.Fields[Ticket]()
	return d.Tickets.Delete(ctx, key, entity.Set(&t.Note, why), versioned.AnyVersion())
}

// restore takes a ticket back, and says why.
func (d *desk) restore(ctx context.Context, key Ticket, why string) error {
	t := entity.Fields[Ticket]()
	_, err := d.Deleted.Restore(ctx, key, entity.Set(&t.Note, why))
	return err
}

// waiting returns a page of the tickets that wait for an answer, those that are due first at the beginning.
func (d *desk) waiting(ctx context.Context, tenant, cursor string) (entity.Page[Ticket], error) {
	return d.Queue.Query(Ticket{TenantID: tenant}, entity.Limit(2)).Page(ctx, cursor)
}

// audit returns who made each state of a ticket.
func (d *desk) audit(ctx context.Context, key Ticket) (lines []string, err error) {
	for state, err := range d.History.List(key, versioned.WithCurrent()).All(ctx) {
		if err != nil {
			return nil, err
		}
		v := state.Item
		lines = append(lines, strings.TrimSpace(strings.Join([]string{v.By, v.Status, v.Assignee, v.Note}, " ")))
	}
	return lines, nil
}

// hire adds an agent.
func (d *desk) hire(ctx context.Context, tenant, id, email string) error {
	_, err := d.Agents.Create(ctx, Agent{TenantID: tenant, AgentID: id, Email: email})
	return err
}

// rename gives an agent another address.
func (d *desk) rename(ctx context.Context, tenant, id, email string) error {
	a := entity.Fields[Agent]()
	_, err := d.Agents.Update(ctx, Agent{TenantID: tenant, AgentID: id}, entity.Set(&a.Email, email))
	return err
}

// agent finds an agent by address.
func (d *desk) agent(ctx context.Context, tenant, email string) (Agent, error) {
	return d.ByEmail.Find(ctx, Agent{TenantID: tenant, Email: email})
}
