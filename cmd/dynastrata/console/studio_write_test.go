package console

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Client is an entity with everything that the studio edits.
type Client struct {
	_ entity.Key           `name:"Client" pk:"$#{clientId}" sk:"$"`
	_ entity.GSI           `name:"byCity" index:"gsi1" pk:"$#{city}" sk:"$#{since}#{clientId}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`

	ClientID  string            `dynamodbav:"clientId"`
	Email     string            `dynamodbav:"email"`
	Name      string            `dynamodbav:"name" entity:"required"`
	City      string            `dynamodbav:"city"`
	Since     time.Time         `dynamodbav:"since" entity:"time=s"`
	Points    int               `dynamodbav:"points"`
	Rating    *float64          `dynamodbav:"rating,omitempty"`
	Vip       bool              `dynamodbav:"vip"`
	Tags      map[string]string `dynamodbav:"tags,omitempty"`
	Pin       string            `dynamodbav:"pin" entity:"secret"`
	Actor     string            `dynamodbav:"actor,omitempty" entity:"required,context=actor"`
	Reason    string            `dynamodbav:"reason,omitempty" entity:"context=reason"`
	Version   int64             `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time         `dynamodbav:"updatedAt" entity:"updated_at"`
}

// Reading is an event with numbers.
type Reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{sensor}" sk:"$"`
	_ timeseries.Events `orderBy:"at" ttl:"90d" late:"record"`

	Sensor      string    `dynamodbav:"sensor"`
	At          time.Time `dynamodbav:"at" entity:"time=s"`
	Temperature float64   `dynamodbav:"temperature" entity:"append"`
	Note        *string   `dynamodbav:"note,omitempty" entity:"append"`
}

type studioBy struct{}

// shop is a program with customers and readings.
type shop struct {
	t         *testing.T
	now       time.Time
	db        *entity.DB
	app       App
	customers *entity.Store[Client]
	readings  *timeseries.Series[Reading]
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, now: noon}
	client, table := localdb.Test(t)
	db, err := entity.Open(client, entity.Config{Table: table, TimePrecision: time.Second, Clock: func() time.Time { return s.now }, FromContext: func(ctx context.Context, name string) (string, bool) {
		by, ok := ctx.Value(studioBy{}).(By)
		return map[string]string{"actor": by.Actor, "reason": by.Reason}[name], ok
	}})
	require.NoError(t, err)
	s.db = db
	s.customers, err = entity.New[Client](db)
	require.NoError(t, err)
	s.readings, err = timeseries.New[Reading](db)
	require.NoError(t, err)
	require.NoError(t, tables.Create(t.Context(), db))
	s.app = App{
		Client: client, Clock: func() time.Time { return s.now }, Context: func(ctx context.Context, by By) context.Context { return context.WithValue(ctx, studioBy{}, by) },
		Open: func(context.Context, Connection) (Program, error) {
			return Program{DB: db, Handles: &struct {
				Customers *entity.Store[Client]
				Readings  *timeseries.Series[Reading]
			}{s.customers, s.readings}}, nil
		},
	}
	return s
}

func (s *shop) as(who, why string) context.Context {
	return context.WithValue(s.t.Context(), studioBy{}, By{who, why})
}

// story writes the customers: one that is edited, and one that is deleted.
func (s *shop) story() {
	f := entity.Fields[Client]()
	c := entity.Must(s.customers.Create(s.as("shop", "signed up"), Client{ClientID: "c-1", Email: "ann@example.org", Name: "Ann", City: "Oslo", Since: noon, Points: 10, Pin: "77123", Tags: map[string]string{"plan": "basic"}}))
	s.now = s.now.Add(time.Hour)
	c = entity.Must(s.customers.Update(s.as("billing", "monthly points"), c, entity.Set(&f.Points, 40)))
	s.now = s.now.Add(26 * time.Hour)
	entity.Must(s.customers.Update(s.as("ann", "moved"), c, entity.Set(&f.City, "Bergen")))
	gone := entity.Must(s.customers.Create(s.as("shop", "signed up"), Client{ClientID: "c-2", Email: "ben@example.org", Name: "Ben", City: "Oslo", Since: noon, Pin: "77123"}))
	s.now = s.now.Add(2 * time.Hour)
	require.NoError(s.t, s.customers.Delete(s.as("import", "nightly clean-up"), gone))
	for i, n := range []float64{20.5, 20.5, 21, 24.5, 23, 22} {
		at := noon.Add(time.Duration(i) * 10 * time.Minute)
		s.now = s.now.Add(time.Minute)
		entity.Must(s.readings.Append(s.t.Context(), Reading{Sensor: "s-1", At: at, Temperature: n}))
	}
	s.now = s.now.Add(time.Minute)
	entity.Must(s.readings.Append(s.t.Context(), Reading{Sensor: "s-1", At: noon.Add(35 * time.Minute), Temperature: 23.7}))
	s.now = s.now.Add(time.Hour)
}

