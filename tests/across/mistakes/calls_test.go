package mistakes_test

import (
	"context"
	"errors"
	"math"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// The types of the examples.

type name string

var errNameless = errors.New("a name is needed")

func (n name) Validate() error {
	if n == "nobody" {
		return errNameless
	}
	return nil
}

type address struct {
	City string `dynamodbav:"city"`
}

type employee struct {
	_           entity.Key `name:"Employee" pk:"$#{employeeId}" sk:"$"`
	_           entity.GSI `name:"byDepartment" index:"gsi1" pk:"$#{department}" sk:"$#{employeeId}"`
	EmployeeID  string     `dynamodbav:"employeeId"`
	Department  string     `dynamodbav:"department,omitempty"`
	DisplayName name       `dynamodbav:"displayName" entity:"required"`
	Salary      float64    `dynamodbav:"salary"`
	Address     address    `dynamodbav:"address"`
	CreatedAt   time.Time  `dynamodbav:"createdAt" entity:"created_at"`
}

type model struct {
	_     entity.Key `name:"Model" table:"models" pk:"maker" sk:"year"`
	Maker string     `dynamodbav:"maker"`
	Year  int        `dynamodbav:"year"`
	Mail  string     `dynamodbav:"mail,omitempty" validate:"email"`
}

type reading struct {
	_     entity.Key        `name:"Reading" pk:"$#{id}" sk:"$"`
	_     timeseries.Events `orderBy:"at" maxAhead:"1h"`
	ID    string            `dynamodbav:"id"`
	At    time.Time         `dynamodbav:"at" entity:"time=ms"`
	Alert *bool             `dynamodbav:"alert,omitempty" entity:"append"`
}

type journal struct {
	_    entity.Key        `name:"Journal" pk:"$#{id}" sk:"$"`
	_    timeseries.Events `orderBy:"at" current:"none"`
	ID   string            `dynamodbav:"id"`
	At   time.Time         `dynamodbav:"at" entity:"time=ms"`
	Text string            `dynamodbav:"text" entity:"append"`
}

type session struct {
	_         entity.Key    `name:"Session" pk:"$#{id}" sk:"$"`
	_         lifecycle.TTL `attr:"expiresAt" after:"1h"`
	ID        string        `dynamodbav:"id"`
	ExpiresAt int64         `dynamodbav:"expiresAt"`
}

type host struct {
	_    entity.Key `name:"Host" pk:"$#{id}" sk:"$"`
	ID   string     `dynamodbav:"id"`
	Addr netip.Addr `dynamodbav:"addr"`
}

type novel struct {
	_  entity.Key `name:"Novel" pk:"$#{id}" sk:"$" payload:"3"`
	ID string     `dynamodbav:"id"`
}

type ledger struct {
	_       entity.Key       `name:"Ledger" pk:"$#{id}" sk:"$"`
	_       versioned.Retain ``
	ID      string           `dynamodbav:"id"`
	Version int              `dynamodbav:"version" entity:"version"`
}

type parcel struct {
	_    entity.Key `name:"Parcel" pk:"$#{id}" sk:"$"`
	ID   string     `dynamodbav:"id" entity:"id=ulid"`
	Name string     `dynamodbav:"name"`
}

func (p *parcel) Prepare(context.Context) error {
	if p.Name == "nobody" {
		return errNameless
	}
	return nil
}

type badge struct {
	_     entity.Key `name:"Badge" pk:"$#{id}" sk:"$"`
	_     entity.GSI `name:"byToken" index:"gsi1" pk:"$#{token}" sk:"$"`
	ID    string     `dynamodbav:"id"`
	Token string     `dynamodbav:"token" entity:"secret"`
}

// calls are the stores of the examples, on a database without a client, so that a request would be another error.
type calls struct {
	ctx       context.Context
	now       time.Time
	db        *entity.DB
	employees *entity.Store[employee]
	models    *entity.Store[model]
	readings  *timeseries.Series[reading]
}

func newCalls(t *testing.T) calls {
	t.Helper()
	c := calls{ctx: t.Context(), now: time.Date(2026, 4, 22, 12, 0, 0, 0, time.UTC)}
	var err error
	c.db, err = entity.Open(nil, entity.Config{Table: "t", Clock: func() time.Time { return c.now }})
	require.NoError(t, err)
	c.employees, err = entity.New[employee](c.db)
	require.NoError(t, err)
	c.models, err = entity.New[model](c.db)
	require.NoError(t, err)
	c.readings, err = timeseries.New[reading](c.db)
	require.NoError(t, err)
	return c
}

func (c calls) create(e employee) error { _, err := c.employees.Create(c.ctx, e); return err }

func (c calls) update(changes ...entity.UpdateOption) error {
	_, err := c.employees.Update(c.ctx, employee{EmployeeID: "e-1"}, changes...)
	return err
}

func (c calls) append(r reading) error { _, err := c.readings.Append(c.ctx, r); return err }

func collect[T any](c calls, q entity.Query[T]) error { _, err := q.Collect(c.ctx); return err }

// examples makes, for each code of a call, a call that makes the mistake.
var examples = map[string]func(t *testing.T, c calls) error{
	"EDD-9101": func(_ *testing.T, c calls) error { _, err := c.employees.Get(c.ctx, employee{}); return err },
	"EDD-9102": func(_ *testing.T, c calls) error { return c.append(reading{ID: "r", At: time.Unix(0, 1)}) },
	"EDD-9103": func(_ *testing.T, c calls) error { return c.create(employee{EmployeeID: "e-1"}) },
	"EDD-9104": func(_ *testing.T, c calls) error {
		return c.update(entity.Set(&entity.Fields[employee]().CreatedAt, c.now))
	},
	"EDD-9105": func(_ *testing.T, c calls) error {
		var alice employee
		return c.update(entity.Set(&alice.DisplayName, "A"))
	},
	"EDD-9107": func(_ *testing.T, c calls) error {
		e := entity.Fields[employee]()
		return c.update(entity.Set(&e.Address, address{City: "Bern"}), entity.Remove(&e.Address.City))
	},
	"EDD-9170": func(t *testing.T, c calls) error {
		ledgers, err := entity.New[ledger](c.db)
		require.NoError(t, err)
		_, err = migrate.Rewrite(c.ctx, ledgers)
		return err
	},
	"EDD-9172": func(_ *testing.T, c calls) error {
		_, err := entity.New[novel](c.db, entity.Upgrade(1, func(n novel) (novel, error) { return n, nil }))
		return err
	},
	"EDD-9171": func(_ *testing.T, c calls) error {
		_, err := migrate.Rewrite(c.ctx, c.models, migrate.Checkpoint("fill"))
		return err
	},
	"EDD-9185": func(_ *testing.T, c calls) error {
		_, err := migrate.Copy("", c.employees, c.employees, func(e employee) (employee, error) { return e, nil })
		return err
	},
	"EDD-9186": func(_ *testing.T, c calls) error {
		_, err := migrate.Copy("cars", c.employees, c.models, func(employee) (model, error) { return model{}, nil })
		return err
	},
	"EDD-9187": func(t *testing.T, c calls) error {
		ledgers, err := entity.New[ledger](c.db)
		require.NoError(t, err)
		books, err := migrate.Copy("books", c.employees, ledgers, func(employee) (ledger, error) { return ledger{}, migrate.Skip })
		require.NoError(t, err)
		return books.Handle(c.ctx, stream.Change[employee]{})
	},
	"EDD-9108": func(_ *testing.T, c calls) error {
		return collect(c, c.employees.Query(employee{EmployeeID: "e-1"}, entity.Limit(0)))
	},
	"EDD-9109": func(_ *testing.T, c calls) error {
		a := employee{EmployeeID: "e-1", DisplayName: "A"}
		return c.db.Transact(c.ctx, c.employees.Op().Create(a), c.employees.Op().Delete(a))
	},
	"EDD-9110": func(_ *testing.T, c calls) error {
		var ops []entity.Op
		for i := range 51 {
			ops = append(ops, c.readings.Op().Append(reading{ID: strings.Repeat("r", i+1), At: c.now}))
		}
		return c.db.Transact(c.ctx, ops...)
	},
	"EDD-9111": func(_ *testing.T, c calls) error {
		return c.update(entity.Set(&entity.Fields[employee]().DisplayName, "A"), entity.If(entity.In(&entity.Fields[employee]().Department)))
	},
	"EDD-9112": func(_ *testing.T, c calls) error {
		return collect(c, c.models.Query(model{Maker: "m"}, entity.Filter(entity.Gt(&entity.Fields[model]().Year, 2024))))
	},
	"EDD-9113": func(_ *testing.T, c calls) error { return c.append(reading{ID: "r", At: c.now.Add(24 * time.Hour)}) },
	"EDD-9114": func(t *testing.T, c calls) error {
		return c.db.Transact(c.ctx, newCalls(t).employees.Op().Create(employee{EmployeeID: "e-1", DisplayName: "A"}))
	},
	"EDD-9115": func(_ *testing.T, c calls) error {
		return collect(c, c.readings.History(reading{ID: "r"}, entity.Eq(entity.Fields[reading]().Alert, true)))
	},
	"EDD-9116": func(_ *testing.T, c calls) error { return c.create(employee{EmployeeID: "e-1", DisplayName: "nobody"}) },
	"EDD-9118": func(_ *testing.T, c calls) error {
		sessions, err := entity.New[session](c.db)
		if err != nil {
			return err
		}
		s := entity.Fields[session]()
		_, err = sessions.Update(c.ctx, session{ID: "s"}, entity.Set(&s.ExpiresAt, c.now.UnixMilli()))
		return err
	},
	"EDD-9117": func(_ *testing.T, c calls) error {
		_, err := c.employees.PutMany(c.ctx, []employee{{EmployeeID: "e-1", DisplayName: "A"}})
		return err
	},
	"EDD-9126": func(_ *testing.T, c calls) error {
		byDepartment := entity.Must(c.employees.Index("byDepartment"))
		var a, b []employee
		return c.db.GetCollection(c.ctx, byDepartment.Query(employee{Department: "d1"}).Into(&a), byDepartment.Query(employee{Department: "d2"}).Into(&b))
	},
	"EDD-9127": func(_ *testing.T, c calls) error {
		var all []employee
		return c.db.GetCollection(c.ctx, c.employees.Scan().Into(&all))
	},
	"EDD-9130": func(t *testing.T, _ calls) error {
		db, err := entity.Open(nil, entity.Config{Table: "t", Validator: refusing{}})
		require.NoError(t, err)
		m := entity.Fields[model]()
		_, err = entity.Must(entity.New[model](db)).Update(t.Context(), model{Maker: "m", Year: 2024}, entity.Set(&m.Mail, "x"))
		return err
	},
	"EDD-9123": func(_ *testing.T, c calls) error { _, err := stream.Handle(c.ctx, stream.Event{}); return err },
	"EDD-9160": func(_ *testing.T, c calls) error {
		var s *entity.Store[employee]
		_, err := s.Get(c.ctx, employee{EmployeeID: "e-1"})
		return err
	},
	"EDD-9161": func(_ *testing.T, c calls) error {
		var none context.Context
		_, err := c.employees.Get(none, employee{EmployeeID: "e-1"})
		return err
	},
	"EDD-9133": func(t *testing.T, c calls) error {
		_, err := c.view(t).Page(c.ctx, -1, 20)
		return err
	},
	"EDD-9140": func(_ *testing.T, c calls) error {
		k := employee{EmployeeID: "e-1"}
		costly := entity.Where(expression.Name("salary").GreaterThan(expression.Name("displayName")))
		return c.db.Transact(c.ctx, c.employees.Op().CheckExists(k, costly), c.employees.Op().CheckExists(k))
	},
	"EDD-9156": func(_ *testing.T, c calls) error {
		hosts := entity.Must(entity.New[host](c.db))
		return collect(c, hosts.Query(host{ID: "h"}, entity.Filter(entity.Lt(&entity.Fields[host]().Addr, netip.Addr{}))))
	},
	"EDD-9180": func(_ *testing.T, c calls) error {
		_, err := entity.Must(entity.New[parcel](c.db)).Create(c.ctx, parcel{Name: "nobody"})
		return err
	},
	"EDD-9181": func(t *testing.T, c calls) error {
		db, err := entity.Open(nil, entity.Config{Table: "t", Clock: func() time.Time { return time.Time{} }})
		require.NoError(t, err)
		_, err = entity.Must(entity.New[parcel](db)).Create(c.ctx, parcel{})
		return err
	},
	"EDD-9182": func(_ *testing.T, c calls) error {
		return c.db.TransactWithToken(c.ctx, entity.Token{ID: "t"}, entity.Must(entity.New[parcel](c.db)).Op().Create(parcel{}))
	},
	"EDD-9240": func(_ *testing.T, c calls) error {
		_, err := c.employees.DeleteAll(c.ctx, nil, "")
		return err
	},
	"EDD-9190": func(_ *testing.T, c calls) error {
		_, err := entity.Must(timeseries.New[journal](c.db)).Get(c.ctx, journal{ID: "j"})
		return err
	},
	"EDD-9191": func(_ *testing.T, c calls) error {
		log := entity.Must(timeseries.New[journal](c.db))
		_, err := log.Append(c.ctx, journal{ID: "j", At: c.now}, entity.If(entity.Exists(&entity.Fields[journal]().Text)))
		return err
	},
	"EDD-9192": func(t *testing.T, c calls) error {
		db, err := entity.Open(nil, entity.Config{Table: "t", Interop: true, TimePrecision: time.Millisecond})
		require.NoError(t, err)
		return entity.Must(timeseries.New[reading](db)).Remove(c.ctx, reading{})
	},
	"EDD-9155": func(t *testing.T, c calls) error {
		byToken, err := entity.Must(entity.New[badge](c.db)).Index("byToken")
		require.NoError(t, err)
		_, err = byToken.Query(badge{Token: "x"}).Page(c.ctx, "")
		return err
	},
	"EDD-9167": func(t *testing.T, c calls) error {
		db, err := entity.Open(nil, entity.Config{Table: "t", MultiRegion: entity.MRSC})
		require.NoError(t, err)
		return db.Transact(c.ctx, entity.Must(entity.New[model](db)).Op().Create(model{Maker: "m", Year: 2024}))
	},
	"EDD-9165": func(_ *testing.T, c calls) error {
		return collect(c, c.employees.Query(employee{EmployeeID: "e-1"}, entity.Hydrate()))
	},
	"EDD-9166": func(_ *testing.T, c calls) error {
		byDepartment := entity.Must(c.employees.Index("byDepartment"))
		return collect(c, byDepartment.QueryAny([]employee{{Department: "d1"}, {Department: "d1"}}))
	},
	"EDD-9188": func(t *testing.T, c calls) error {
		v, err := timeline.New(c.db, timeline.Projection[string, int]{
			Name: "newest", Version: 1, Source: timeline.Series(c.readings), Descending: true,
			Handlers: []timeline.Handler[string, int]{timeline.Ensure[reading, string, int]("reading.appended", func(r reading) string { return r.ID })},
		})
		require.NoError(t, err)
		_, err = v.Apply(c.ctx)
		return err
	},
	"EDD-9189": func(t *testing.T, c calls) error {
		_, err := c.view(t).Apply(c.ctx, stream.Change[reading]{})
		return err
	},
	"EDD-9220": func(_ *testing.T, c calls) error {
		_, err := lease.New(c.db, lease.Options{Duration: time.Second})
		return err
	},
	"EDD-9230": func(_ *testing.T, c calls) error {
		return stream.NewReader(nil, c.db, stream.ReaderOptions{}).Run(c.ctx, stream.On(c.employees, func(context.Context, stream.Change[employee]) error { return nil }))
	},
	"EDD-9221": func(_ *testing.T, c calls) error { return new(lease.Held).Keep(c.ctx, nil) },
	"EDD-9193": func(t *testing.T, c calls) error {
		_, err := c.view(t).JoinJob(c.ctx, nil)
		return err
	},
	"EDD-9194": func(t *testing.T, c calls) error {
		_, err := c.view(t).JoinJob(c.ctx, []byte(`{"view":"readings","definition":"of an older program","generation":"g","fence":1}`))
		return err
	},
	"EDD-9195": func(*testing.T, calls) error {
		var job timeline.Job
		_, err := job.Split(0)
		return err
	},
	"EDD-9150": func(t *testing.T, c calls) error {
		_, _, err := c.view(t).Get(c.ctx, "r-1", timeline.AsOf(time.Unix(1, 0)))
		return err
	},
}

// view returns a view of readings without a partition key.
func (c calls) view(t *testing.T) *timeline.View[string, int] {
	t.Helper()
	v, err := timeline.New(c.db, timeline.Projection[string, int]{
		Name: "readings", Version: 1, Source: timeline.Series(c.readings),
		Handlers: []timeline.Handler[string, int]{timeline.Ensure[reading, string, int]("reading.appended", func(r reading) string { return r.ID })},
	})
	require.NoError(t, err)
	return v
}

var declared = regexp.MustCompile(`(?m)^\s(Code\w+) += "(EDD-91\d\d)"`)

// codes returns the declared codes of arguments: text → constant.
func codes(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../../internal/bind/errors.go")
	require.NoError(t, err)
	found := map[string]string{}
	for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
		found[m[2]] = m[1]
	}
	require.Greater(t, len(found), 40, "the constants were not found")
	return found
}

