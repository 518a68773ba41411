package entity_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/goldentest"
)

// What a write or query of special keys, indexes and attributes is compiled to, byte for byte. There is no client, so nothing
// can have been sent. tests/plans has the plans of every verb for every feature.
func TestPlan_OfSpecialKeysIndexesAndAttributes(t *testing.T) {
	t.Parallel()
	db := paper(t)
	employees, profiles, tasks := dbtest.Declare[Employee](t, db).Op(), dbtest.Declare[Profile](t, db).Op(), dbtest.Declare[Task](t, db)
	visits, writers := dbtest.Declare[Visit](t, db).Op(), dbtest.Declare[Writer](t, db).Op()
	cfg := paperConfig()
	cfg.Table = "batches"
	own := entity.Must(entity.Open(nil, cfg))
	batches := dbtest.Declare[Batch](t, own)
	cfg.Table = "orders"
	native := entity.Must(entity.Open(nil, cfg))
	orders, byOwner := dbtest.Declare[Order](t, native), entity.Must(tasks.Index("byOwner"))
	devices, byStatus := entity.Must(batches.Index("devices")), entity.Must(orders.Index("byStatus"))
	accounts := dbtest.Declare[Account](t, db)
	byToken := entity.Must(accounts.Index("byToken"))

	e, p, f, o := entity.Fields[Employee](), entity.Fields[Profile](), entity.Fields[Task](), entity.Fields[Order]()
	key, a := employeeKey("emp-alice"), Profile{ID: "a"}
	batch := Batch{DeviceID: "d", Timestamp: 5, BatchID: "b", LastSeenAt: dawn.Truncate(time.Millisecond)}
	plans := map[string]fmt.Stringer{
		"create-verbatim":  batches.Op().Create(batch),
		"create-native":    orders.Op().Create(Order{Customer: "c", Number: 1, Amount: 5}),
		"create-payload":   writers.Create(Writer{ID: "a"}),
		"create-nested":    profiles.Create(furnished()),
		"update-if":        employees.Update(key, entity.Add(&e.Salary, 5), entity.If(entity.Between(&e.Salary, 1, 10), entity.Not(entity.In(&e.DisplayName, "x", "y")))),
		"update-index-key": employees.Update(key, entity.Set(&e.Department, "Sales")),
		"update-clocked":   visits.Update(Visit{ID: "a"}, entity.Set(&entity.Fields[Visit]().Note, "x")),
		"update-kinds": profiles.Update(a, entity.Set(&p.Note, "n"), entity.SetIfNotExists(&p.Order, "o"), entity.Remove(&p.Alias), entity.Add(&p.Count, 1),
			entity.ListAppend(&p.Log, "l"), entity.AddToSet(&p.Tags, "t2", "t1"), entity.DeleteFromSet(&p.Numbers, 1)),
		"update-nested": profiles.Update(a, entity.Set(&p.Home.City, "Rome"), entity.MapEntry(&p.Labels, "a.b").Set("x"), entity.Attr[int]("lines[0].qty").Set(2), entity.Remove(&p.Work.Geo)),
		"upsert-copy":   batches.Op().Upsert(batch),
		"upsert-read":   profiles.Upsert(Profile{ID: "a", Rank: 2}),
		"mistake":       employees.Create(Employee{TenantID: "t"}),

		"query":           tasks.Query(Task{Project: "p"}),
		"query-lead":      tasks.Query(Task{Project: "p#1", Status: "open"}, entity.Desc(), entity.Limit(3)),
		"query-range":     tasks.Query(Task{Project: "p", Status: "open"}, entity.Gt(&f.Priority, 3), entity.Filter(entity.Or(entity.Eq(&f.Title, "x"), entity.Exists(&f.Owner)))),
		"query-less":      tasks.Query(Task{Project: "p"}, entity.Lt(&f.Status, "open")),
		"query-prefix":    tasks.Query(Task{Project: "p"}, entity.BeginsWith(&f.Status, "op")),
		"query-one":       tasks.Query(Task{Project: "p", Status: "open", Priority: 1, TaskID: "t"}),
		"query-nothing":   tasks.Query(Task{Project: "p"}, entity.Between(&f.Status, "b", "a")),
		"query-mistake":   tasks.Query(Task{Project: "p"}, entity.Eq(&f.Title, "x")),
		"query-index":     byOwner.Query(Task{Owner: "o"}, entity.Between(&f.Due, dawn, dawn.Add(time.Hour))),
		"query-verbatim":  batches.Query(Batch{DeviceID: "d", Timestamp: 5}),
		"query-constant":  devices.Query(Batch{}, entity.Desc()),
		"query-native":    byStatus.Query(Order{Status: "open"}, entity.Ge(&o.Placed, 5)),
		"query-bad-point": tasks.Query(Task{}),

		"secret-create": accounts.Op().Create(secretive()),
		"secret-query":  byToken.Query(Account{Token: hush}, entity.Between(&entity.Fields[Account]().Pin, 1, hushPin)),
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		plan := plans[name].String()
		require.Equal(t, plan, plans[name].String(), "a plan prints the same each time")
		fmt.Fprintf(&text, "== %s\n%s\n\n", name, plan)
	}
	goldentest.Check(t, "plans.txt", text.String())
}

