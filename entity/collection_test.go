package entity_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// Member, Voucher and Notice share one partition of an index for each tenant, whose key is verbatim. Their sort keys begin
// with their names, except that of Notice, which is any text and can sort anywhere among the others.
type Member struct {
	_      entity.Key `name:"Member" pk:"$#{id}" sk:"$"`
	_      entity.GSI `name:"byTenant" index:"gsi1" pk:"gsi1pk=TENANT#{tenant}" sk:"$#{team}#{name}"`
	_      entity.GSI `name:"byTeam" index:"gsi2" pk:"$#{tenant}" sk:"$#{team}"`
	ID     string     `dynamodbav:"id"`
	Tenant string     `dynamodbav:"tenant,omitempty"`
	Team   string     `dynamodbav:"team,omitempty"`
	Name   string     `dynamodbav:"name,omitempty"`
	Score  int        `dynamodbav:"score"`
	Bulk   string     `dynamodbav:"bulk,omitempty"`
}

type Voucher struct {
	_        entity.Key    `name:"Voucher" pk:"$#{id}" sk:"$"`
	_        entity.GSI    `name:"byTenant" index:"gsi1" pk:"gsi1pk=TENANT#{tenant}" sk:"$#{priority}#{id}"`
	_        lifecycle.TTL `attr:"ends" after:"1h"`
	ID       string        `dynamodbav:"id"`
	Tenant   string        `dynamodbav:"tenant,omitempty"`
	Priority int           `dynamodbav:"priority" entity:"zero"`
	Open     *bool         `dynamodbav:"open,omitempty"`
	Tags     []string      `dynamodbav:"tags,stringset,omitempty"`
	Score    int           `dynamodbav:"score"`
	Bulk     string        `dynamodbav:"bulk,omitempty"`
	Ends     int64         `dynamodbav:"ends,omitempty" entity:"time=unix"`
}

type Notice struct {
	_      entity.Key `name:"Notice" pk:"$#{id}" sk:"$"`
	_      entity.GSI `name:"byTenant" index:"gsi1" pk:"gsi1pk=TENANT#{tenant}" sk:"gsi1sk={title}"`
	ID     string     `dynamodbav:"id"`
	Tenant string     `dynamodbav:"tenant,omitempty"`
	Title  string     `dynamodbav:"title,omitempty"`
	Score  int        `dynamodbav:"score"`
	Bulk   string     `dynamodbav:"bulk,omitempty"`
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

// expiring names the attribute by which vouchers expire.
func expiring(c *entity.Config) { c.TTL = "ends" }

func newOffice(t *testing.T, configure ...func(*entity.Config)) *office {
	t.Helper()
	o := &office{lab: newLab(t, append(configure, expiring)...)}
	o.Clock.Move(100 * 365 * 24 * time.Hour) // far ahead, or the database would remove what has expired
	o.member, o.ticket, o.notice = dbtest.Declare[Member](t, o.DB), dbtest.Declare[Voucher](t, o.DB), dbtest.Declare[Notice](t, o.DB)
	o.CreateTables()
	o.members, o.tickets, o.notices = entity.Must(o.member.Index("byTenant")), entity.Must(o.ticket.Index("byTenant")), entity.Must(o.notice.Index("byTenant"))
	return o
}

// staff stores about n items of each entity for a tenant, each with that many more bytes.
func (o *office) staff(t *testing.T, r *rand.Rand, tenant string, n, bulk int) {
	t.Helper()
	var members []Member
	var tickets []Voucher
	var notices []Notice
	fill, now := string(make([]byte, bulk)), o.Clock.Now().Unix()
	titles := []string{"", "a", "$app", "$app#v1#member#", "$app#v1#voucher#", "$app#v1#notice#", "z", "\U0010ffff"}
	for i := range n {
		id := fmt.Sprintf("%s-%03d", tenant, i)
		members = append(members, Member{ID: id, Tenant: tenant, Team: pick(r, "red", "re", "reds", "blue"), Name: fmt.Sprint(i), Score: r.IntN(4), Bulk: fill})
		open := pick(r, new(bool), nil)
		tickets = append(tickets, Voucher{ID: id, Tenant: tenant, Priority: r.IntN(3), Open: open, Tags: pick(r, nil, []string{"x"}, []string{"x", "y"}), Score: r.IntN(4), Bulk: fill, Ends: now + int64(r.IntN(3)-1)*3600})
		notices = append(notices, Notice{ID: id, Tenant: tenant, Title: pick(r, titles...) + fmt.Sprint(i), Score: r.IntN(4), Bulk: fill})
	}
	o.OK(o.member.PutMany(t.Context(), members))
	o.OK(o.ticket.PutMany(t.Context(), tickets))
	o.OK(o.notice.PutMany(t.Context(), notices))
	for i, sk := range []string{"$app#v1#member#red#1", "$app#v1#voucher", "m", "zz"} {
		stray := keys("pk", fmt.Sprint(tenant, i), "sk", "s", "gsi1pk", "TENANT#"+tenant, "gsi1sk", sk)
		if i > 0 {
			stray["__edd_e__"] = dbtest.S(pick(r, "Stranger", "Member._unique.name"))
		}
		o.PutItem(stray)
	}
	o.Sent()
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
		require.Equal(t, entity.Must(q.Collect(ctx)), dst, "%s", q)
	}, func() int { return len(dst) }}
}