func (s *shop) studio(o StudioOptions) *guest {
	s.t.Helper()
	o.Token = studioToken
	h, err := Studio(s.t.Context(), s.app, o)
	require.NoError(s.t, err)
	return visiting(s.t, h)
}

func (s *shop) get(id string) Client {
	s.t.Helper()
	return entity.Must(s.customers.Get(s.t.Context(), Client{ClientID: id}, entity.Consistent()))
}

// fields returns the fields of the form that sends to an action, as a browser does.
func (p seen) fields(t *testing.T, action string) url.Values {
	t.Helper()
	m := regexp.MustCompile(`(?s)<form[^>]* action="` + action + `"[^>]*>(.*?)</form>`).FindStringSubmatch(p.text)
	require.NotNil(t, m, "no form %s in %s", action, p.text)
	v := url.Values{}
	attr := func(tag, name string) (string, bool) {
		m := regexp.MustCompile(` ` + name + `="([^"]*)"`).FindStringSubmatch(tag)
		if m == nil {
			return "", false
		}
		return unescape(m[1]), true
	}
	for _, tag := range regexp.MustCompile(`<input[^>]*>`).FindAllString(m[1], -1) {
		name, _ := attr(tag, "name")
		value, _ := attr(tag, "value")
		if kind, _ := attr(tag, "type"); kind != "checkbox" || strings.Contains(tag, " checked") {
			v.Set(name, value)
		}
	}
	for _, x := range regexp.MustCompile(`(?s)<select[^>]* name="([^"]+)"[^>]*>(.*?)</select>`).FindAllStringSubmatch(m[1], -1) {
		if on := regexp.MustCompile(`<option selected>([^<]*)`).FindStringSubmatch(x[2]); on != nil {
			v.Set(x[1], on[1])
		}
	}
	return v
}

// fill sends a form of a page with some fields changed.
func (g *guest) fill(p seen, action string, changes ...string) seen {
	g.t.Helper()
	v := p.fields(g.t, action)
	for i := 0; i < len(changes); i += 2 {
		if v.Set(changes[i], changes[i+1]); changes[i+1] == "" {
			v.Del(changes[i])
		}
	}
	return g.send(p, action, v)
}

func TestStudio_EditsWhatWasSeen(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.story()
	g := s.studio(StudioOptions{Write: true})
	item := g.open("/item?entity=Client&p.clientId=c-1")
	require.Contains(t, item.text, "edits allowed")
	require.Contains(t, item.text, "moved")
	form := g.follow(item, "^Edit")
	g.keep("edit", form)
	for _, text := range []string{"string, secret: its value is never shown", "map[string]string, as JSON", `name="v.points" value="40"`, `name="v.since" value="2026-04-22T12:00:00Z"`} {
		require.Contains(t, form.text, text)
	}
	require.NotContains(t, form.text, `name="v.version"`)
	require.NotContains(t, form.text, `name="v.actor"`)
	require.Equal(t, 400, g.fill(form, "preview").status, "nothing was changed")
	require.Contains(t, g.fill(form, "preview", "v.points", "many").text, "points must be a whole number that fits int")
	require.Contains(t, g.fill(form, "preview", "v.name", "  ", "v.name", "").text, "changed", "a field that is not sent stays")

	plan := g.fill(form, "preview", "v.points", "55", "v.vip", "true", "v.rating", "4.5", "absent.rating", "")
	g.keep("plan", plan)
	require.Contains(t, plan.text, "<del>")
	require.Contains(t, plan.text, "Update Client on")
	require.Equal(t, 40, s.get("c-1").Points, "a plan writes nothing")
	require.Equal(t, 400, g.fill(plan, "write").status, "the actor is required")
	done := g.fill(plan, "write", "actor", "eve", "reason", "goodwill")
	require.Equal(t, 200, done.status, done.text)
	c := s.get("c-1")
	require.Equal(t, 55, c.Points)
	require.True(t, c.Vip)
	require.InDelta(t, 4.5, *c.Rating, 0)
	require.Equal(t, "eve", c.Actor)
	require.Equal(t, "goodwill", c.Reason)
	require.Equal(t, int64(4), c.Version)
	require.Contains(t, done.text, "goodwill")
	require.Equal(t, 409, g.fill(plan, "write", "actor", "eve").status, "the same plan twice")

	removed := g.fill(g.fill(g.follow(done, "^Edit"), "preview", "v.rating", "", "absent.rating", "1"), "write", "actor", "eve")
	require.Equal(t, 200, removed.status, removed.text)
	require.Nil(t, s.get("c-1").Rating)

	back := g.follow(g.open(removed.url), "version</span> <bdi>2</bdi>")
	reverted := g.follow(back, "^Revert to version 2")
	g.keep("revert", reverted)
	require.Contains(t, reverted.text, "Bergen")
	require.Equal(t, 200, g.fill(reverted, "write", "actor", "eve", "reason", "undo").status)
	require.Equal(t, "Oslo", s.get("c-1").City)
}

