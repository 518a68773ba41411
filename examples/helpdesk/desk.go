package main

import (
	"context"
	"errors"
	"hash/fnv"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// desk is the application.
type desk struct {
	db        *entity.DB
	tickets   *entity.Store[Ticket]
	queue     *entity.Index[Ticket]
	deleted   *lifecycle.Deleted[Ticket]
	history   *versioned.History[Ticket]
	reminders *entity.Store[Reminder]
	agents    *entity.Store[Agent]
	byEmail   *unique.Lookup[Agent]
	newID     func() string
}

// shards is how many partitions the queue of a tenant has.
const shards = 4

type actorKey struct{}

// as returns a context in which actor calls. A server's middleware does this.
func as(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

var errNobody = errors.New("the call has no actor")

func actorOf(ctx context.Context) (string, error) {
	actor, _ := ctx.Value(actorKey{}).(string)
	if actor == "" {
		return "", errNobody
	}
	return actor, nil
}

func queueOf(status string) string {
	if status == "open" || status == "assigned" {
		return "open"
	}
	return ""
}

func shardOf(ticketID string) int {
	h := fnv.New32a()
	h.Write([]byte(ticketID))
	return int(h.Sum32() % shards)
}

// open makes a ticket and its reminder, and returns where the ticket is.
func (d *desk) open(ctx context.Context, tenant, subject string, due time.Time) (url string, err error) {
	by, err := actorOf(ctx)
	if err != nil {
		return "", err
	}
	id := d.newID()
	ticket := Ticket{TenantID: tenant, TicketID: id, Subject: subject, Status: "open", Queue: queueOf("open"), Shard: shardOf(id), DueAt: due, By: by}
	err = d.db.Transact(ctx, d.tickets.Op().Create(ticket), d.reminders.Op().Create(Reminder{TicketID: id, At: due}))
	return "/" + tenant + "/tickets/" + id, err
}

// assign gives a ticket to an agent.
func (d *desk) assign(ctx context.Context, key Ticket, agent string) error {
	by, err := actorOf(ctx)
	if err != nil {
		return err
	}
	t := entity.Fields[Ticket]()
	_, err = d.tickets.Update(ctx, key, entity.Set(&t.Status, "assigned"), entity.Set(&t.Queue, queueOf("assigned")), entity.Set(&t.Assignee, agent), entity.Set(&t.By, by))
	return err
}

// close ends a ticket, and takes its reminder back if it was not sent yet.
func (d *desk) close(ctx context.Context, key Ticket) error {
	by, err := actorOf(ctx)
	if err != nil {
		return err
	}
	t := entity.Fields[Ticket]()
	end := func() entity.Op {
		return d.tickets.Op().Update(key, entity.Set(&t.Status, "closed"), entity.Set(&t.Queue, queueOf("closed")), entity.Set(&t.By, by))
	}
	reminder := Reminder{TicketID: key.TicketID}
	for range 3 { // the reminder may be sent meanwhile
		switch _, err := d.reminders.Get(ctx, reminder, entity.Consistent()); {
		case err == nil:
			err = d.db.Transact(ctx, end(), d.reminders.Op().Delete(reminder))
			if failed := new(entity.TransactError); errors.As(err, &failed) && failed.Failed[0].Index == 1 && errors.Is(failed.Failed[0].Err, entity.ErrNotFound) {
				continue
			}
			return err
		case errors.Is(err, entity.ErrNotFound):
			return d.db.Transact(ctx, end(), d.reminders.Op().CheckNotExists(reminder))
		default:
			return err
		}
	}
	return entity.ErrConflict
}

// remove deletes a ticket, and says why.
func (d *desk) remove(ctx context.Context, key Ticket, why string) error {
	by, err := actorOf(ctx)
	if err != nil {
		return err
	}
	t := entity.Fields[Ticket]()
	v, err := d.tickets.Update(ctx, key, entity.Set(&t.Note, why), entity.Set(&t.By, by)) // a version of its own, since Delete takes no changes
	if err != nil {
		return err
	}
	return d.tickets.Delete(ctx, key, versioned.Expect(v.Version))
}

// restore takes a ticket back, and says why.
func (d *desk) restore(ctx context.Context, key Ticket, why string) error {
	by, err := actorOf(ctx)
	if err != nil {
		return err
	}
	t := entity.Fields[Ticket]()
	v, err := d.deleted.Restore(ctx, key)
	if err != nil {
		return err
	}
	_, err = d.tickets.Update(ctx, key, entity.Set(&t.Note, why), entity.Set(&t.By, by), versioned.Expect(v.Version))
	return err
}

// waiting returns a page of the tickets that wait for an answer, those that are due first at the beginning.
func (d *desk) waiting(ctx context.Context, tenant, cursor string) (entity.Page[Ticket], error) {
	parts := make([]Ticket, shards)
	for i := range parts {
		parts[i] = Ticket{TenantID: tenant, Queue: "open", Shard: i}
	}
	return d.queue.QueryAny(parts, entity.Limit(2)).Page(ctx, cursor)
}

// audit returns who made each state of a ticket.
func (d *desk) audit(ctx context.Context, key Ticket) (lines []string, err error) {
	for state, err := range d.history.List(key, versioned.WithCurrent()).All(ctx) {
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
	_, err := d.agents.Create(ctx, Agent{TenantID: tenant, AgentID: id, Email: email, EmailKey: strings.ToLower(email)})
	return err
}

// rename gives an agent another address.
func (d *desk) rename(ctx context.Context, tenant, id, email string) error {
	a := entity.Fields[Agent]()
	_, err := d.agents.Update(ctx, Agent{TenantID: tenant, AgentID: id}, entity.Set(&a.Email, email), entity.Set(&a.EmailKey, strings.ToLower(email)))
	return err
}

// agent finds an agent by address.
func (d *desk) agent(ctx context.Context, tenant, email string) (Agent, error) {
	return d.byEmail.Find(ctx, Agent{TenantID: tenant, EmailKey: strings.ToLower(email)})
}