func TestCalls_ExamplesGiveTheirCodes(t *testing.T) {
	t.Parallel()
	for text, name := range codes(t) {
		if strings.HasPrefix(name, "CodeConsole") { // its own tests have them
			continue
		}
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			example := examples[text]
			require.NotNil(t, example, "no example")
			requireInput(t, text, example(t, newCalls(t)))
		})
	}
}

// refusing is a Validator that refuses everything.
type refusing struct{}

func (refusing) Struct(any) error      { return errors.New("refused") }
func (refusing) Var(any, string) error { return errors.New("refused") }

// requireInput checks that err is an input error with that code.
func requireInput(t *testing.T, code string, err error) {
	t.Helper()
	var bad *entity.InputError
	var invalid *entity.ValidationError
	var deferred *entity.PrepareError
	switch {
	case errors.As(err, &deferred):
		assert.Equal(t, code, deferred.Code, "%v", err)
		assert.NotEmpty(t, deferred.Type)
	case errors.As(err, &invalid):
		assert.Equal(t, code, invalid.Code, "%v", err)
		assert.NotEmpty(t, invalid.Type)
	case errors.As(err, &bad):
		assert.Equal(t, code, bad.Code, "%v", err)
		assert.NotEmpty(t, bad.Type)
		assert.NotEmpty(t, bad.Problem)
	default:
		assert.Fail(t, "no mistake was found", "%s: %v", code, err)
	}
}