// stocked is an office whose one tenant has n items of each entity, each with that many more bytes.
func stocked(t *testing.T, n, bulk int, configure ...func(*entity.Config)) *office {
	t.Helper()
	o := newOffice(t, configure...)
	o.staff(t, rand.New(rand.NewPCG(1, 2)), "a", n, bulk)
	return o
}

func TestGetCollection_CostsThePagesOfOneQuery(t *testing.T) {
	o := stocked(t, 15, 50_000) // 2.2 MB
	members, tickets, notices := groupOf(o.members.Query(Member{Tenant: "a"})), groupOf(o.tickets.Query(Voucher{Tenant: "a"})), groupOf(o.notices.Query(Notice{Tenant: "a"}))
	pages := 0
	in := &dynamodb.QueryInput{TableName: &o.Table, IndexName: aws.String("gsi1"), KeyConditionExpression: aws.String("gsi1pk = :p"), ExpressionAttributeValues: keys(":p", "TENANT#a")}
	for again := true; again; again = in.ExclusiveStartKey != nil {
		out := entity.Must(o.Raw.Query(t.Context(), in))
		in.ExclusiveStartKey = out.LastEvaluatedKey
		pages++
	}
	require.GreaterOrEqual(t, pages, 3)
	require.NoError(t, o.DB.GetCollection(t.Context(), members.part, tickets.part, notices.part))
	sent := o.Operations()
	require.Equal(t, slices.Repeat([]string{"Query"}, len(sent)), sent)
	require.LessOrEqual(t, len(sent), pages, "three entities for the pages of one query")
	require.Greater(t, len(sent), 1)
	for _, g := range []group{members, tickets, notices} {
		require.NotZero(t, g.length())
		g.compare(t, t.Context())
	}

	// Limits of all the queries together end the reading; one without goes on to the end.
	o.Sent()
	first := groupOf(o.members.Query(Member{Tenant: "a"}, entity.Limit(2)))
	red := groupOf(o.members.Query(Member{Tenant: "a", Team: "blue"}, entity.Limit(1)))
	require.NoError(t, o.DB.GetCollection(t.Context(), first.part, red.part))
	require.Equal(t, []string{"Query"}, o.Operations())
	require.Equal(t, []int{2, 1}, []int{first.length(), red.length()})
	all := groupOf(o.notices.Query(Notice{Tenant: "a"}))
	require.NoError(t, o.DB.GetCollection(t.Context(), first.part, all.part))
	require.GreaterOrEqual(t, len(o.Operations()), 2)
	require.Equal(t, 15, all.length())
}

