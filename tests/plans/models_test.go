package plans_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Body has the attributes that all entities of this package share.
type Body struct {
	ID        string    `dynamodbav:"id"`
	Team      string    `dynamodbav:"team,omitempty"`
	Rank      int       `dynamodbav:"rank,omitempty"`
	Email     string    `dynamodbav:"email,omitempty"`
	Name      string    `dynamodbav:"name,omitempty"`
	Count     int       `dynamodbav:"count,omitempty"`
	Log       []string  `dynamodbav:"log,omitempty"`
	Owner     string    `dynamodbav:"owner,omitempty" entity:"immutable"`
	Seen      time.Time `dynamodbav:"seen,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// body is the Body in v.
func body[T any](v *T) *Body {
	return reflect.ValueOf(v).Elem().FieldByName("Body").Addr().Interface().(*Body)
}

// as makes a T of the Body in it.
func as[T any](b Body) T {
	var v T
	*body(&v) = b
	return v
}

// Plain declares nothing but keys; a change of one part of its index partition needs the other.
type Plain struct {
	_ entity.Key `name:"Plain" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}#{rank}" sk:"$#{id}"`
	Body
}

// Spread is a Plain whose index partitions are four each.
type Spread struct {
	_ entity.Key `name:"Spread" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}#{rank}" sk:"$#{id}" shards:"4"`

	Body
}

// Conditional is in its index while it is red or blue and was not seen; of the parts of the key only one is in the primary key.
type Conditional struct {
	_ entity.Key `name:"Conditional" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"unseen" index:"gsi1" pk:"$#{id}" sk:"$#{rank}" when:"team=red|blue,!seen"`
	_ entity.GSI `name:"named" index:"gsi2" pk:"$#{name}" when:"count=1"`
	Body
}

// Verbatim has a key of an existing table, where nothing but the key separates its items from others.
type Verbatim struct {
	_ entity.Key `name:"Verbatim" pk:"pk=box_{id}" sk:"sk=item"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"team" sk:"rank"`
	Body
}

// Locked expects the version of the given struct.
type Locked struct {
	_ entity.Key `name:"Locked" pk:"$#{id}" sk:"$"`
	_ versioned.Lock
	Body
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Retained keeps a snapshot of every state.
type Retained struct {
	_ entity.Key `name:"Retained" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	Body
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Deletable keeps a copy of what is deleted.
type Deletable struct {
	_ entity.Key           `name:"Deletable" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	Body
}

// Expiring is removed an hour after its last write.
type Expiring struct {
	_ entity.Key    `name:"Expiring" pk:"$#{id}" sk:"$"`
	_ lifecycle.TTL `attr:"ends" after:"1h"`
	Body
	Ends time.Time `dynamodbav:"ends,omitempty" entity:"time=unix"`
}

// Leased is removed an hour after it was created or put. Until then it has an email that no other item has, and it has a
// history.
type Leased struct {
	_ entity.Key        `name:"Leased" pk:"$#{id}" sk:"$"`
	_ lifecycle.TTL     `attr:"ends" after:"1h"`
	_ unique.Constraint `name:"email" fields:"email"`
	_ versioned.Retain  `ttl:"90d"`
	Body
	Ends    time.Time `dynamodbav:"ends,omitempty" entity:"time=unix"`
	Version int64     `dynamodbav:"version" entity:"version"`
}

// Unique has an email that no other item has.
type Unique struct {
	_ entity.Key        `name:"Unique" pk:"$#{id}" sk:"$"`
	_ unique.Constraint `name:"email" fields:"email"`
	Body
}

// Freed gives its values up when it is deleted. Its history and its copies last.
type Freed struct {
	_ entity.Key `name:"Freed" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	_ unique.Constraint `name:"place" fields:"team,name"` // sparse
	Body
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Reserving has versions without a history, and copies that keep its value.
type Reserving struct {
	_ entity.Key `name:"Reserving" pk:"$#{id}" sk:"$"`
	_ versioned.Lock
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Body
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Everything has all features of one item.
type Everything struct {
	_ entity.Key `name:"Everything" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_ versioned.Lock
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ unique.Constraint    `name:"place" fields:"team,rank" ttl:"1h"`
	Body
	Version int64     `dynamodbav:"version" entity:"version"`
	Removed time.Time `dynamodbav:"removed,omitempty" entity:"deleted_at,time=s"`
}

// Bystander is another entity of the table.
type Bystander struct {
	_  entity.Key `name:"Bystander" pk:"$#{id}" sk:"$"`
	ID string     `dynamodbav:"id"`
}

// lease expires a day after its last change, and an index lists leases by that time.
type lease struct {
	_ entity.Key    `name:"Lease" pk:"$#{id}" sk:"$"`
	_ entity.GSI    `name:"byChange" index:"gsi1" pk:"$#{owner}" sk:"$#{updatedAt}"`
	_ lifecycle.TTL `attr:"ends" from:"updatedAt" after:"24h"`

	ID        string    `dynamodbav:"id"`
	Owner     string    `dynamodbav:"owner,omitempty"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// A write is bound once and can be sent at any time: what follows from the clock is that of each plan.
func TestPlan_FollowsTheClockOfEachRun(t *testing.T) {
	t.Parallel()
	f := entity.Fields[lease]()
	for name, write := range map[string]func(*entity.Ops[lease]) entity.Op{
		"Update": func(o *entity.Ops[lease]) entity.Op { return o.Update(lease{ID: "a"}, entity.Set(&f.Owner, "ann")) },
		"Upsert": func(o *entity.Ops[lease]) entity.Op { return o.Upsert(lease{ID: "a", Owner: "ann"}) },
		"Put":    func(o *entity.Ops[lease]) entity.Op { return o.Put(lease{ID: "a", Owner: "ann"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2101, 5, 6, 7, 8, 9, 0, time.UTC)
			config := entity.Config{Table: "app", Clock: func() time.Time { return now }, NewID: func() string { return "w" }}
			op := write(entity.Must(entity.New[lease](entity.Must(entity.Open(nil, config)))).Op())
			first, was, ends := op.String(), now.Format(time.DateOnly+"T15:04:05"), strconv.FormatInt(now.Add(24*time.Hour).Unix(), 10)
			require.Contains(t, first, ends)
			require.GreaterOrEqual(t, strings.Count(first, was), 2, "the attribute and the index key\n%s", first)
			now = now.Add(time.Hour)
			second := op.String()
			require.NotContains(t, second, was)
			require.NotContains(t, second, ends)
			require.Equal(t, strings.Count(first, was), strings.Count(second, now.Format(time.DateOnly+"T15:04:05")))
		})
	}
}