// Other mistakes that have these codes.
func TestCalls_OtherMistakesUnderTheSameCodes(t *testing.T) {
	t.Parallel()
	c, e := newCalls(t), entity.Fields[employee]()
	requireInput(t, "EDD-9102", c.create(employee{EmployeeID: "e-1", DisplayName: "A", Salary: math.NaN()}))
	requireInput(t, "EDD-9103", c.update(entity.Remove(&e.DisplayName)))
	requireInput(t, "EDD-9104", c.update(entity.Set(&e.EmployeeID, "e-2")))
	requireInput(t, "EDD-9105", c.update(entity.Attr[string]("nickname").Set("A")))
	requireInput(t, "EDD-9111", c.update(entity.Set(&e.DisplayName, "A"), entity.If(entity.And())))
	requireInput(t, "EDD-9114", c.db.Transact(c.ctx, nil))
	requireInput(t, "EDD-9108", c.db.Transact(c.ctx))
	requireInput(t, "EDD-9108", c.db.Transact(c.ctx, []entity.Op{}...))
	requireInput(t, "EDD-9108", c.db.TransactWithToken(c.ctx, entity.Token{ID: "t"}))
	index, err := c.employees.Index("byDepartment")
	require.NoError(t, err)
	requireInput(t, "EDD-9108", collect(c, index.Query(employee{Department: "Eng"}, entity.Consistent())))
	require.ErrorIs(t, c.create(employee{EmployeeID: "e-1", DisplayName: "A"}), entity.ErrNoClient, "without a mistake only the client is missing")
}