func TestGetCollection_ReadsOneRangeThatSpansThoseOfAll(t *testing.T) {
	o, m, k := stocked(t, 3, 1), entity.Fields[Member](), entity.Fields[Voucher]()
	body := func(parts ...entity.CollectionPart) string {
		require.NoError(t, o.DB.GetCollection(t.Context(), parts...))
		requests := o.Wire.Requests()
		require.Len(t, requests, 1)
		o.Sent()
		return string(requests[0].Body)
	}
	red := groupOf(o.members.Query(Member{Tenant: "a", Team: "red"})).part
	blue := groupOf(o.members.Query(Member{Tenant: "a"}, entity.Lt(&m.Team, "blue"))).part
	urgent := groupOf(o.tickets.Query(Voucher{Tenant: "a"}, entity.Gt(&k.Priority, 1))).part
	notices := groupOf(o.notices.Query(Notice{Tenant: "a"})).part
	again := groupOf(o.members.Query(Member{Tenant: "a", Team: "red"}, entity.Limit(1))).part
	text := body(red, urgent)
	require.Contains(t, text, "BETWEEN")
	require.Contains(t, text, `"$app#v1#member#red#"`)
	require.Contains(t, text, `"$app#v1#voucher$"`)
	require.Contains(t, body(blue, red), `"$app#v1#member#"`)
	require.NotContains(t, body(red, notices), "member#red", "a query without bounds spans everything")
	type small struct {
		Title string `dynamodbav:"title"`
	}
	few := groupOf(entity.Project[small](o.notices.Query(Notice{Tenant: "a"}))).part
	require.Contains(t, body(few), "ProjectionExpression", "what no part needs is not fetched")
	require.NotContains(t, body(few, notices), "ProjectionExpression")
	require.Contains(t, body(red, again), `"$app#v1#member#red#"`, "equal ranges stay as they are")
}

// Below a `$` partition a query needs no filter, and must then get everything.
func TestGetCollection_QueryWithoutAFilterGetsEverything(t *testing.T) {
	o := stocked(t, 10, 1)
	byTeam := entity.Must(o.member.Index("byTeam"))
	some := groupOf(byTeam.Query(Member{Tenant: "a"}, entity.Filter(entity.Eq(&entity.Fields[Member]().Score, 1))))
	all := groupOf(byTeam.Query(Member{Tenant: "a"}))
	require.NoError(t, o.DB.GetCollection(t.Context(), some.part, all.part))
	some.compare(t, t.Context())
	all.compare(t, t.Context())
	require.Equal(t, 10, all.length())
	require.Less(t, some.length(), 10)
}

func TestGetCollection_FiltersThatAreTooManyForOneRequestAreKept(t *testing.T) {
	o, f := stocked(t, 30, 1), entity.Fields[Member]()
	var groups []group
	var parts []entity.CollectionPart
	for i := range 5 {
		ids := []string{fmt.Sprintf("a-%03d", i)}
		for j := range 80 {
			ids = append(ids, fmt.Sprint("nobody", j))
		}
		groups = append(groups, groupOf(o.members.Query(Member{Tenant: "a"}, entity.Filter(entity.In(&f.ID, ids...)))))
		parts = append(parts, groups[i].part)
	}
	require.NoError(t, o.DB.GetCollection(t.Context(), parts...))
	for _, g := range groups {
		require.Equal(t, 1, g.length())
		g.compare(t, t.Context())
	}
}