// Whatever names and values hold, no plan and no error can drive a terminal.
func TestPlan_PrintsForeignTextQuoted(t *testing.T) {
	t.Parallel()
	s, odd := dbtest.Declare[Loose](t, paper(t)), "\x1b]0;title\x07 \u009b31m \u202e\u2066\r\n"
	v, f := Loose{ID: odd, Map: map[string]any{odd: 1}, Odd: odd}, entity.Fields[Loose]()
	for name, plan := range map[string]fmt.Stringer{
		"put":    s.Op().Put(v),
		"update": s.Op().Update(Loose{ID: odd}, entity.Set(&f.Odd, odd)),
		"path":   s.Op().Update(Loose{ID: odd}, entity.MapEntry(&f.Map, odd).Set(1)),
		"query":  s.Query(Loose{ID: odd}, entity.Filter(entity.Eq(&f.Odd, odd))),
	} {
		text := plan.String()
		require.Contains(t, text, `\x1b]0;title\a`, name)
		for line := range strings.SplitSeq(text, "\n") {
			require.Equal(t, -1, strings.IndexFunc(line, func(r rune) bool { return !strconv.IsPrint(r) }), "%s: %q", name, line)
		}
	}
}

// Account has a secret wherever a value can be: in the key, in index keys, nested, as a number and as a time.
type Account struct {
	_      entity.Key        `name:"Account" pk:"$#{tenant}#{ssn}" sk:"$"`
	_      entity.GSI        `name:"byToken" index:"gsi1" pk:"$#{token}" sk:"gsi1sk={pin:08}"`
	_      entity.GSI        `name:"byMail" index:"gsi2" pk:"$#{mail}" sk:"$#{token}"`
	Tenant string            `dynamodbav:"tenant"`
	SSN    string            `dynamodbav:"ssn" entity:"secret"`
	Mail   string            `dynamodbav:"mail,omitempty"`
	Token  string            `dynamodbav:"token,omitempty" entity:"secret"`
	Pin    int32             `dynamodbav:"pin,omitempty" entity:"secret"`
	Keys   map[string]string `dynamodbav:"keys,omitempty" entity:"secret"`
	Card   *Card             `dynamodbav:"card,omitempty" entity:"secret"`
	Born   time.Time         `dynamodbav:"born,omitempty" entity:"secret,time=s"`
	Owner  string            `dynamodbav:"owner,omitempty" entity:"immutable,secret"`
}

type Card struct {
	Number string  `dynamodbav:"number"`
	Limit  float64 `dynamodbav:"limit"`
}

const (
	hush    = "hush-hush"
	hushPin = 31415926
)

var hushBorn = time.Date(1987, 6, 5, 4, 3, 2, 0, time.UTC)

func secretive() Account {
	return Account{
		Tenant: "t", SSN: hush, Mail: "m@x", Token: hush, Pin: hushPin, Keys: map[string]string{"k": hush},
		Card: &Card{Number: hush, Limit: hushPin}, Born: hushBorn, Owner: hush,
	}
}

// requireSilent checks that a text gives nothing away.
func requireSilent(t *testing.T, what, text string) {
	t.Helper()
	require.NotEmpty(t, text, what)
	for _, leak := range []string{hush, strings.ToUpper(hush), "31415926", "1987-06-05", "4242424242"} {
		require.NotContains(t, text, leak, what)
	}
}

