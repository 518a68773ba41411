package proof_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/versioned"
)

// Kept keeps every state and every deleted copy for ever.
type Kept struct {
	_ entity.Key `name:"Kept" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	Record
}

// Passing keeps them for a while.
type Passing struct {
	_ entity.Key           `name:"Passing" pk:"$#{id}" sk:"$"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	Record
}

// Locked counts versions without keeping states; its writes are single requests.
type Locked struct {
	_ entity.Key `name:"Locked" pk:"$#{id}" sk:"$"`
	_ versioned.Lock
	Record
}

// Record is the content of an entity with versions.
type Record struct {
	ID      string `dynamodbav:"id"`
	Text    string `dynamodbav:"text,omitempty"`
	N       int    `dynamodbav:"n,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// life is what has become of an item.
type life int

const (
	absent life = iota
	live
	deleted
)

// recordState is an item: the state that it is in, and all that it has been in, as "|version=text/n".
type recordState struct {
	life
	recordOut
	past string
}

// recordOut is a state of an item; version 0 for none.
type recordOut struct {
	version int64
	text    string
	n       int
}

func (o recordOut) String() string { return fmt.Sprintf("v%d %s/%d", o.version, o.text, o.n) }

func (o recordOut) note(seen *notes) {
	if o.version > 0 {
		seen.version, seen.text = o.version, o.text
	}
}

type recordIn struct {
	verb   string
	text   string // what it writes
	old    string // what the text has to be, for verbs with a condition
	expect int64  // the version that it expects; -1: none
	n      int64  // the version that it asks for
}

func (in recordIn) String() string {
	s := in.verb
	switch in.verb {
	case "get", "add", "modify", "delete", "restore":
	case "set if", "delete if":
		s += fmt.Sprintf(" %s→%s", in.old, in.text)
	case "version", "revert":
		s += fmt.Sprintf(" %d", in.n)
	default:
		s += " " + in.text
	}
	if in.expect >= 0 {
		s += fmt.Sprintf(" expecting %d", in.expect)
	}
	return s
}

// recordVerbs are the operations on an entity that keeps states; a verb that is there twice is twice as frequent.
var recordVerbs = []string{
	"create", "create", "put", "upsert", "set", "set if", "add", "modify", "delete", "delete", "restore", "restore", "revert", "get", "get", "version",
}

func recordGame[T any](name string, verbs []string, at func(*T) *Record) game[recordState, recordIn, recordOut] {
	retain := len(verbs) == len(recordVerbs)
	return game[recordState, recordIn, recordOut]{
		name: name,
		open: func(db *entity.DB, id string) (func(context.Context, recordIn) (recordOut, error), error) {
			p := &recordPlayer[T]{at: at, id: id}
			var err error
			if p.s, err = entity.New[T](db); err != nil {
				return nil, err
			}
			if retain {
				if p.bin, err = lifecycle.Of(p.s); err == nil {
					p.past, err = versioned.Of(p.s)
				}
			}
			calm(p.s)
			return p.do, err
		},
		choose: func(rng *rand.Rand, seen *notes) recordIn {
			in := recordIn{verb: verbs[rng.IntN(len(verbs))], text: string(rune('a' + rng.IntN(4))), expect: -1, old: seen.text}
			switch in.verb {
			case "version", "revert":
				in.n = 1 + rng.Int64N(seen.version+1)
			case "create", "get", "set if", "delete if", "put over":
				return in
			}
			if in.verb != "version" && seen.version > 0 && rng.IntN(3) == 0 {
				in.expect = seen.version + rng.Int64N(2)
			}
			return in
		},
		reads: func(in recordIn) bool { return in.verb == "get" || in.verb == "version" },
		step:  func(s recordState, in recordIn) (recordState, recordOut, outcome) { return stepRecord(s, in, retain) },
		fits: func(want, got said[recordOut]) bool {
			if want.either != "" && got.class == want.either {
				return true
			}
			// That a copy was there is found out by a read of its own, after which it may have been restored.
			class := got.class == want.class || strings.HasPrefix(want.class, "NotFound") && got.class == strings.Replace(want.class, "+Deleted", "", 1)
			return class && want.out == got.out && want.actual == got.actual
		},
		show: func(s recordState) string { return fmt.Sprintf("%d %v of %s", s.life, s.recordOut, s.past) },
	}
}

// recordPlayer is one client.
type recordPlayer[T any] struct {
	s    *entity.Store[T]
	bin  *lifecycle.Deleted[T]
	past *versioned.History[T]
	at   func(*T) *Record
	id   string
}

func (p *recordPlayer[T]) make(text string) T {
	var v T
	*p.at(&v) = Record{ID: p.id, Text: text}
	return v
}

func (p *recordPlayer[T]) do(ctx context.Context, in recordIn) (recordOut, error) {
	key, f := p.make(""), p.at(entity.Fields[T]())
	var opts []entity.WriteOption
	if in.expect >= 0 {
		opts = append(opts, versioned.Expect(in.expect))
	}
	updates := func(changes ...entity.UpdateOption) []entity.UpdateOption {
		all := changes
		for _, o := range opts {
			all = append(all, o)
		}
		return all
	}
	restores := func() (all []lifecycle.RestoreOption) {
		for _, o := range opts {
			all = append(all, o.(lifecycle.RestoreOption))
		}
		return all
	}
	deletes := func() (all []entity.DeleteOption) {
		for _, o := range opts {
			all = append(all, o)
		}
		return all
	}
	var v T
	var err error
	switch in.verb {
	case "create":
		v, err = p.s.Create(ctx, p.make(in.text)) // which expects no version
	case "put":
		v, err = p.s.Put(ctx, p.make(in.text), opts...)
	case "put over":
		v, err = p.s.Put(ctx, p.make(in.text), versioned.AnyVersion())
	case "upsert":
		v, _, err = p.s.Upsert(ctx, p.make(in.text), updates()...)
	case "set":
		v, err = p.s.Update(ctx, key, updates(entity.Set(&f.Text, in.text))...)
	case "set if":
		v, err = p.s.Update(ctx, key, entity.Set(&f.Text, in.text), entity.If(p.textIs(in.old)))
	case "add":
		v, err = p.s.Update(ctx, key, updates(entity.Add(&f.N, 1))...)
	case "modify":
		v, err = p.s.Modify(ctx, key, func(v *T) error { p.at(v).N += 10; return nil }, opts...)
	case "delete":
		err = p.s.Delete(ctx, key, deletes()...)
	case "delete if":
		err = p.s.Delete(ctx, key, entity.If(p.textIs(in.old)))
	case "restore":
		v, err = p.bin.Restore(ctx, key, restores()...)
	case "revert":
		v, err = p.past.Revert(ctx, key, in.n, opts...)
	case "get":
		if v, err = p.s.Get(ctx, key, entity.Consistent()); errors.Is(err, entity.ErrNotFound) {
			return recordOut{}, nil
		}
	case "version":
		var old versioned.Version[T]
		old, err = p.past.Get(ctx, key, in.n)
		v = old.Item
	}
	if err != nil {
		return recordOut{}, err
	}
	r := p.at(&v)
	return recordOut{r.Version, r.Text, r.N}, nil
}

func (p *recordPlayer[T]) textIs(text string) entity.Cond {
	f := p.at(entity.Fields[T]())
	if text == "" {
		return entity.NotExists(&f.Text)
	}
	return entity.Eq(&f.Text, text)
}

// become is the state with new content, one version on.
func (s recordState) become(l life, text string, n int) recordState {
	s.life, s.text, s.n = l, text, n
	s.version++
	s.past += fmt.Sprintf("|%d=%s/%d", s.version, text, n)
	return s
}

// was is the content of version n.
func (s recordState) was(n int64) (out recordOut, ok bool) {
	for _, e := range strings.Split(s.past, "|") {
		if rest, found := strings.CutPrefix(e, fmt.Sprintf("%d=", n)); found {
			text, count, _ := strings.Cut(rest, "/")
			out = recordOut{version: n, text: text}
			_, err := fmt.Sscan(count, &out.n)
			return out, err == nil
		}
	}
	return recordOut{}, false
}

// stepRecord is what docs/versions.md says of the verbs of an entity with versions.
func stepRecord(s recordState, in recordIn, retain bool) (recordState, recordOut, outcome) {
	refuse := func(class string) (recordState, recordOut, outcome) { return s, recordOut{}, outcome{class: class} }
	differs := in.expect >= 0 && in.expect != s.version
	missing := func() (recordState, recordOut, outcome) {
		class := "NotFound"
		if s.life == deleted {
			class += "+Deleted"
		}
		if in.expect >= 0 {
			class += "+Version"
		}
		return refuse(class)
	}
	text, n := in.text, 0
	switch in.verb {
	case "get":
		if s.life != live {
			return s, recordOut{}, outcome{}
		}
		return s, s.recordOut, outcome{}
	case "version":
		if out, ok := s.was(in.n); ok {
			return s, out, outcome{}
		}
		return refuse("NotFound")
	case "create", "put", "put over", "upsert":
		switch {
		case s.life == live && in.verb == "put" && in.expect < 0 && !retain: // versioned.Lock expects that nothing is stored
			return s, recordOut{}, outcome{class: "Version", actual: s.version}
		case s.life == live && in.verb == "create":
			return refuse("Exists")
		case s.life == live && differs:
			return s, recordOut{}, outcome{class: "Version", actual: s.version}
		case s.life == live:
			if in.verb == "upsert" {
				n = s.n
			}
		case in.expect >= 0:
			return missing()
		case s.life == deleted:
			return refuse("Exists+Deleted")
		default:
			if !retain {
				s.version, s.past = 0, ""
			}
		}
		s = s.become(live, text, n)
		return s, s.recordOut, outcome{}
	case "restore":
		switch {
		case s.life == live:
			return refuse("NotDeleted")
		case s.life == absent && in.expect >= 0:
			return refuse("NotFound+Version")
		case s.life == absent:
			return refuse("NotFound")
		case differs:
			return s, recordOut{}, outcome{class: "Version", actual: s.version}
		}
		s = s.become(live, s.text, s.n)
		return s, s.recordOut, outcome{}
	}
	if s.life != live {
		return missing()
	}
	if differs {
		o := outcome{class: "Version", actual: s.version}
		if _, ok := s.was(in.n); in.verb == "revert" && !ok {
			o.either = "NotFound" // neither is there
		}
		return s, recordOut{}, o
	}
	switch in.verb {
	case "set":
		n = s.n
	case "set if", "delete if":
		n = s.n
		if s.text != in.old {
			return refuse("Condition")
		}
	case "add":
		text, n = s.text, s.n+1
	case "modify":
		text, n = s.text, s.n+10
	case "revert":
		old, ok := s.was(in.n)
		if !ok {
			return refuse("NotFound")
		}
		text, n = old.text, old.n
	}
	if strings.HasPrefix(in.verb, "delete") {
		if !retain {
			return recordState{}, recordOut{}, outcome{}
		}
		s = s.become(deleted, s.text, s.n)
		return s, recordOut{}, outcome{}
	}
	s = s.become(live, text, n)
	return s, s.recordOut, outcome{}
}

// singleVerbs are the operations on an entity whose writes are single requests.
var singleVerbs = []string{"create", "create", "put", "put over", "upsert", "set", "set if", "add", "modify", "delete", "delete if", "get", "get"}

// singleGame is the game of an entity without kept states. A single request has no token, so that a network which delivers it twice or late can do
// harm that no client prevents; which faults are stood is said here, and in docs/production.md.
func singleGame[T any](name string, at func(*T) *Record) game[recordState, recordIn, recordOut] {
	g := recordGame(name, singleVerbs, at)
	g.paired = true
	g.also = func(f faults.Fault, in recordIn) bool {
		if f != faults.Twice {
			return true
		}
		return in.expect >= 0 && in.verb != "delete" || slices.Contains([]string{"create", "modify"}, in.verb)
	}
	return g
}
