package entity_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// Member, Voucher and Notice lie together in one partition of an index for each tenant: the half is verbatim. Their sort
// keys begin with their names, but for that of Notice, which is any text and stands between and among the others.
type Member struct {
	_ entity.Key `name:"Member" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"gsi1pk=TENANT#{tenant}" sk:"$#{team}#{name}"`
	_ entity.GSI `name:"byTeam" index:"gsi2" pk:"$#{tenant}" sk:"$#{team}"`

	ID     string `dynamodbav:"id"`
	Tenant string `dynamodbav:"tenant,omitempty"`
	Team   string `dynamodbav:"team,omitempty"`
	Name   string `dynamodbav:"name,omitempty"`
	Score  int    `dynamodbav:"score"`
	Bulk   string `dynamodbav:"bulk,omitempty"`
}

type Voucher struct {
	_ entity.Key    `name:"Voucher" pk:"$#{id}" sk:"$"`
	_ entity.GSI    `name:"byTenant" index:"gsi1" pk:"gsi1pk=TENANT#{tenant}" sk:"$#{priority}#{id}"`
	_ lifecycle.TTL `attr:"ends" after:"1h"`

	ID       string   `dynamodbav:"id"`
	Tenant   string   `dynamodbav:"tenant,omitempty"`
	Priority int      `dynamodbav:"priority" entity:"zero"`
	Open     *bool    `dynamodbav:"open,omitempty"`
	Tags     []string `dynamodbav:"tags,stringset,omitempty"`
	Score    int      `dynamodbav:"score"`
	Bulk     string   `dynamodbav:"bulk,omitempty"`
	Ends     int64    `dynamodbav:"ends,omitempty" entity:"time=unix"`
}

type Notice struct {
	_ entity.Key `name:"Notice" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"gsi1pk=TENANT#{tenant}" sk:"gsi1sk={title}"`

	ID     string `dynamodbav:"id"`
	Tenant string `dynamodbav:"tenant,omitempty"`
	Title  string `dynamodbav:"title,omitempty"`
	Score  int    `dynamodbav:"score"`
	Bulk   string `dynamodbav:"bulk,omitempty"`
}

// office is a database with members, tickets and notices of several tenants, and items of others among them.
type office struct {
	*lab
	member *entity.Store[Member]
	ticket *entity.Store[Voucher]
	notice *entity.Store[Notice]

	members *entity.Index[Member]
	tickets *entity.Index[Voucher]
	notices *entity.Index[Notice]
}

func newOffice(t *testing.T, configure ...func(*entity.Config)) *office {
	t.Helper()
	o := &office{lab: newLab(t, append(configure, func(c *entity.Config) { c.TTL = "ends" })...)}
	o.clock.move(100 * 365 * 24 * time.Hour) // far ahead, or the database would remove what has expired
	o.member, o.ticket, o.notice = declare[Member](t, o.db), declare[Voucher](t, o.db), declare[Notice](t, o.db)
	o.create(t)
	o.members, o.tickets, o.notices = entity.Must(o.member.Index("byTenant")), entity.Must(o.ticket.Index("byTenant")), entity.Must(o.notice.Index("byTenant"))
	return o
}

// staff stores about n items of each entity for a tenant, each with that many bytes beside.
func (o *office) staff(t *testing.T, r *rand.Rand, tenant string, n, bulk int) {
	t.Helper()
	var members []Member
	var tickets []Voucher
	var notices []Notice
	fill := string(make([]byte, bulk))
	now := o.clock.now().Unix()
	titles := []string{"", "a", "$app", "$app#v1#member#", "$app#v1#voucher#", "$app#v1#notice#", "z", "\U0010ffff"}
	for i := range n {
		id := fmt.Sprintf("%s-%03d", tenant, i)
		members = append(members, Member{ID: id, Tenant: tenant, Team: pick(r, "red", "re", "reds", "blue"), Name: fmt.Sprint(i), Score: r.IntN(4), Bulk: fill})
		open := pick(r, new(bool), nil)
		tickets = append(tickets, Voucher{ID: id, Tenant: tenant, Priority: r.IntN(3), Open: open, Tags: pick(r, nil, []string{"x"}, []string{"x", "y"}), Score: r.IntN(4), Bulk: fill, Ends: now + int64(r.IntN(3)-1)*3600})
		notices = append(notices, Notice{ID: id, Tenant: tenant, Title: pick(r, titles...) + fmt.Sprint(i), Score: r.IntN(4), Bulk: fill})
	}
	_, err := o.member.PutMany(t.Context(), members)
	require.NoError(t, err)
	_, err = o.ticket.PutMany(t.Context(), tickets)
	require.NoError(t, err)
	_, err = o.notice.PutMany(t.Context(), notices)
	require.NoError(t, err)
	for i, sk := range []string{"$app#v1#member#red#1", "$app#v1#voucher", "m", "zz"} {
		stray := keys("pk", fmt.Sprint(tenant, i), "sk", "s", "gsi1pk", "TENANT#"+tenant, "gsi1sk", sk)
		if i > 0 {
			stray["__edd_e__"] = str(pick(r, "Stranger", "Member._unique.name"))
		}
		o.put(t, stray)
	}
	o.sent()
}

func pick[V any](r *rand.Rand, vs ...V) V { return vs[r.IntN(len(vs))] }

// group is a part with a slice to compare with what the query gives alone.
type group struct {
	text    string
	part    entity.CollectionPart
	compare func(*testing.T, context.Context)
	length  func() int
}

func groupOf[T any](q entity.Query[T]) group {
	dst := []T{*new(T)} // must be replaced
	return group{q.String(), q.Into(&dst), func(t *testing.T, ctx context.Context) {
		t.Helper()
		want, err := q.Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, want, dst, "%s", q)
	}, func() int { return len(dst) }}
}
