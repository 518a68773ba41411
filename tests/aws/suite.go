package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Person has every feature of one item.
type Person struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$" stream:"both"`
	_ entity.GSI           `name:"active" index:"gsi1" pk:"$" sk:"$#{name}" when:"state=active" shards:"2"`
	_ versioned.Retain     `ttl:"1d"`
	_ lifecycle.SoftDelete `ttl:"1d"`
	_ unique.Constraint    `name:"email" fields:"{email|lower}"`

	ID      string    `dynamodbav:"id"`
	Name    string    `dynamodbav:"name" entity:"required"`
	Email   string    `dynamodbav:"email"`
	State   string    `dynamodbav:"state" entity:"default=active"`
	Visits  int       `dynamodbav:"visits"`
	Seen    time.Time `dynamodbav:"seen,omitempty"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
	By      string    `dynamodbav:"by" entity:"context=actor"`
	Version int64     `dynamodbav:"version" entity:"version"`
}

// Indexed is the same table with an index more.
type Indexed struct {
	_ entity.Key `name:"Indexed" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byColour" index:"gsi2" pk:"$#{colour}" sk:"$#{id}"`

	ID     string `dynamodbav:"id"`
	Colour string `dynamodbav:"colour"`
}

// Plain has no feature.
type Plain struct {
	_ entity.Key `name:"Plain" pk:"$#{group}" sk:"$#{id:04}"`

	Group string `dynamodbav:"group"`
	ID    int    `dynamodbav:"id"`
	Text  string `dynamodbav:"text"`
}

// Reading is a series.
type Reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" ttl:"1d" late:"record"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Level  *int      `dynamodbav:"level,omitempty" entity:"append"`
}

// Slow is in a table of one unit a second.
type Slow struct {
	_ entity.Key `name:"Slow" table:"slow" pk:"$#{id}" sk:"$"`

	ID   string `dynamodbav:"id"`
	Text string `dynamodbav:"text"`
}

// suite is one run. It is a tracer that adds up what its calls cost.
type suite struct {
	prefix  string
	client  *dynamodb.Client
	streams *dynamodbstreams.Client

	db       *entity.DB
	people   *entity.Store[Person]
	plain    *entity.Store[Plain]
	slow     *entity.Store[Slow]
	readings *timeseries.Series[Reading]
	deleted  *lifecycle.Deleted[Person]
	history  *versioned.History[Person]
	byEmail  *unique.Lookup[Person]

	mu  sync.Mutex
	sum sum
}

type sum struct {
	calls, requests, throttled int
	read, write                float64
}

func (s *suite) Start(ctx context.Context, _ entity.Call) context.Context { return ctx }
func (s *suite) Request(context.Context, entity.Attempt)                  {}
func (s *suite) End(_ context.Context, r entity.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum.calls, s.sum.requests, s.sum.throttled = s.sum.calls+1, s.sum.requests+r.Requests, s.sum.throttled+r.Attempts.Throttled
	s.sum.read, s.sum.write = s.sum.read+r.ReadUnits, s.sum.write+r.WriteUnits
}

func (s *suite) spent() sum {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum
}

type step struct {
	name   string
	needed bool // the others make no sense without it
	do     func(context.Context) error
}

func (s *suite) steps() []step {
	return []step{
		{"declare", true, s.declare},
		{"tables, TTL, stream, indexes", true, func(ctx context.Context) error { return tables.Create(ctx, s.db) }},
		{"compare with the declarations", false, func(ctx context.Context) error { return tables.Verify(ctx, s.db) }},
		{"verbs of one item", false, s.verbs},
		{"versions, soft delete, unique values", false, s.features},
		{"conditional index over 2 partitions", false, s.index},
		{"time series", false, s.series},
		{"transactions", false, s.transactions},
		{"batches, DeleteAll", false, s.many},
		{"lease with a fence", false, s.lease},
		{"stream", false, s.stream},
		{"throttling by low capacity", false, s.throttled},
		{"index on a live table", false, s.liveIndex},
	}
}

func (s *suite) declare(context.Context) (err error) {
	s.db, err = entity.Open(s.client, entity.Config{
		Table: s.prefix + "main", Tables: map[string]string{"slow": s.prefix + "slow"}, Tracer: s,
		TableOptions: map[string]entity.TableOptions{"slow": {Provisioned: &entity.Throughput{Read: 1, Write: 1}}},
		FromContext:  func(context.Context, string) (string, bool) { return "suite", true },
	})
	if err != nil {
		return err
	}
	var errs [7]error
	s.people, errs[0] = entity.New[Person](s.db)
	s.plain, errs[1] = entity.New[Plain](s.db)
	s.slow, errs[2] = entity.New[Slow](s.db)
	s.readings, errs[3] = timeseries.New[Reading](s.db)
	s.deleted, errs[4] = lifecycle.Of(s.people)
	s.history, errs[5] = versioned.Of(s.people)
	s.byEmail, errs[6] = unique.Of(s.people, "email")
	return errors.Join(errs[:]...)
}