func TestGetCollection_NativeKeys(t *testing.T) {
	l, s := orders(t)
	f, byAmount := entity.Fields[Order](), entity.Must(s.Index("byAmount"))
	for i, c := range [][]group{
		{groupOf(s.Query(Order{Customer: "c"}, entity.Lt(&f.Number, -2))), groupOf(s.Query(Order{Customer: "c"}, entity.Eq(&f.Number, 20)))},
		{groupOf(s.Query(Order{Customer: "c"}, entity.Between(&f.Number, -2, 3))), groupOf(s.Query(Order{Customer: "c", Number: 20}))},
		{groupOf(byAmount.Query(Order{Customer: "c"}, entity.Gt(&f.Amount, 40), entity.Consistent())), groupOf(byAmount.Query(Order{Customer: "c"}, entity.Eq(&f.Amount, 30), entity.Consistent()))},
	} {
		l.Sent()
		require.NoError(t, l.DB.GetCollection(t.Context(), c[0].part, c[1].part))
		require.Len(t, l.Operations(), 1)
		for _, g := range c {
			g.compare(t, t.Context())
		}
		require.Equal(t, [][2]int{{1, 1}, {2, 1}, {1, 1}}[i], [2]int{c[0].length(), c[1].length()})
	}
}

func TestGetCollection_WhatCannotMatchCostsNothing(t *testing.T) {
	o, f := stocked(t, 3, 1), entity.Fields[Member]()
	never := func() group { return groupOf(o.members.Query(Member{Tenant: "a"}, entity.Between(&f.Team, "z", "a"))) }
	a, b, all := never(), never(), groupOf(o.members.Query(Member{Tenant: "a"}, entity.Limit(9)))
	require.NoError(t, o.DB.GetCollection(t.Context(), a.part, b.part))
	require.Empty(t, o.Operations())
	require.NoError(t, o.DB.GetCollection(t.Context(), a.part, all.part))
	require.Equal(t, []string{"Query"}, o.Operations())
	require.Equal(t, []int{0, 3}, []int{a.length(), all.length()})
}

// With an error, however late, the slices are what they were.
func TestGetCollection_FailsWhole(t *testing.T) {
	o := stocked(t, 12, 50_000, func(c *entity.Config) { c.MaxAttempts = 2 })
	members, notices := []Member{{ID: "before"}}, []Notice{{ID: "before"}}
	gather := func(ctx context.Context) error {
		return o.DB.GetCollection(ctx, o.members.Query(Member{Tenant: "a"}).Into(&members), o.notices.Query(Notice{Tenant: "a"}).Into(&notices))
	}
	untouched := func() {
		t.Helper()
		require.Equal(t, []Member{{ID: "before"}}, members)
		require.Equal(t, []Notice{{ID: "before"}}, notices)
	}
	seen := 0
	o.Wire.Inject(func(faults.Request) faults.Fault {
		if seen++; seen > 1 {
			return faults.Throttle
		}
		return faults.None
	})
	require.Error(t, gather(t.Context()))
	untouched()

	ctx, cancel := context.WithCancel(t.Context())
	o.Wire.Inject(func(r faults.Request) faults.Fault { cancel(); return faults.None })
	require.ErrorIs(t, gather(ctx), context.Canceled)
	untouched()

	o.Wire.Inject(faults.Nth(2, faults.Lost))
	require.NoError(t, gather(t.Context()), "a lost page is read again")
	require.Len(t, members, 12)
	members, notices = []Member{{ID: "before"}}, []Notice{{ID: "before"}}

	o.Wire.Inject(nil)
	o.patch(keys("pk", "$app#v1#notice#a-007", "sk", "$app#v1#notice"), "score", dbtest.S("high"))
	err := gather(t.Context())
	misfit := dbtest.As[*entity.DecodeError](t, err)
	require.Equal(t, []string{"Notice", "score"}, []string{misfit.Entity, misfit.Attr})
	require.ErrorContains(t, err, `item pk="$app#v1#notice#a-007" sk="$app#v1#notice"`)
	untouched()
}

