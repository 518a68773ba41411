package entity_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// stocked is an office whose one tenant has n items of each entity, each with that many bytes beside.
func stocked(t *testing.T, n, bulk int, configure ...func(*entity.Config)) *office {
	t.Helper()
	o := newOffice(t, configure...)
	o.staff(t, rand.New(rand.NewPCG(1, 2)), "a", n, bulk)
	return o
}

func TestGather_CostsThePagesOfOneQuery(t *testing.T) {
	t.Parallel()
	o := stocked(t, 25, 50_000) // 3.75 MB
	members, tickets, notices := groupOf(o.members.Query(Member{Tenant: "a"})), groupOf(o.tickets.Query(Voucher{Tenant: "a"})), groupOf(o.notices.Query(Notice{Tenant: "a"}))
	pages := 0
	in := &dynamodb.QueryInput{TableName: &o.table, IndexName: aws.String("gsi1"), KeyConditionExpression: aws.String("gsi1pk = :p"), ExpressionAttributeValues: keys(":p", "TENANT#a")}
	for again := true; again; again = in.ExclusiveStartKey != nil {
		out, err := o.raw.Query(t.Context(), in)
		require.NoError(t, err)
		in.ExclusiveStartKey = out.LastEvaluatedKey
		pages++
	}
	require.GreaterOrEqual(t, pages, 4)
	require.NoError(t, o.db.GetCollection(t.Context(), members.part, tickets.part, notices.part))
	sent := o.sent()
	require.Equal(t, slices.Repeat([]string{"Query"}, len(sent)), sent)
	require.LessOrEqual(t, len(sent), pages, "three entities for the pages of one query")
	require.Greater(t, len(sent), 1)
	for _, g := range []group{members, tickets, notices} {
		require.NotZero(t, g.length())
		g.compare(t, t.Context())
	}
}

// Limits of all the queries together end the reading; one without goes on to the end.
func TestGather_EndsWhenEveryLimitIsReached(t *testing.T) {
	t.Parallel()
	o := stocked(t, 25, 50_000)
	first := groupOf(o.members.Query(Member{Tenant: "a"}, entity.Limit(2)))
	red := groupOf(o.members.Query(Member{Tenant: "a", Team: "blue"}, entity.Limit(1)))
	require.NoError(t, o.db.GetCollection(t.Context(), first.part, red.part))
	require.Equal(t, []string{"Query"}, o.sent())
	require.Equal(t, []int{2, 1}, []int{first.length(), red.length()})
	all := groupOf(o.notices.Query(Notice{Tenant: "a"}))
	require.NoError(t, o.db.GetCollection(t.Context(), first.part, all.part))
	require.GreaterOrEqual(t, len(o.sent()), 3)
	require.Equal(t, 25, all.length())
}

func TestGather_ReadsOneRangeThatSpansThoseOfAll(t *testing.T) {
	t.Parallel()
	o := stocked(t, 3, 1)
	m, k := entity.Fields[Member](), entity.Fields[Voucher]()
	body := func(parts ...entity.CollectionPart) string {
		require.NoError(t, o.db.GetCollection(t.Context(), parts...))
		requests := o.wire.Requests()
		require.Len(t, requests, 1)
		o.wire.Reset()
		return string(requests[0].Body)
	}
	red := groupOf(o.members.Query(Member{Tenant: "a", Team: "red"})).part
	blue := groupOf(o.members.Query(Member{Tenant: "a"}, entity.Lt(&m.Team, "blue"))).part
	urgent := groupOf(o.tickets.Query(Voucher{Tenant: "a"}, entity.Gt(&k.Priority, 1))).part
	notices := groupOf(o.notices.Query(Notice{Tenant: "a"})).part
	text := body(red, urgent)
	require.Contains(t, text, "BETWEEN")
	require.Contains(t, text, `"$app#v1#member#red#"`)
	require.Contains(t, text, `"$app#v1#voucher$"`)
	require.Contains(t, body(blue, red), `"$app#v1#member#"`)
	require.NotContains(t, body(red, notices), "member#red", "a query without bounds spans everything")
	require.Contains(t, body(red, red2(o)), `"$app#v1#member#red#"`, "equal ranges stay as they are")
}

// red2 is another query of the range of red members.
func red2(o *office) entity.CollectionPart {
	return groupOf(o.members.Query(Member{Tenant: "a", Team: "red"}, entity.Limit(1))).part
}

// Satellites, other entities and items of nobody lie in the partition, and in no group.
func TestGather_SeesOnlyCurrentItemsOfItsEntities(t *testing.T) {
	t.Parallel()
	l, invoices, receipts := crowdedPartition(t)
	var paid []Invoice
	var all []Receipt
	key := Invoice{Customer: "c"}
	require.NoError(t, l.db.GetCollection(t.Context(),
		invoices.Query(key, entity.Desc(), entity.Consistent(), entity.Filter(entity.Eq(&entity.Fields[Invoice]().Paid, true))).Into(&paid),
		receipts.Query(Receipt{Customer: "c"}, entity.Desc(), entity.Consistent()).Into(&all)))
	require.Equal(t, []string{"Query"}, l.sent())
	require.Equal(t, []string{"1"}, invoiceIDs(paid))
	require.Len(t, all, 2)
	require.Equal(t, "2", all[0].ID, "descending")
}