// check returns the first error, or that what does not hold.
func check(what string, holds bool, errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if !holds {
		return errors.New(what + ": another result")
	}
	return nil
}

// want is nil if err is of the wanted class.
func want(err, class error) error {
	if errors.Is(err, class) {
		return nil
	}
	return fmt.Errorf("%w was expected: %w", class, err)
}

func (s *suite) verbs(ctx context.Context) error {
	f, key := entity.Fields[Plain](), Plain{Group: "verbs", ID: 1}
	v, err := s.plain.Create(ctx, Plain{Group: "verbs", ID: 1, Text: "a"})
	_, again := s.plain.Create(ctx, v)
	_, refused := s.plain.Update(ctx, key, entity.Set(&f.Text, "x"), entity.If(entity.Eq(&f.Text, "z")))
	v, err1 := s.plain.Update(ctx, key, entity.Set(&f.Text, "b"), entity.If(entity.Eq(&f.Text, "a")))
	v, err2 := s.plain.Put(ctx, Plain{Group: "verbs", ID: 1, Text: v.Text + "c"})
	v, created, err3 := s.plain.Upsert(ctx, Plain{Group: "verbs", ID: 1, Text: v.Text + "d"})
	v, err4 := s.plain.Modify(ctx, key, func(p *Plain) error { p.Text += "e"; return nil })
	got, err5 := s.plain.Get(ctx, key, entity.Consistent())
	err6 := s.plain.Delete(ctx, key)
	return check("verbs", got.Text == "bcde" && v == got && !created, err, want(again, entity.ErrExists), want(refused, entity.ErrConditionFailed), err1, err2, err3, err4, err5, err6,
		want(s.plain.Delete(ctx, key), entity.ErrNotFound))
}

func (s *suite) features(ctx context.Context) error {
	f, key := entity.Fields[Person](), Person{ID: "p-1"}
	_, err := s.people.Create(ctx, Person{ID: "p-1", Name: "Ada", Email: "Ada@x"})
	_, taken := s.people.Create(ctx, Person{ID: "p-2", Name: "Bob", Email: "aDA@X"})
	_, err1 := s.people.Update(ctx, key, entity.Add(&f.Visits, 2), versioned.Expect(1))
	touched, err2 := s.people.Touch(ctx, key, &f.Seen, time.Hour)
	_, err3 := s.history.Revert(ctx, key, 1)
	err4 := s.people.Delete(ctx, key, entity.Set(&f.State, "left"))
	v, err5 := s.deleted.Restore(ctx, key, entity.Set(&f.State, "active"))
	states, err6 := s.history.List(key, versioned.WithCurrent()).Collect(ctx)
	found, err7 := s.byEmail.Find(ctx, Person{Email: "ADA@x"})
	if violation := new(unique.ViolationError); !errors.As(taken, &violation) {
		return fmt.Errorf("a violation was expected: %w", taken)
	}
	return check("features", touched && v.Version == 5 && len(states) == 5 && found.ID == "p-1" && found.By == "suite", err, err1, err2, err3, err4, err5, err6, err7)
}

func (s *suite) index(ctx context.Context) error {
	for n := range 4 {
		if _, err := s.people.Create(ctx, Person{ID: fmt.Sprint("i-", n), Name: fmt.Sprint("N", n), Email: fmt.Sprint(n, "@i")}); err != nil {
			return err
		}
	}
	f := entity.Fields[Person]()
	if _, err := s.people.Update(ctx, Person{ID: "i-2"}, entity.Set(&f.State, "away")); err != nil {
		return err
	}
	active, err := s.people.Index("active")
	if err != nil {
		return err
	}
	return eventually(ctx, func() (bool, error) {
		found, err := active.Query(Person{}, entity.Ge(&f.Name, "N")).Collect(ctx)
		return len(found) == 3 && found[0].Name == "N0" && found[2].Name == "N3", err
	})
}