func TestGetCollection_RefusesQueriesThatDifferBeforeAnyRequest(t *testing.T) {
	o := stocked(t, 1, 1)
	a := o.members.Query(Member{Tenant: "a"})
	desc := o.notices.Query(Notice{Tenant: "a"}, entity.Desc())
	other := o.notices.Query(Notice{Tenant: "b"})
	byTeam := entity.Must(o.member.Index("byTeam")).Query(Member{Tenant: "a"})
	one, strong := o.member.Query(Member{ID: "a-000"}), o.member.Query(Member{ID: "a-000"}, entity.Consistent())
	elsewhere := dbtest.Declare[Bare](t, o.DB)
	bare, ticket := elsewhere.Query(Bare{ID: "a"}), o.ticket.Query(Voucher{ID: "a-000"})
	elseDB := dbtest.Declare[Member](t, o.Open(o.Raw)).Query(Member{ID: "a-000"})

	var m, n []Member
	var k []Voucher
	var x []Notice
	var b []Bare
	for name, c := range map[string]struct {
		parts []entity.CollectionPart
		code  string
		says  string
	}{
		"table":       {[]entity.CollectionPart{one.Into(&m), bare.Into(&b)}, "EDD-9126", "Bare is read from the table bare, Member from " + o.Table},
		"index":       {[]entity.CollectionPart{a.Into(&m), byTeam.Into(&n)}, "EDD-9126", "Member is read from the index gsi2, Member from the index gsi1"},
		"no index":    {[]entity.CollectionPart{a.Into(&m), one.Into(&n)}, "EDD-9126", "Member is read from the table itself, Member from the index gsi1"},
		"partition":   {[]entity.CollectionPart{a.Into(&m), other.Into(&x)}, "EDD-9126", "Notice and Member are read from different partitions; the queries"},
		"$ partition": {[]entity.CollectionPart{one.Into(&m), ticket.Into(&k)}, "EDD-9126", "a partition key that begins with `$` holds the name of its entity"},
		"direction":   {[]entity.CollectionPart{a.Into(&m), desc.Into(&x)}, "EDD-9126", "Notice is read in descending order, Member in ascending order"},
		"consistency": {[]entity.CollectionPart{one.Into(&m), strong.Into(&n)}, "EDD-9126", "Member is read consistently, Member is not"},
		"none":        {nil, "EDD-9127", "no query"},
		"scan":        {[]entity.CollectionPart{o.member.Scan().Into(&m)}, "EDD-9127", "a scan"},
		"one slice":   {[]entity.CollectionPart{a.Into(&m), a.Into(&m)}, "EDD-9127", "the slice of another part"},
		"projected":   {[]entity.CollectionPart{entity.Project[Member](entity.Project[Member](nilQuery())).Into(&m)}, "EDD-9127", "cannot be part of a collection"},
		"nil slice":   {[]entity.CollectionPart{a.Into(nil)}, "EDD-9105", "a pointer to a slice"},
		"nil":         {[]entity.CollectionPart{a.Into(&m), nil}, "EDD-9114", "part 1 is nil"},
		"another DB":  {[]entity.CollectionPart{elseDB.Into(&m)}, "EDD-9114", "another DB"},
		"requests":    {[]entity.CollectionPart{o.members.Query(Member{Tenant: "a"}, entity.MaxRequests(1)).Into(&m)}, "EDD-9108", "MaxRequests"},
		"evaluated":   {[]entity.CollectionPart{o.members.Query(Member{Tenant: "a"}, entity.MaxEvaluated(1)).Into(&m)}, "EDD-9108", "MaxEvaluated"},
		"no tenant":   {[]entity.CollectionPart{a.Into(&m), o.notices.Query(Notice{}).Into(&x)}, "EDD-9101", "missing"},
	} {
		err := o.DB.GetCollection(t.Context(), c.parts...)
		require.Equal(t, c.code, dbtest.InputCode(err), name)
		require.Contains(t, err.Error(), c.says, name)
		require.NotContains(t, err.Error(), "TENANT", "%s: values may be secret", name)
	}
	require.Empty(t, o.Operations())
	require.True(t, strings.HasPrefix(a.Into(&m).String(), "Query Member on "), "a part prints its query")
}

// nilQuery is a query that is not of this module.
func nilQuery() entity.Query[Member] { return nil }