// Below a `$` partition a query needs no filter, and must then get everything.
func TestGather_AQueryWithoutAFilterGetsEverything(t *testing.T) {
	t.Parallel()
	o := stocked(t, 10, 1)
	byTeam := entity.Must(o.member.Index("byTeam"))
	some := groupOf(byTeam.Query(Member{Tenant: "a"}, entity.Filter(entity.Eq(&entity.Fields[Member]().Score, 1))))
	all := groupOf(byTeam.Query(Member{Tenant: "a"}))
	require.NoError(t, o.db.GetCollection(t.Context(), some.part, all.part))
	some.compare(t, t.Context())
	all.compare(t, t.Context())
	require.Equal(t, 10, all.length())
	require.Less(t, some.length(), 10)
}

func TestGather_FiltersThatAreTooManyForOneRequestAreKept(t *testing.T) {
	t.Parallel()
	o := stocked(t, 30, 1)
	f := entity.Fields[Member]()
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
	require.NoError(t, o.db.GetCollection(t.Context(), parts...))
	for _, g := range groups {
		require.Equal(t, 1, g.length())
		g.compare(t, t.Context())
	}
}

func TestGather_NativeKeys(t *testing.T) {
	t.Parallel()
	l, s := orders(t)
	f := entity.Fields[Order]()
	byAmount := entity.Must(s.Index("byAmount"))
	for i, c := range [][]group{
		{groupOf(s.Query(Order{Customer: "c"}, entity.Lt(&f.Number, -2))), groupOf(s.Query(Order{Customer: "c"}, entity.Eq(&f.Number, 20)))},
		{groupOf(s.Query(Order{Customer: "c"}, entity.Between(&f.Number, -2, 3))), groupOf(s.Query(Order{Customer: "c", Number: 20}))},
		{groupOf(byAmount.Query(Order{Customer: "c"}, entity.Gt(&f.Amount, 40), entity.Consistent())), groupOf(byAmount.Query(Order{Customer: "c"}, entity.Eq(&f.Amount, 30), entity.Consistent()))},
	} {
		l.sent()
		require.NoError(t, l.db.GetCollection(t.Context(), c[0].part, c[1].part))
		require.Len(t, l.sent(), 1)
		for _, g := range c {
			g.compare(t, t.Context())
		}
		require.Equal(t, [][2]int{{1, 1}, {2, 1}, {1, 1}}[i], [2]int{c[0].length(), c[1].length()})
	}
}

func TestGather_WhatCannotMatchCostsNothing(t *testing.T) {
	t.Parallel()
	o := stocked(t, 3, 1)
	f := entity.Fields[Member]()
	never := func() group { return groupOf(o.members.Query(Member{Tenant: "a"}, entity.Between(&f.Team, "z", "a"))) }
	a, b, all := never(), never(), groupOf(o.members.Query(Member{Tenant: "a"}, entity.Limit(9)))
	require.NoError(t, o.db.GetCollection(t.Context(), a.part, b.part))
	require.Empty(t, o.sent())
	require.NoError(t, o.db.GetCollection(t.Context(), a.part, all.part))
	require.Equal(t, []string{"Query"}, o.sent())
	require.Equal(t, []int{0, 3}, []int{a.length(), all.length()})
}

// With an error, however late, the slices are what they were.
func TestGather_FailsWhole(t *testing.T) {
	t.Parallel()
	o := stocked(t, 25, 50_000, func(c *entity.Config) { c.MaxAttempts = 2 })
	members, notices := []Member{{ID: "before"}}, []Notice{{ID: "before"}}
	gather := func(ctx context.Context) error {
		return o.db.GetCollection(ctx, o.members.Query(Member{Tenant: "a"}).Into(&members), o.notices.Query(Notice{Tenant: "a"}).Into(&notices))
	}
	untouched := func() {
		t.Helper()
		require.Equal(t, []Member{{ID: "before"}}, members)
		require.Equal(t, []Notice{{ID: "before"}}, notices)
	}
	seen := 0
	o.wire.Inject(func(faults.Request) faults.Fault {
		if seen++; seen > 2 {
			return faults.Throttle
		}
		return faults.None
	})
	require.Error(t, gather(t.Context()))
	untouched()

	ctx, cancel := context.WithCancel(t.Context())
	o.wire.Inject(func(r faults.Request) faults.Fault { cancel(); return faults.None })
	require.ErrorIs(t, gather(ctx), context.Canceled)
	untouched()

	o.wire.Inject(faults.Nth(2, faults.Lost))
	require.NoError(t, gather(t.Context()), "a lost page is read again")
	require.Len(t, members, 25)
	members, notices = []Member{{ID: "before"}}, []Notice{{ID: "before"}}

	o.wire.Inject(nil)
	o.patch(t, keys("pk", "$app#v1#notice#a-007", "sk", "$app#v1#notice"), "score", str("high"))
	err := gather(t.Context())
	var misfit *entity.DecodeError
	require.ErrorAs(t, err, &misfit)
	require.Equal(t, []string{"Notice", "score"}, []string{misfit.Entity, misfit.Attr})
	untouched()
}