// Two people edit the same item: the second gets a conflict that shows both, and can go on from what is there.
func TestStudio_TwoPeopleEdit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.story()
	h, err := Studio(t.Context(), s.app, StudioOptions{Token: studioToken, Write: true})
	require.NoError(t, err)
	one, two := visiting(t, h), visiting(t, h)
	path := "/edit?entity=Client&p.clientId=c-1&verb=edit"
	a, b := one.open(path), two.open(path)
	planA := one.fill(a, "preview", "v.points", "100")
	planB := two.fill(b, "preview", "v.points", "200", "v.city", "Voss")
	require.Equal(t, 200, one.fill(planA, "write", "actor", "ada", "reason", "first").status)
	conflict := two.fill(planB, "write", "actor", "bob", "reason", "second")
	two.keep("conflict", conflict)
	require.Equal(t, 409, conflict.status)
	for _, text := range []string{"was changed since you opened it", ">40<", ">100<", ">200<", ">Voss<", "ada", "first"} {
		require.Contains(t, conflict.text, text)
	}
	require.Equal(t, 100, s.get("c-1").Points, "nothing was lost")
	require.Equal(t, "Bergen", s.get("c-1").City)
	again := two.fill(conflict, "again")
	require.Equal(t, 200, again.status, again.text)
	require.Contains(t, again.text, "100")
	require.Equal(t, 200, two.fill(again, "write", "actor", "bob", "reason", "second").status)
	require.Equal(t, 200, s.get("c-1").Points)
	require.Equal(t, "Voss", s.get("c-1").City)

	stale := one.fill(a, "preview", "v.points", "7")
	require.Equal(t, 409, stale.status, "a form from before is a conflict before the plan")
	form := one.open(path)
	require.NoError(t, s.customers.Delete(s.as("cron", "cleanup"), Client{ClientID: "c-1"}))
	require.Contains(t, one.fill(form, "preview", "v.points", "9").text, "deleted or purged")
}

// From the e-mail of a deleted customer to its restored state.
func TestStudio_StoryOfTheNight(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.story()
	g := s.studio(StudioOptions{Write: true})
	found := g.send(g.open("/"), "find", url.Values{"text": {"ben@example.org"}}) // click 1
	require.Contains(t, found.text, "Was it deleted, or is the value an earlier one?")
	require.NotContains(t, found.url, "ben")
	job := g.fill(found, "start") // click 2
	job = g.finished(job)
	require.Contains(t, job.text, "clientId=c-2")
	item := g.follow(job, "clientId=c-2") // click 3
	require.Contains(t, item.text, "a copy can be restored")
	require.Contains(t, item.text, "nightly clean-up")
	plan := g.follow(item, "^Restore")                                              // click 4
	done := g.fill(plan, "write", "actor", "on call", "reason", "deleted by error") // click 5
	require.Equal(t, 200, done.status, done.text)
	c := s.get("c-2")
	require.Equal(t, "Ben", c.Name)
	require.Equal(t, "on call", c.Actor)
	require.Contains(t, done.text, "held by this item")
	require.Equal(t, 400, g.open(strings.Replace(plan.url, "/write", "/edit", 1)).status, "it is not deleted")
	require.Regexp(t, `current</span> <bdi>3</bdi></a> <span class="note">restored`, done.text)
	require.Contains(t, g.send(g.open("/"), "find", url.Values{"text": {"ben@example.org"}}).text, "Ben")
}