// Contract leaves snapshots and deleted copies, Reporter leaves events. Both share the partition of a customer.
type Contract struct {
	_        entity.Key `name:"Contract" pk:"pk=CUSTOMER#{customer}" sk:"$#{id}"`
	_        versioned.Retain
	_        lifecycle.SoftDelete
	Customer string `dynamodbav:"customer"`
	ID       string `dynamodbav:"id"`
	Terms    int    `dynamodbav:"terms"`
	Version  int64  `dynamodbav:"version" entity:"version"`
}

type Reporter struct {
	_        entity.Key        `name:"Reporter" pk:"pk=CUSTOMER#{customer}" sk:"$#{meter}"`
	_        timeseries.Events `orderBy:"seq"`
	Customer string            `dynamodbav:"customer"`
	Meter    string            `dynamodbav:"meter"`
	Seq      int64             `dynamodbav:"seq"`
	Value    int               `dynamodbav:"value" entity:"append"`
}

// Current items, deleted copies and events are distinguished, whatever a part asks for.
func TestGetCollection_ReadsDeletedItemsAndHistories(t *testing.T) {
	l := newLab(t)
	contracts, pulses := dbtest.Declare[Contract](t, l.DB), entity.Must(timeseries.New[Reporter](l.DB))
	l.CreateTables()
	bin, past := entity.Must(lifecycle.Of(contracts)), entity.Must(versioned.Of(contracts))
	for i := range 4 {
		c := Contract{Customer: "c", ID: fmt.Sprint("k", i)}
		l.OK(contracts.Create(t.Context(), c))
		l.OK(contracts.Update(t.Context(), c, entity.Set(&entity.Fields[Contract]().Terms, i)))
		if i%2 == 0 {
			require.NoError(t, contracts.Delete(t.Context(), c))
		}
		for seq := range 3 {
			l.OK(pulses.Append(t.Context(), Reporter{Customer: "c", Meter: fmt.Sprint("m", i), Seq: int64(10*i + seq + 1), Value: seq}))
		}
	}
	l.Sent()
	f, key := entity.Fields[Reporter](), Reporter{Customer: "c"}
	groups := []group{
		groupOf(contracts.Query(Contract{Customer: "c"}, entity.Desc())),
		groupOf(bin.List(Contract{Customer: "c", ID: "k2"})),
		groupOf(pulses.Query(key, entity.Desc())),
		groupOf(pulses.History(Reporter{Customer: "c", Meter: "m1"}, entity.Desc(), entity.Ge(&f.Seq, 12))),
		groupOf(pulses.Query(Reporter{Customer: "c", Meter: "m3"}, entity.Desc())),
	}
	var parts []entity.CollectionPart
	for _, g := range groups {
		parts = append(parts, g.part)
	}
	require.NoError(t, l.DB.GetCollection(t.Context(), parts...))
	require.Equal(t, []string{"Query"}, l.Operations())
	for i, n := range []int{2, 1, 4, 2, 1} {
		require.Equal(t, n, groups[i].length(), groups[i].text)
		groups[i].compare(t, t.Context())
	}

	l.Sent()
	var versions []versioned.Version[Contract]
	part := past.List(Contract{Customer: "c", ID: "k1"}).Into(&versions)
	dbtest.RequireInput(t, l.DB.GetCollection(t.Context(), part), "EDD-9127", "")
	require.Contains(t, part.String(), "snapshots")
	require.Empty(t, l.Operations())
}