func TestSecret_IsNotInPlans(t *testing.T) {
	t.Parallel()
	s := dbtest.Declare[Account](t, paper(t))
	byToken, byMail := entity.Must(s.Index("byToken")), entity.Must(s.Index("byMail"))
	f, key := entity.Fields[Account](), Account{Tenant: "t", SSN: hush}
	card := entity.Set(&f.Card.Number, hush)
	cond := entity.If(entity.Eq(&f.Token, hush), entity.Or(entity.Gt(&f.Pin, hushPin), entity.MapEntry(&f.Keys, "k").Eq(hush)), entity.Not(entity.In(&f.Born, hushBorn)))
	for what, plan := range map[string]fmt.Stringer{
		"create":      s.Op().Create(secretive(), cond),
		"upsert":      s.Op().Upsert(secretive(), cond),
		"upsert read": s.Op().Upsert(Account{Tenant: "t", SSN: hush, Mail: "n", Pin: hushPin}),
		"update":      s.Op().Update(key, entity.Set(&f.Token, hush), entity.Add(&f.Pin, hushPin), card, entity.MapEntry(&f.Keys, "k").Set(hush), cond),
		"update once": s.Op().Update(key, entity.SetIfNotExists(&f.Born, hushBorn), entity.Set(&f.Owner, hush), entity.Attr[string]("card.number").Set(hush)),
		"update half": s.Op().Update(key, entity.Set(&f.Token, hush), entity.Set(&f.Mail, "x")),
		"delete":      s.Op().Delete(key, cond),
		"require":     s.Op().CheckExists(key, entity.Eq(&f.Token, hush)),
		"query":       s.Query(key, entity.Filter(entity.Eq(&f.Token, hush), entity.Eq(&f.Card.Limit, hushPin))),
		"index":       byToken.Query(Account{Token: hush}, entity.Between(&f.Pin, 1, hushPin)),
		"index sort":  byMail.Query(Account{Mail: "m"}, entity.Gt(&f.Token, hush)),
		"index lt":    byMail.Query(Account{Mail: "m"}, entity.Lt(&f.Token, hush)),
		"index eq":    byMail.Query(Account{Mail: "m", Token: hush}),
	} {
		requireSilent(t, what, plan.String())
		requireSilent(t, what, fmt.Sprintf("%v %+v", plan, plan))
	}
}

// chain is every text that an error can show, down to its causes. What DynamoDB itself says is not ours.
func chain(err error) string {
	var texts []string
	var walk func(error)
	walk = func(err error) {
		if err == nil {
			return
		}
		texts = append(texts, err.Error(), fmt.Sprintf("%v %+v", err, err))
		walk(errors.Unwrap(err))
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range many.Unwrap() {
				walk(e)
			}
		}
	}
	walk(err)
	return strings.Join(texts, "\n")
}

func TestSecret_IsNotInErrors(t *testing.T) {
	l, s := open[Account](t)
	byToken := entity.Must(s.Index("byToken"))
	f, key := entity.Fields[Account](), Account{Tenant: "t", SSN: hush}
	l.OK(s.Create(t.Context(), secretive()))
	silent := func(what string, err error) {
		t.Helper()
		require.Error(t, err, what)
		requireSilent(t, what, chain(err))
	}
	silent("exists", dbtest.ErrorOf(s.Create(t.Context(), secretive())))
	silent("condition", s.Delete(t.Context(), key, entity.If(entity.Ne(&f.Token, hush))))
	silent("immutable", dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&f.Owner, hush+"!"))))
	silent("not found", dbtest.ErrorOf(s.Get(t.Context(), Account{Tenant: "t", SSN: hush + "!"})))
	silent("transaction", l.DB.Transact(t.Context(), s.Op().Create(secretive()), s.Op().CheckExists(Account{Tenant: "u", SSN: hush}, entity.Eq(&f.Token, hush))))
	silent("same item", l.DB.Transact(t.Context(), s.Op().Create(secretive()), s.Op().Delete(key)))
	silent("nothing found", dbtest.ErrorOf(byToken.Query(Account{Token: hush + "!"}).First(t.Context())))
	silent("cursor", dbtest.ErrorOf(byToken.Query(Account{Token: hush}, entity.Limit(1)).Page(t.Context(), "x")))

	wide := secretive()
	wide.Pin = -hushPin
	_, err := s.Create(t.Context(), wide)
	silent("negative", err)
	dbtest.RequireInput(t, err, "EDD-9102", "Pin")
	silent("negative change", dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&f.Pin, -hushPin))))
	silent("not UTF-8", dbtest.ErrorOf(s.Create(t.Context(), Account{Tenant: "t", SSN: hush + "\xff"})))
	fine := secretive()
	fine.SSN, fine.Born = hush+"2", time.Date(10000, 1, 1, 0, 0, 0, hushPin, time.UTC)
	silent("year", dbtest.ErrorOf(s.Create(t.Context(), fine)))
	silent("too long", dbtest.ErrorOf(s.Create(t.Context(), Account{Tenant: "t", SSN: strings.Repeat(hush, 500)})))
	silent("index too long", dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&f.Token, strings.Repeat(hush, 500)), entity.Set(&f.Mail, "x"))))
	silent("wrong condition", dbtest.ErrorOf(s.Query(key, entity.Eq(&f.Token, hush)).Collect(t.Context())))
}

