package proof_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/versioned"
)

// Ledger has the last number that was given. It has no version: its caller's condition is the only guard.
type Ledger struct {
	_    entity.Key `name:"Ledger" pk:"$#{id}" sk:"$"`
	ID   string     `dynamodbav:"id"`
	Last int        `dynamodbav:"last"`
}

// Invoice has a number.
type Invoice struct {
	_      entity.Key `name:"Invoice" pk:"$#{id}" sk:"$#{number:04}"`
	ID     string     `dynamodbav:"id"`
	Number int        `dynamodbav:"number"`
}

// numberIn issues the next invoice, or asks whether one exists.
type numberIn struct {
	verb   string
	number int
}

func (in numberIn) String() string { return fmt.Sprintf("%s %d", in.verb, in.number) }

type numberPlayer struct {
	db       *entity.DB
	ledgers  *entity.Store[Ledger]
	invoices *entity.Store[Invoice]
	id       string
}

// numberGame is the game of a gapless counter: the state is the last number, and invoices have the numbers up to it.
func numberGame(name string) game[int, numberIn, int] {
	return game[int, numberIn, int]{
		name: name,
		open: func(db *entity.DB, id string) (func(context.Context, numberIn) (int, error), error) {
			p := &numberPlayer{db: db, id: id, ledgers: entity.Must(entity.New[Ledger](db)), invoices: entity.Must(entity.New[Invoice](db))}
			calm(p.ledgers)
			return p.do, nil
		},
		choose: func(rng *rand.Rand, _ *notes) numberIn {
			return numberIn{[]string{"issue", "issue", "issue", "last", "exists"}[rng.IntN(5)], 1 + rng.IntN(12)}
		},
		reads: func(in numberIn) bool { return in.verb != "issue" },
		step: func(last int, in numberIn) (int, int, outcome) {
			switch in.verb {
			case "issue":
				return last + 1, last + 1, outcome{}
			case "last":
				return last, last, outcome{}
			}
			return last, min(1, max(0, last-in.number+1)), outcome{}
		},
		fits: func(want, got said[int]) bool { return want.out == got.out && want.class == got.class },
		show: func(last int) string { return fmt.Sprint(last) },
	}
}

func (p *numberPlayer) do(ctx context.Context, in numberIn) (number int, err error) {
	switch in.verb {
	case "last", "exists":
		got, err := p.invoices.GetMany(ctx, []Invoice{{ID: p.id, Number: in.number}}, entity.Consistent())
		if in.verb == "exists" || err != nil {
			if err == nil && got[0] != nil {
				number = 1
			}
			return number, err
		}
		ledger, err := p.ledger(ctx, entity.Consistent())
		return ledger.Last, err
	}
	f := entity.Fields[Ledger]()
	err = p.db.TransactFunc(ctx, func(ctx context.Context) ([]entity.Op, error) {
		ledger, err := p.ledger(ctx)
		if err != nil {
			return nil, err
		}
		number = ledger.Last + 1
		next := p.ledgers.Op().Update(ledger, entity.Set(&f.Last, number), entity.If(entity.Eq(&f.Last, ledger.Last)))
		if number == 1 {
			next = p.ledgers.Op().Create(Ledger{ID: p.id, Last: 1})
		}
		return []entity.Op{next, p.invoices.Op().Create(Invoice{ID: p.id, Number: number})}, nil
	})
	return number, err
}

// ledger returns the ledger, or the zero value before it is written.
func (p *numberPlayer) ledger(ctx context.Context, opts ...entity.GetOption) (Ledger, error) {
	ledger, err := p.ledgers.Get(ctx, Ledger{ID: p.id}, opts...)
	if errors.Is(err, entity.ErrNotFound) {
		return Ledger{ID: p.id}, nil
	}
	return ledger, err
}

// Customer counts its seats, and keeps its states.
type Customer struct {
	_       entity.Key       `name:"Customer" pk:"$#{id}" sk:"$"`
	_       versioned.Retain `ttl:"90d"`
	ID      string           `dynamodbav:"id"`
	Seats   int              `dynamodbav:"seats"`
	Version int64            `dynamodbav:"version" entity:"version"`
}