// finished loads the page of a job until it is done.
func (g *guest) finished(p seen) seen {
	g.t.Helper()
	for range 200 {
		if !strings.Contains(p.text, "Running:") {
			return p
		}
		time.Sleep(20 * time.Millisecond)
		p = g.open(p.url)
	}
	require.Fail(g.t, "the job does not end", p.text)
	return p
}

func TestStudio_PurgesByName(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.story()
	g := s.studio(StudioOptions{Write: true})
	plan := g.follow(g.open("/item?entity=Client&p.clientId=c-1"), "^Purge")
	g.keep("purge", plan)
	require.Contains(t, plan.text, "2 items", "versions")
	require.Equal(t, 400, g.fill(plan, "write", "name", "client").status)
	require.Equal(t, "Ann", s.get("c-1").Name)
	require.Equal(t, 200, g.fill(plan, "write", "name", "Client").status)
	_, err := s.customers.Get(t.Context(), Client{ClientID: "c-1"})
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Equal(t, 404, g.open("/item?entity=Client&p.clientId=c-1").status)
}

// Without Write there is no form, and no address that writes.
func TestStudio_IsReadOnlyByDefault(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.story()
	writer := s.studio(StudioOptions{Write: true})
	plan := writer.follow(writer.open("/item?entity=Client&p.clientId=c-2"), "^Restore")
	g := s.studio(StudioOptions{})
	require.NotContains(t, g.open("/item?entity=Client&p.clientId=c-2").text, "Restore …")
	require.Equal(t, 403, g.open("/edit?entity=Client&p.clientId=c-1&verb=edit").status)
	for _, action := range []string{"write", "preview", "again"} {
		require.Equal(t, 403, g.send(g.open("/"), action, plan.fields(t, "write")).status, action)
	}
	l := newLab(t)
	require.Equal(t, ExitUsage, l.run("studio", "--write").code, "the lock alone does not write")
}

// The actor of the application is not asked for, and cannot be given.
func TestStudio_TakesTheActorOfTheProgram(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.story()
	g := s.studio(StudioOptions{Write: true, Actor: func(*http.Request) string { return "carla@corp" }})
	plan := g.fill(g.open("/edit?entity=Client&p.clientId=c-1&verb=edit"), "preview", "v.points", "1")
	require.Contains(t, plan.text, "carla@corp")
	require.NotContains(t, plan.text, `name="actor"`)
	require.Equal(t, 200, g.fill(plan, "write", "actor", "mallory", "reason", "x").status)
	require.Equal(t, "carla@corp", s.get("c-1").Actor)
}

func TestStudio_PlotsASeries(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.story()
	g := s.studio(StudioOptions{})
	p := g.open("/item?entity=Reading&p.sensor=s-1")
	g.keep("series", p)
	require.Contains(t, p.text, `<polyline class="line" points="`)
	require.Equal(t, 7, strings.Count(p.text, ` r="5"/>`))
	require.Contains(t, p.text, "late: 1")
	require.Contains(t, p.text, "repeats the one before: 1")
	require.Contains(t, p.text, "temperature of 7 events, between 20.5 and 24.5")
	part := g.open("/item?entity=Reading&p.sensor=s-1&from=2026-04-22T12:10&to=2026-04-22T12:30:00Z")
	require.Equal(t, 3, strings.Count(part.text, ` r="5"/>`))
	at := g.open("/item?entity=Reading&p.sensor=s-1&at=2026-04-22T12:34")
	require.Contains(t, at.text, "The last event at 2026-04-22T12:34:00Z is that of 2026-04-22T12:30:00Z.")
	require.Equal(t, 400, g.open("/item?entity=Reading&p.sensor=s-1&from=yesterday").status)
}