// Whatever is collected, each slice equals the result of its query alone, for one query's requests.
func TestGetCollection_EqualsEachQueryAlone(t *testing.T) {
	seed := testsize.Seed(t)
	r, o, tenants := rand.New(rand.NewPCG(seed, 1)), newOffice(t), []string{"a", "b", "ab"}
	for i, tenant := range tenants {
		o.staff(t, r, tenant, []int{0, 4, 40}[i], 10)
	}
	filled := 0
	testsize.Check(t, testsize.Pick(6, 300)*int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1)), func(rt *rapid.T) {
		tenant, common := rapid.SampledFrom(tenants).Draw(rt, "tenant"), []entity.QueryOption{}
		if rapid.Bool().Draw(rt, "descending") {
			common = append(common, entity.Desc())
		}
		groups := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) group { return o.randomGroup(rt, tenant, common) }), 1, 5).Draw(rt, "groups")
		var parts []entity.CollectionPart
		for _, g := range groups {
			parts = append(parts, g.part)
		}
		o.Sent()
		require.NoError(t, o.DB.GetCollection(t.Context(), parts...))
		require.LessOrEqual(t, len(o.Operations()), 2, "the partition is one page, and a limit may cut it once")
		for _, g := range groups {
			g.compare(t, t.Context())
			filled += g.length()
		}
	})
	require.NotZero(t, filled, "nothing was ever found")
}

func (o *office) randomGroup(rt *rapid.T, tenant string, common []entity.QueryOption) group {
	opts := append([]entity.QueryOption{}, common...)
	if n := rapid.IntRange(0, 4).Draw(rt, "limit"); n > 0 {
		opts = append(opts, entity.Limit(n*n))
	}
	if rapid.Bool().Draw(rt, "expired") {
		opts = append(opts, entity.IncludeExpired())
	}
	score := rapid.IntRange(0, 4).Draw(rt, "score")
	switch rapid.IntRange(0, 3).Draw(rt, "entity") {
	case 0:
		f, key := entity.Fields[Member](), Member{Tenant: tenant}
		opts = append(opts, drawn(rt, &f.Team, []string{"red", "re", "blue", "green"})...)
		opts = append(opts, filters(rt, &f.Score, score, entity.NotExists(&f.Bulk))...)
		return groupOf(o.members.Query(key, opts...))
	case 1:
		f, key := entity.Fields[Voucher](), Voucher{Tenant: tenant}
		opts = append(opts, drawn(rt, &f.Priority, []int{0, 1, 2})...)
		opts = append(opts, filters(rt, &f.Score, score, entity.Or(entity.Contains(&f.Tags, "y"), entity.Ne(f.Open, true)))...)
		return groupOf(o.tickets.Query(key, opts...))
	case 2:
		type small struct {
			Title string `dynamodbav:"title"`
		}
		f := entity.Fields[Notice]()
		opts = append(opts, drawn(rt, &f.Title, []string{"$", "$app#v1#", "z", "a1"})...)
		opts = append(opts, filters(rt, &f.Score, score, entity.BeginsWith(&f.ID, "b"))...)
		return groupOf(entity.Project[small](o.notices.Query(Notice{Tenant: tenant}, opts...)))
	}
	return groupOf(o.notices.Query(Notice{Tenant: tenant}, opts...))
}

// drawn is a bound on the first part of the sort key, or none.
func drawn[V int | string](rt *rapid.T, field *V, values []V) []entity.QueryOption {
	a, b := rapid.SampledFrom(values).Draw(rt, "a"), rapid.SampledFrom(values).Draw(rt, "b")
	if a > b && rapid.Bool().Draw(rt, "in order") {
		a, b = b, a
	}
	bounds := []entity.QueryOption{entity.Eq(field, a), entity.Ge(field, a), entity.Gt(field, a), entity.Le(field, a), entity.Lt(field, a), entity.Between(field, a, b)}
	if s, ok := any(field).(*string); ok {
		bounds = append(bounds, entity.BeginsWith(s, fmt.Sprint(a)))
	}
	n := rapid.IntRange(-3, len(bounds)-1).Draw(rt, "bound")
	if n < 0 {
		return nil
	}
	return bounds[n : n+1]
}

// filters are none, one, or two.
func filters(rt *rapid.T, field *int, score int, other entity.Cond) []entity.QueryOption {
	all := []entity.QueryOption{entity.Filter(entity.Ge(field, score)), entity.Filter(other)}
	return all[:rapid.IntRange(0, 2).Draw(rt, "filters")]
}