func TestSecret_IsNotInErrorsAboutStoredItems(t *testing.T) {
	t.Parallel()
	for name, av := range map[string]struct {
		attr string
		text string
	}{"number that is text": {"pin", hush}, "text that is no time": {"born", hush}, "number out of range": {"pin", "4242424242"}, "time of another kind": {"born", "4242424242"}} {
		t.Run(name, func(t *testing.T) {
			l, s := open[Account](t)
			l.OK(s.Create(t.Context(), secretive()))
			value := dbtest.S(av.text)
			if av.text != hush {
				value = dbtest.N(av.text)
			}
			l.patch(keys("pk", "$app#v1#account#t#"+hush, "sk", "$app#v1#account"), av.attr, value)
			_, err := s.Get(t.Context(), Account{Tenant: "t", SSN: hush})
			requireMisfit(t, err, av.attr)
			requireSilent(t, name, chain(err))
			_, err = s.Update(t.Context(), Account{Tenant: "t", SSN: hush}, entity.Set(&entity.Fields[Account]().Mail, "other"))
			require.Error(t, err)
			requireSilent(t, name, chain(err))
			_, err = s.Create(t.Context(), secretive())
			require.ErrorIs(t, err, entity.ErrExists)
			_, ok := entity.StoredItem[Account](err)
			require.False(t, ok, "an item that does not fit is not handed out")
		})
	}
}

// timeless is a logger that writes no times.
func timeless(level slog.Level) (*bytes.Buffer, *slog.Logger) {
	var b bytes.Buffer
	return &b, slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && groups == nil {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestSlogTracer_LogsSlowAndFailedCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		r    entity.Report
		want string
	}{
		{"quick", entity.Report{Verb: "Get", Duration: 99 * time.Millisecond}, ""},
		{"slow", entity.Report{
			Verb: "Query", Entity: "Order", Table: "app", Index: "gsi1", Duration: 100 * time.Millisecond, Requests: 3, Attempts: entitytype.Attempts{OK: 1, Throttled: 2},
			Throttles: []entitytype.Throttle{{Limit: "KeyRangeThroughputExceeded", Kind: "Index", Operation: "Read", Resource: "arn", Count: 2}},
			ReadUnits: .5, Returned: 2, Evaluated: 7, RequestIDs: []string{"a", "b"},
		}, `level=WARN msg="slow call" verb=Query entity=Order table=app index=gsi1 duration=100ms requests=3 throttled=2 "throttled by IndexReadKeyRangeThroughputExceeded"=2 "read units"=0.5 returned=2 evaluated=7 "request ids"="[a b]"` + "\n"},
		{"failed", entity.Report{
			Verb: "Append", Duration: time.Second, Requests: 2, Attempts: entitytype.Attempts{Lost: 1, Conflict: 1, Refused: 1, Failed: 1}, WriteUnits: 4,
			Err: &entity.Failure{Type: "ErrRetryBudget", Ambiguous: true, Classes: []error{entity.ErrRetryBudget}},
		}, `level=ERROR msg="failed call" verb=Append duration=1s requests=2 conflicts=1 lost=1 refused=1 failed=1 "write units"=4 error=ErrRetryBudget ambiguous=true` + "\n"},
		{"expected", entity.Report{Verb: "Get", Err: &entity.Failure{Type: "ErrNotFound", Classes: []error{entity.ErrNotFound}, Expected: true}}, `level=INFO msg="failed call" verb=Get duration=0s requests=0 error=ErrNotFound` + "\n"},
	} {
		b, logger := timeless(slog.LevelInfo)
		tracer := entity.SlogTracer(logger, entity.SlogOptions{Slow: 100 * time.Millisecond})
		tracer.End(tracer.Start(t.Context(), entity.Call{}), c.r)
		require.Equal(t, c.want, b.String(), c.name)
	}
	b, logger := timeless(slog.LevelWarn)
	entity.SlogTracer(logger, entity.SlogOptions{}).End(t.Context(), entity.Report{Verb: "Get", Duration: time.Hour})
	require.Empty(t, b.String(), "without a threshold no call is slow")
}

func TestSlogTracer_CostsNothingUnlessItLogs(t *testing.T) {
	_, logger := timeless(slog.LevelError)
	tracer, ctx := entity.SlogTracer(logger, entity.SlogOptions{Slow: time.Second}), context.Background()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		started := tracer.Start(ctx, entity.Call{Verb: "Get"})
		tracer.Request(started, entity.Attempt{})
		tracer.End(started, entity.Report{Verb: "Get"})
		tracer.End(started, entity.Report{Verb: "Get", Duration: time.Minute}) // below the level of the logger
	}))
}