// eventually asks until the answer is yes.
func eventually(ctx context.Context, ask func() (bool, error)) error {
	for {
		switch yes, err := ask(); {
		case err != nil || yes:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (s *suite) series(ctx context.Context) error {
	at, level := time.Now().UTC().Truncate(time.Second), func(n int) *int { return &n }
	first, err := s.readings.Append(ctx, Reading{Device: "d", At: at, Level: level(1)})
	late, err1 := s.readings.Append(ctx, Reading{Device: "d", At: at.Add(-time.Minute), Level: level(0)})
	var more []Reading
	for n := range 20 {
		more = append(more, Reading{Device: "d", At: at.Add(time.Duration(n+1) * time.Second), Level: level(n)})
	}
	appended, err2 := s.readings.AppendAll(ctx, more)
	lost := slices.ContainsFunc(appended, func(r timeseries.Result[Reading]) bool { return !r.Applied })
	all, err3 := s.readings.History(Reading{Device: "d"}).Collect(ctx)
	return check("series", first.Applied && !late.Applied && !lost && len(all) == 22, err, err1, err2, err3)
}

func (s *suite) transactions(ctx context.Context) error {
	f := entity.Fields[Person]()
	ops := func() []entity.Op {
		return []entity.Op{s.plain.Op().Create(Plain{Group: "t", ID: 1}), s.people.Op().Update(Person{ID: "p-1"}, entity.Add(&f.Visits, 1))}
	}
	err, again := s.db.Transact(ctx, ops()...), s.db.Transact(ctx, ops()...)
	token := entity.Token{ID: fmt.Sprint("suite-", time.Now().UnixNano()), At: time.Now()}
	once := func() error { return s.db.TransactWithToken(ctx, token, s.plain.Op().Create(Plain{Group: "t", ID: 2})) }
	return check("transactions", true, err, want(again, entity.ErrExists), once(), once())
}

func (s *suite) many(ctx context.Context) error {
	var all []Plain
	for n := range 60 {
		all = append(all, Plain{Group: "many", ID: n + 1, Text: strings.Repeat("x", 100)})
	}
	_, err := s.plain.PutMany(ctx, all)
	found, err1 := s.plain.GetMany(ctx, all, entity.Consistent())
	gone, err2 := s.plain.DeleteAll(ctx, s.plain.Query(Plain{Group: "many"}, entity.Consistent()), "")
	left, err3 := s.plain.Query(Plain{Group: "many"}, entity.Consistent()).Count(ctx)
	return check("many", len(found) == 60 && gone.Deleted == 60 && left == 0, err, err1, err2, err3)
}

func (s *suite) lease(ctx context.Context) error {
	leases, err := lease.New(s.db, lease.Options{})
	if err != nil {
		return err
	}
	held, err := leases.Acquire(ctx, "suite")
	if err != nil {
		return err
	}
	_, taken := leases.Acquire(ctx, "suite")
	put := func() error { return s.db.Transact(ctx, held.Op(), s.plain.Op().Put(Plain{Group: "lease", ID: 1})) }
	err1, err2, err3 := put(), held.Renew(ctx), held.Release(ctx)
	return check("lease", true, want(taken, lease.ErrTaken), err1, err2, err3, want(put(), lease.ErrLost))
}

// stream reads what was written so far.
func (s *suite) stream(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, 3*time.Minute)
	defer stop()
	kinds, mu := map[stream.Kind]int{}, sync.Mutex{}
	reader := stream.NewReader(s.streams, s.db, stream.ReaderOptions{Name: "suite"})
	err := reader.Run(ctx, stream.On(s.people, func(_ context.Context, c stream.Change[Person]) error {
		mu.Lock()
		defer mu.Unlock()
		if kinds[c.Kind]++; kinds[stream.SoftDeleted] > 0 && kinds[stream.Restored] > 0 && kinds[stream.Created] >= 5 {
			stop()
		}
		return nil
	}))
	return check("stream", kinds[stream.Restored] > 0, err)
}

// throttled writes more than its table takes. Each write succeeds, or says that the budget of retries is spent.
func (s *suite) throttled(ctx context.Context) error {
	var wg sync.WaitGroup
	errs := make([]error, 40)
	for n := range errs {
		wg.Go(func() {
			for m := range 10 {
				_, err := s.slow.Put(ctx, Slow{ID: fmt.Sprint(n, "-", m), Text: strings.Repeat("x", 900)})
				if err != nil && !errors.Is(err, entity.ErrRetryBudget) {
					errs[n] = err
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (s *suite) liveIndex(ctx context.Context) error {
	indexed, err := entity.New[Indexed](s.db)
	if err != nil {
		return err
	}
	if err := tables.Create(ctx, s.db, tables.AddIndexes()); err != nil {
		return err
	}
	if _, err := indexed.Create(ctx, Indexed{ID: "x", Colour: "red"}); err != nil {
		return err
	}
	byColour, err := indexed.Index("byColour")
	if err != nil {
		return err
	}
	return eventually(ctx, func() (bool, error) {
		n, err := byColour.Query(Indexed{Colour: "red"}).Count(ctx)
		return n == 1, err
	})
}