func TestGather_SaysWhatDiffersBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	o := stocked(t, 1, 1)
	a := o.members.Query(Member{Tenant: "a"})
	desc := o.notices.Query(Notice{Tenant: "a"}, entity.Desc())
	other := o.notices.Query(Notice{Tenant: "b"})
	byTeam := entity.Must(o.member.Index("byTeam")).Query(Member{Tenant: "a"})
	one, strong := o.member.Query(Member{ID: "a-000"}), o.member.Query(Member{ID: "a-000"}, entity.Consistent())
	elsewhere := declare[Bare](t, o.db)
	bare := elsewhere.Query(Bare{ID: "a"})
	ticket := o.ticket.Query(Voucher{ID: "a-000"})
	elseDB := declare[Member](t, o.aside(t)).Query(Member{ID: "a-000"})

	var m, n []Member
	var k []Voucher
	var x []Notice
	var b []Bare
	for name, c := range map[string]struct {
		parts []entity.CollectionPart
		code  string
		says  string
	}{
		"table":       {[]entity.CollectionPart{one.Into(&m), bare.Into(&b)}, "EDD-9126", "Bare is read from the table bare, Member from " + o.table},
		"index":       {[]entity.CollectionPart{a.Into(&m), byTeam.Into(&n)}, "EDD-9126", "Member is read from the index gsi2, Member from the index gsi1"},
		"no index":    {[]entity.CollectionPart{a.Into(&m), one.Into(&n)}, "EDD-9126", "Member is read from the table itself, Member from the index gsi1"},
		"partition":   {[]entity.CollectionPart{a.Into(&m), other.Into(&x)}, "EDD-9126", "Notice and Member are read from different partitions; queries"},
		"$ partition": {[]entity.CollectionPart{one.Into(&m), ticket.Into(&k)}, "EDD-9126", "a partition key that begins with `$` holds the name of its entity"},
		"direction":   {[]entity.CollectionPart{a.Into(&m), desc.Into(&x)}, "EDD-9126", "Notice is read in descending order, Member in ascending order"},
		"consistency": {[]entity.CollectionPart{one.Into(&m), strong.Into(&n)}, "EDD-9126", "Member is read consistently, Member is not"},
		"none":        {nil, "EDD-9127", "no query"},
		"scan":        {[]entity.CollectionPart{o.member.Scan().Into(&m)}, "EDD-9127", "a scan"},
		"one slice":   {[]entity.CollectionPart{a.Into(&m), a.Into(&m)}, "EDD-9127", "the slice of another part"},
		"projected":   {[]entity.CollectionPart{entity.Project[Member](entity.Project[Member](nilQuery())).Into(&m)}, "EDD-9127", "cannot be gathered"},
		"nil slice":   {[]entity.CollectionPart{a.Into(nil)}, "EDD-9105", "a pointer to a slice"},
		"nil":         {[]entity.CollectionPart{a.Into(&m), nil}, "EDD-9114", "part 1 is nil"},
		"another DB":  {[]entity.CollectionPart{elseDB.Into(&m)}, "EDD-9114", "another DB"},
		"requests":    {[]entity.CollectionPart{o.members.Query(Member{Tenant: "a"}, entity.MaxRequests(1)).Into(&m)}, "EDD-9108", "MaxRequests"},
		"evaluated":   {[]entity.CollectionPart{o.members.Query(Member{Tenant: "a"}, entity.MaxEvaluated(1)).Into(&m)}, "EDD-9108", "MaxEvaluated"},
		"no tenant":   {[]entity.CollectionPart{a.Into(&m), o.notices.Query(Notice{}).Into(&x)}, "EDD-9101", "missing"},
	} {
		err := o.db.GetCollection(t.Context(), c.parts...)
		var input *entity.InputError
		require.ErrorAs(t, err, &input, name)
		require.Equal(t, c.code, input.Code, name)
		require.Contains(t, err.Error(), c.says, name)
		require.NotContains(t, err.Error(), "TENANT", "%s: values may be secret", name)
	}
	require.Empty(t, o.sent())
	require.True(t, strings.HasPrefix(a.Into(&m).String(), "Query Member on "), "a part prints its query")
}

// nilQuery is a query that is none of this module.
func nilQuery() entity.Query[Member] { return nil }
