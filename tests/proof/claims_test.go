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
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Plain is deleted for good.
type Plain struct {
	_ entity.Key        `name:"Plain" pk:"$#{id}" sk:"$"`
	_ unique.Constraint `name:"email" fields:"email"`
	Member
}

// Freed gives its value up when it is deleted.
type Freed struct {
	_ entity.Key `name:"Freed" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	Member
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Reserved keeps its value while it is deleted.
type Reserved struct {
	_ entity.Key           `name:"Reserved" pk:"$#{id}" sk:"$"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Member
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Member is an entity with a unique value.
type Member struct {
	ID    string `dynamodbav:"id"`
	Email string `dynamodbav:"email,omitempty"`
}

// members is how many entities compete for values.
const members = 4

// member is one of them, and its value; "" for none.
type member struct {
	life
	value string
}

type claimState [members]member

// holder is who has a value; -1 for none.
func (s claimState) holder(value string, reserve bool) int {
	return slices.IndexFunc(s[:], func(m member) bool {
		return value != "" && m.value == value && (m.life == live || m.life == deleted && reserve)
	})
}

type claimIn struct {
	verb         string
	id, other    int
	value, still string // what it claims, or asks for; of a swap, what id has and what other has
}

func (in claimIn) String() string {
	switch in.verb {
	case "find":
		return "find " + in.value
	case "swap":
		return fmt.Sprintf("swap %s of %d with %s of %d", in.value, in.id, in.still, in.other)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", in.verb, in.id, in.value))
}

// claimOut is what a get or find says: whether there is an item, which, and its value.
type claimOut struct {
	found bool
	id    int
	value string
}

func (o claimOut) String() string {
	if !o.found {
		return "–"
	}
	return fmt.Sprintf("%d %s", o.id, o.value)
}

var claimVerbs = []string{"create", "create", "set", "set", "clear", "swap", "delete", "find", "find", "get"}

// claimRules say which kind of entity competes.
type claimRules struct{ soft, reserve bool }

func claimGame[T any](name string, rules claimRules, at func(*T) *Member) game[claimState, claimIn, claimOut] {
	verbs := claimVerbs
	if rules.soft {
		verbs = append(slices.Clone(verbs), "restore", "restore")
	}
	return game[claimState, claimIn, claimOut]{
		name: name,
		open: func(db *entity.DB, id string) (func(context.Context, claimIn) (claimOut, error), error) {
			p := &claimPlayer[T]{db: db, at: at, id: id}
			var err error
			if p.s, err = entity.New[T](db); err != nil {
				return nil, err
			}
			calm(p.s)
			if rules.soft {
				if p.bin, err = lifecycle.Of(p.s); err != nil {
					return nil, err
				}
			}
			p.emails, err = unique.Of(p.s, "email")
			return p.do, err
		},
		choose: func(rng *rand.Rand, _ *notes) claimIn {
			value := func() string { return string(rune('a' + rng.IntN(3))) }
			in := claimIn{verb: verbs[rng.IntN(len(verbs))], id: rng.IntN(members)}
			switch in.verb {
			case "create", "set":
				in.value = value()
			case "find":
				in.id, in.value = 0, value()
			case "swap":
				in.other = (in.id + 1 + rng.IntN(members-1)) % members
				in.value, in.still = value(), value()
				if in.value == in.still {
					in.still = string(rune('a' + (in.value[0]-'a'+1)%3))
				}
			}
			return in
		},
		reads: func(in claimIn) bool { return in.verb == "find" || in.verb == "get" },
		step:  func(s claimState, in claimIn) (claimState, claimOut, outcome) { return stepClaim(s, in, rules) },
		fits:  fitsClaim,
		show:  func(s claimState) string { return fmt.Sprint(s) },
	}
}

// claimPlayer is one client.
type claimPlayer[T any] struct {
	db     *entity.DB
	s      *entity.Store[T]
	bin    *lifecycle.Deleted[T]
	emails *unique.Lookup[T]
	at     func(*T) *Member
	id     string
}

func (p *claimPlayer[T]) make(id int, value string) T {
	var v T
	*p.at(&v) = Member{ID: fmt.Sprintf("%s-%d", p.id, id)}
	if value != "" {
		p.at(&v).Email = p.id + "-" + value
	}
	return v
}

// read is what a member is in the model.
func (p *claimPlayer[T]) read(v T, err error) (claimOut, error) {
	if errors.Is(err, entity.ErrNotFound) {
		return claimOut{}, nil
	}
	if err != nil {
		return claimOut{}, err
	}
	m := p.at(&v)
	out := claimOut{found: true, value: strings.TrimPrefix(m.Email, p.id+"-")}
	_, err = fmt.Sscanf(m.ID, p.id+"-%d", &out.id)
	return out, err
}

func (p *claimPlayer[T]) do(ctx context.Context, in claimIn) (claimOut, error) {
	f, key := p.at(entity.Fields[T]()), p.make(in.id, "")
	email := func(value string) string { v := p.make(0, value); return p.at(&v).Email }
	var err error
	switch in.verb {
	case "create":
		_, err = p.s.Create(ctx, p.make(in.id, in.value))
	case "set":
		_, err = p.s.Update(ctx, key, entity.Set(&f.Email, email(in.value)))
	case "clear":
		_, err = p.s.Update(ctx, key, entity.Remove(&f.Email))
	case "delete":
		err = p.s.Delete(ctx, key)
	case "restore":
		_, err = p.bin.Restore(ctx, key)
	case "swap":
		give := func(id int, from, to string) entity.Op {
			return p.s.Op().Update(p.make(id, ""), entity.Set(&f.Email, email(to)), entity.If(entity.Eq(&f.Email, email(from))))
		}
		err = p.db.Transact(ctx, give(in.id, in.value, in.still), give(in.other, in.still, in.value))
	case "find":
		return p.read(p.emails.Find(ctx, p.make(0, in.value)))
	case "get":
		return p.read(p.s.Get(ctx, key, entity.Consistent()))
	}
	return claimOut{}, err
}

// stepClaim is what docs/unique.md says of unique values.
func stepClaim(s claimState, in claimIn, rules claimRules) (claimState, claimOut, outcome) {
	refuse := func(class string) (claimState, claimOut, outcome) { return s, claimOut{}, outcome{class: class} }
	claim := func(value string) (claimState, claimOut, outcome) {
		if by := s.holder(value, rules.reserve); by >= 0 && by != in.id {
			return s, claimOut{}, outcome{class: "Taken", owner: fmt.Sprintf("-%d", by)}
		}
		s[in.id] = member{live, value}
		return s, claimOut{}, outcome{}
	}
	me := s[in.id]
	switch in.verb {
	case "find":
		if by := s.holder(in.value, false); by >= 0 {
			return s, claimOut{true, by, in.value}, outcome{}
		}
		return s, claimOut{}, outcome{}
	case "get":
		if me.life != live {
			return s, claimOut{}, outcome{}
		}
		return s, claimOut{true, in.id, me.value}, outcome{}
	case "create":
		switch me.life {
		case live:
			return refuse("Exists")
		case deleted: // that there is a copy is found out by a read of its own, before or after which another may take the value
			if by := s.holder(in.value, rules.reserve); by >= 0 && by != in.id {
				return s, claimOut{}, outcome{class: "Exists+Deleted", either: "Taken", owner: fmt.Sprintf("-%d", by)}
			}
			return refuse("Exists+Deleted")
		}
		return claim(in.value)
	case "restore":
		switch me.life {
		case live:
			return refuse("NotDeleted")
		case absent:
			return refuse("NotFound")
		}
		return claim(me.value)
	case "swap":
		if why := s.against(in, in.id, in.value, in.still, rules) + s.against(in, in.other, in.still, in.value, rules); why != "" {
			return refuse(why)
		}
		s[in.id].value, s[in.other].value = in.still, in.value
		return s, claimOut{}, outcome{}
	}
	switch me.life {
	case absent:
		return refuse("NotFound")
	case deleted:
		return refuse("NotFound+Deleted")
	}
	switch in.verb {
	case "set":
		return claim(in.value)
	case "clear":
		s[in.id].value = ""
	case "delete":
		s[in.id] = member{}
		if rules.soft {
			s[in.id] = member{deleted, me.value}
		}
	}
	return s, claimOut{}, outcome{}
}

// against is what stands against one half of a swap: that a member with the value has becomes one with the value wants.
func (s claimState) against(in claimIn, id int, has, wants string, rules claimRules) string {
	why := ""
	switch {
	case s[id].life == absent:
		return "NotFound "
	case s[id].life == deleted:
		return "NotFound Deleted "
	case s[id].value != has:
		why = "Condition "
	}
	if by := s.holder(wants, rules.reserve); by >= 0 && by != in.id && by != in.other {
		why += "Taken "
	}
	return why
}

func fitsClaim(want, got said[claimOut]) bool {
	if strings.HasSuffix(want.class, " ") { // of a swap: each reason that is given is one of these
		for _, c := range strings.Split(got.class, "+") {
			if !slices.Contains(strings.Fields(want.class), c) {
				return false
			}
		}
		return true
	}
	// That a copy was there is found out by a read of its own, after which it may have been restored.
	if want.either != "" && got.class == want.class {
		return true
	}
	class := got.class == want.class || want.either != "" && got.class == want.either || strings.HasPrefix(want.class, "NotFound") && got.class == strings.Replace(want.class, "+Deleted", "", 1)
	return class && want.out == got.out && strings.HasSuffix(got.owner, want.owner)
}