// Long work shows its result, names its cost before, and can be stopped.
func TestStudio_LongWork(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.story()
	g := s.studio(StudioOptions{MinuteUnits: 1000})
	home := g.open("/")
	require.Regexp(t, `Check all items: about [\d.]+ read units?`, home.text)
	check := g.finished(g.send(home, "start", url.Values{"kind": {"check"}}))
	g.keep("check", check)
	require.Contains(t, check.text, "All as declared.")
	require.Contains(t, g.open("/").text, "All as declared</span>, ")
	table := regexp.MustCompile(`name="what" value="([^"]+)"`).FindStringSubmatch(home.text)[1]
	count := g.finished(g.send(home, "start", url.Values{"kind": {"count"}, "what": {table}}))
	g.keep("count", count)
	require.Regexp(t, `(?s)Reading</th><td[^>]*><span class="kind k-event">event</span></td><td data-label="items">7<`, count.text)
	require.Equal(t, 400, g.send(home, "start", url.Values{"kind": {"drop"}}).status)
	require.Contains(t, g.finished(g.send(home, "start", url.Values{"kind": {"count"}, "what": {"other"}})).text, "It failed")
	require.Equal(t, 404, g.open("/job?id=x").status)

	slow := s.studio(StudioOptions{MinuteUnits: 0.01})
	slow.open("/item?entity=Client&p.clientId=c-1")
	running := slow.send(slow.open("/"), "start", url.Values{"kind": {"count"}, "what": {table}})
	require.Contains(t, running.text, "Running:")
	stopped := slow.finished(slow.fill(running, "stop"))
	require.Contains(t, stopped.text, "Stopped.")
}

// Of a large table the first page of each view takes at most five requests.
func TestStudio_FirstPagesOfALargeTable(t *testing.T) {
	t.Parallel()
	n := 400
	if os.Getenv("DYNASTRATA_LONG") != "" {
		n = 200_000
	}
	s := newShop(t)
	s.story()
	var all []Reading
	for i := range n {
		all = append(all, Reading{Sensor: "s-2", At: noon.Add(time.Duration(i) * time.Second), Temperature: float64(i % 40)})
	}
	_, err := s.readings.AppendAll(t.Context(), all)
	require.NoError(t, err)
	g := s.studio(StudioOptions{})
	for _, path := range []string{
		"/", "/browse?entity=Client", "/browse?entity=Client&all=1", "/browse?entity=Reading&all=1", "/browse?entity=Reading&p.sensor=s-2", "/browse?entity=Reading&p.sensor=s-2&related=1&desc=1",
		"/browse?entity=Client&index=byCity&p.city=Oslo", "/item?entity=Reading&p.sensor=s-2", "/item?entity=Client&p.clientId=c-1", "/item?entity=Client&p.clientId=c-2", "/item?entity=Reading&p.sensor=s-2&at=2026-04-22T12:01",
	} {
		p := g.open(path)
		require.Equal(t, 200, p.status, path)
		require.Regexp(t, `^[0-5]?$`, p.requests, path)
		require.Less(t, len(p.text), 400_000, path)
	}
	page := g.open("/browse?entity=Reading&p.sensor=s-2&related=1")
	first := page
	for range 3 {
		page = g.follow(page, "^Next page$")
	}
	for range 3 {
		page = g.follow(page, "^Previous page$")
	}
	require.Equal(t, strip(first.text), strip(page.text), "pages go both ways")
}

// strip removes what differs between two loads of a page.
func strip(text string) string {
	return regexp.MustCompile(`(start=|value=")[A-Za-z0-9_-]{20,}`).ReplaceAllString(text, "")
}

// A change that comes between the comparison with what was seen and the write is a conflict, too.
func TestStudio_IsGuardedUntilTheWrite(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.story()
	f := entity.Fields[Client]()
	with, meanwhile := s.app.Context, func() {}
	s.app.Context = func(ctx context.Context, by By) context.Context { // called after the item was read
		meanwhile()
		return with(ctx, by)
	}
	g := s.studio(StudioOptions{Write: true})
	plan := g.fill(g.open("/edit?entity=Client&p.clientId=c-1&verb=edit"), "preview", "v.points", "7")
	restore := g.open("/edit?entity=Client&p.clientId=c-2&verb=restore")
	meanwhile = func() {
		entity.Must(s.customers.Update(s.as("billing", "points"), Client{ClientID: "c-1"}, entity.Set(&f.Points, 41)))
	}
	conflict := g.fill(plan, "write", "actor", "eve")
	require.Equal(t, 409, conflict.status, conflict.text)
	require.Equal(t, 41, s.get("c-1").Points)
	deleted := entity.Must(lifecycle.Of(s.customers))
	meanwhile = func() {
		again := entity.Must(deleted.Restore(s.as("cron", "again"), Client{ClientID: "c-2"}))
		s.now = s.now.Add(time.Minute)
		require.NoError(t, s.customers.Delete(s.as("cron", "and again"), again))
	}
	require.Equal(t, 409, g.fill(restore, "write", "actor", "eve").status, "another copy than the one that was shown")
}