// Seat is of a customer.
type Seat struct {
	_      entity.Key `name:"Seat" pk:"$#{id}" sk:"$#{number}"`
	ID     string     `dynamodbav:"id"`
	Number int        `dynamodbav:"number"`
}

// A customer has mostSeats of the seats.
const (
	seats     = 5
	mostSeats = 2
)

// seatIn takes a seat, of 1 to seats, gives it up, or counts those that are taken.
type seatIn struct {
	verb string
	seat int
}

func (in seatIn) String() string { return fmt.Sprintf("%s %d", in.verb, in.seat) }

var errNoSeat = errors.New("all seats are taken")

type seatPlayer struct {
	db        *entity.DB
	customers *entity.Store[Customer]
	seats     *entity.Store[Seat]
	id        string
}

// seatGame is the game of at most so many items of a customer. The state has the seats that are taken.
func seatGame(name string) game[[seats]bool, seatIn, int] {
	taken := func(s [seats]bool) (n int) {
		for _, is := range s {
			if is {
				n++
			}
		}
		return n
	}
	return game[[seats]bool, seatIn, int]{
		name: name,
		open: func(db *entity.DB, id string) (func(context.Context, seatIn) (int, error), error) {
			p := &seatPlayer{db: db, id: id, customers: entity.Must(entity.New[Customer](db)), seats: entity.Must(entity.New[Seat](db))}
			calm(p.customers)
			return p.do, nil
		},
		choose: func(rng *rand.Rand, _ *notes) seatIn {
			return seatIn{[]string{"take", "take", "take", "leave", "count"}[rng.IntN(5)], 1 + rng.IntN(seats)}
		},
		reads: func(in seatIn) bool { return in.verb == "count" },
		step: func(s [seats]bool, in seatIn) ([seats]bool, int, outcome) {
			switch n := taken(s); {
			case in.verb == "count":
				return s, n, outcome{}
			case in.verb == "take" && n >= mostSeats:
				return s, -1, outcome{}
			case in.verb == "take" && s[in.seat-1]:
				return s, 0, outcome{class: "Exists"}
			case in.verb == "leave" && !s[in.seat-1]:
				return s, 0, outcome{class: "NotFound"}
			}
			s[in.seat-1] = in.verb == "take"
			return s, 0, outcome{}
		},
		fits: func(want, got said[int]) bool { // the customer may have changed as well
			return want.out == got.out && (want.class == got.class || want.class != "" && strings.HasPrefix(got.class, want.class))
		},
		show: func(s [seats]bool) string { return fmt.Sprint(s) },
	}
}

func (p *seatPlayer) do(ctx context.Context, in seatIn) (int, error) {
	if in.verb == "count" {
		n, err := p.seats.Query(Seat{ID: p.id}, entity.Consistent()).Count(ctx)
		return n, err
	}
	f := entity.Fields[Customer]()
	err := p.db.TransactFunc(ctx, func(ctx context.Context) ([]entity.Op, error) {
		c, err := p.customers.Get(ctx, Customer{ID: p.id})
		none := errors.Is(err, entity.ErrNotFound)
		switch {
		case err != nil && !none:
			return nil, err
		case in.verb == "take" && c.Seats >= mostSeats:
			return nil, errNoSeat
		}
		by, seat := 1, entity.Op(p.seats.Op().Create(Seat{ID: p.id, Number: in.seat}))
		if in.verb == "leave" {
			by, seat = -1, p.seats.Op().Delete(Seat{ID: p.id, Number: in.seat})
		}
		if none {
			return []entity.Op{p.customers.Op().Create(Customer{ID: p.id, Seats: by}), seat}, nil
		}
		return []entity.Op{p.customers.Op().Update(c, entity.Set(&f.Seats, c.Seats+by), versioned.Expect(c.Version)), seat}, nil
	})
	if errors.Is(err, errNoSeat) {
		return -1, nil
	}
	return 0, err
}
