package rules_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// UID is what uuid.UUID is: an array of bytes that marshals itself as text, which attributevalue stores as binary.
type UID [16]byte

func (u UID) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%x-%x", u[:8], u[8:]), nil }

func (u *UID) UnmarshalText(text []byte) error {
	var b []byte
	if n, err := fmt.Sscanf(strings.Replace(string(text), "-", "", 1), "%x", &b); n != 1 || err != nil || len(b) != len(u) {
		return errors.New("no UID: " + string(text)) // it quotes the value
	}
	copy(u[:], b)
	return nil
}

// Rank has the order of its text.
type Rank struct{ n int }

func (r Rank) MarshalText() ([]byte, error) {
	if r.n > 999 {
		return nil, fmt.Errorf("too high: %d", r.n)
	}
	return fmt.Appendf(nil, "r%03d", r.n), nil
}

func (r *Rank) UnmarshalText(text []byte) error {
	return dbtest.ErrorOf(fmt.Sscanf(string(text), "r%03d", &r.n))
}

type Host struct {
	_ entity.Key        `name:"Host" pk:"$#{id}" sk:"$#{addr}"`
	_ entity.GSI        `name:"byRank" index:"gsi1" pk:"$#{owner}" sk:"$#{rank}" project:"keys"`
	_ entity.GSI        `name:"byAddr" index:"gsi2" pk:"gsi2pk={addr}" sk:"gsi2sk={rank}"`
	_ versioned.Retain  `ttl:"1d"`
	_ unique.Constraint `name:"peer" fields:"peer"`

	ID      UID         `dynamodbav:"id"`
	Addr    netip.Addr  `dynamodbav:"addr"`
	Owner   UID         `dynamodbav:"owner,omitempty" entity:"text"`
	Rank    Rank        `dynamodbav:"rank" entity:"text=ordered,zero"`
	Amount  *big.Int    `dynamodbav:"amount,omitempty"`
	Gateway net.IP      `dynamodbav:"gateway,omitempty" entity:"text"`
	Peer    *netip.Addr `dynamodbav:"peer,omitempty"`
	Raw     UID         `dynamodbav:"raw"`
	Version int64       `dynamodbav:"version" entity:"version"`
}

func host(n byte) Host {
	peer := netip.MustParseAddr(fmt.Sprintf("fe80::%d", n))
	return Host{
		ID: UID{n}, Addr: netip.MustParseAddr("10.0.0.1"), Owner: UID{0xff, n}, Rank: Rank{int(n)}, Amount: big.NewInt(int64(n) - 5), Gateway: net.IPv4(10, 0, 0, n),
		Peer: &peer, Raw: UID{n}, Version: 1,
	}
}

// Types that marshal themselves as text are stored as text, are key parts, and come back.
func TestText_IsStoredAndReadBack(t *testing.T) {
	l, s := opened[Host](t)
	h := host(1)
	h.Owner = UID{0xff}
	made := entity.Must(s.Create(t.Context(), h))
	require.Equal(t, h.Addr, made.Addr)
	require.Zero(t, h.Amount.Cmp(made.Amount))
	got := entity.Must(s.Get(t.Context(), Host{ID: h.ID, Addr: h.Addr}))
	require.Equal(t, made, got)
	out := l.Item("$app#v1#host#0100000000000000-0000000000000000", "$app#v1#host#10.0.0.1")
	for name, want := range map[string]types.AttributeValue{
		"id": dbtest.S("0100000000000000-0000000000000000"), "addr": dbtest.S("10.0.0.1"), "owner": dbtest.S("ff00000000000000-0000000000000000"), "rank": dbtest.S("r001"),
		"amount": dbtest.S("-4"), "gateway": dbtest.S("10.0.0.1"), "peer": dbtest.S("fe80::1"), "gsi1sk": dbtest.S("$app#v1#host#r001"),
		"raw": &types.AttributeValueMemberB{Value: h.Raw[:]}, // as it was stored before
	} {
		require.Equal(t, want, out[name], name)
	}

	f, key := entity.Fields[Host](), Host{ID: h.ID, Addr: h.Addr}
	got, err := s.Update(t.Context(), key, entity.Set(&f.Rank, Rank{7}), entity.Remove(&f.Gateway), entity.If(entity.Eq(&f.Owner, h.Owner), entity.In(&f.Amount, big.NewInt(-4))))
	require.NoError(t, err)
	require.Equal(t, Rank{7}, got.Rank)
	require.Nil(t, got.Gateway)
	got = entity.Must(s.Modify(t.Context(), key, func(h *Host) error { h.Amount = big.NewInt(9); return nil }))
	require.Equal(t, "9", got.Amount.String())
	peers := entity.Must(unique.Of(s, "peer"))
	require.Equal(t, h.ID, entity.Must(peers.Find(t.Context(), Host{Peer: h.Peer})).ID)
	old := entity.Must(entity.Must(versioned.Of(s)).Get(t.Context(), key, 1))
	require.Equal(t, Rank{1}, old.Item.Rank)

	for i := byte(2); i < 5; i++ {
		h := host(i)
		h.Owner = UID{0xff}
		l.OK(s.Create(t.Context(), h))
	}
	byRank := entity.Must(s.Index("byRank"))
	list := entity.Must(byRank.Query(Host{Owner: UID{0xff}}, entity.Between(&f.Rank, Rank{3}, Rank{8})).Collect(t.Context()))
	require.Equal(t, []Host{{ID: UID{3}, Addr: h.Addr, Owner: UID{0xff}, Rank: Rank{3}}, {ID: UID{4}, Addr: h.Addr, Owner: UID{0xff}, Rank: Rank{4}}, {ID: UID{1}, Addr: h.Addr, Owner: UID{0xff}, Rank: Rank{7}}}, list, "in the order of their text, read back from keys")
	list = entity.Must(entity.Must(s.Index("byAddr")).Query(Host{Addr: h.Addr}, entity.Ge(&f.Rank, Rank{4}), entity.Filter(entity.Ne(&f.Amount, big.NewInt(-1)))).Collect(t.Context()))
	require.Len(t, list, 1)
	list = entity.Must(s.Query(Host{ID: UID{3}}, entity.Eq(&f.Addr, h.Addr)).Collect(t.Context()))
	require.Len(t, list, 1)
}

func TestText_MistakesAreFoundBeforeARequest(t *testing.T) {
	s := dbtest.Declare[Host](t, onPaper(t))
	f, key := entity.Fields[Host](), Host{ID: UID{1}, Addr: netip.MustParseAddr("10.0.0.1")}
	_, err := s.Query(Host{ID: UID{1}}, entity.Gt(&f.Addr, key.Addr)).Collect(t.Context())
	dbtest.RequireInput(t, err, "EDD-9156", "Addr")
	require.NotContains(t, err.Error(), "10.0.0.1")
	_, err = s.Update(t.Context(), key, entity.Remove(&f.Peer), entity.If(entity.Lt(&f.Amount, big.NewInt(1))))
	dbtest.RequireInput(t, err, "EDD-9156", "Amount")
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Get(t.Context(), Host{ID: UID{1}})), "EDD-9101", "Addr")
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Get(t.Context(), Host{Addr: key.Addr})), "EDD-9101", "ID")
	bad := host(1)
	bad.Rank = Rank{31415}
	_, err = s.Create(t.Context(), bad)
	dbtest.RequireInput(t, err, "EDD-9102", "Rank")
	require.NotContains(t, err.Error(), "31415")
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&f.Rank, Rank{31415}))), "EDD-9102", "Rank")
}

// What is stored in another form is read where the type could be stored so before, and is an error elsewhere.
func TestText_OtherForms(t *testing.T) {
	l, s := opened[Clock](t)
	read := func(more dbtest.Item) (Clock, error) {
		more["id"] = dbtest.S("k")
		l.PutItem(more)
		return s.Get(t.Context(), Clock{ID: "k"})
	}
	got := entity.Must(read(dbtest.Item{"uid": &types.AttributeValueMemberB{Value: make([]byte, 16)}, "rank": &types.AttributeValueMemberNULL{Value: true}}))
	require.Equal(t, Clock{ID: "k"}, got)
	for attr, av := range map[string]types.AttributeValue{"addr": digits(1), "uid": dbtest.S("hush-hush"), "rank": dbtest.S("hush-hush")} {
		_, err := read(dbtest.Item{attr: av})
		misfit := dbtest.As[*entity.DecodeError](t, err, attr)
		require.Equal(t, attr, misfit.Attr)
		silent(t, attr, err.Error())
		require.Nil(t, errors.Unwrap(misfit))
	}
}

// Blob has keys that are arrays of bytes, which DynamoDB compares as bytes.
type Blob struct {
	_ entity.Key `name:"Blob" pk:"id" sk:"part"`
	_ entity.GSI `name:"byOwner" index:"owner-index" pk:"owner" sk:"id"`

	ID    [16]byte  `dynamodbav:"id" entity:"id=uuidv7"`
	Part  [2]byte   `dynamodbav:"part" entity:"zero"`
	Owner *[16]byte `dynamodbav:"owner,omitempty"`
	Text  string    `dynamodbav:"text,omitempty"`
}

// An array of bytes is a native key of the type binary, stored as attributevalue stores it, in every verb.
func TestBytes_AnArrayIsABinaryKey(t *testing.T) {
	b, s := opened[Blob](t)
	ctx, owner, id := t.Context(), [16]byte{255, 1}, [16]byte{0, 128}
	var want []Blob
	for i := range 5 {
		v := Blob{ID: id, Part: [2]byte{byte(i * 60)}, Owner: &owner, Text: "x"}
		want = append(want, entity.Must(s.Create(ctx, v)))
		require.Equal(t, v, want[i])
	}
	for _, it := range b.Items() {
		var v Blob
		require.NoError(t, attributevalue.UnmarshalMap(it, &v))
		require.Equal(t, entity.Must(attributevalue.MarshalMap(v)), it)
		require.Len(t, it["id"].(*types.AttributeValueMemberB).Value, 16)
	}
	require.Equal(t, types.ScalarAttributeTypeB, b.Described(b.Table).AttributeDefinitions[0].AttributeType)

	require.Equal(t, want[0], entity.Must(s.Get(ctx, Blob{ID: id, Part: want[0].Part})))
	many := entity.Must(s.GetMany(ctx, []Blob{{ID: id, Part: want[3].Part}, {ID: id, Part: [2]byte{9}}}))
	require.Equal(t, &want[3], many[0])
	require.Nil(t, many[1])
	f := entity.Fields[Blob]()
	require.Equal(t, want[2:], entity.Must(s.Query(Blob{ID: id}, entity.Gt(&f.Part, want[1].Part)).Collect(ctx)))
	require.Equal(t, want[1:3], entity.Must(s.Query(Blob{ID: id}, entity.Between(&f.Part, want[1].Part, want[2].Part)).Collect(ctx)))
	byOwner := entity.Must(s.Index("byOwner"))
	for _, q := range []entity.Query[Blob]{s.Query(Blob{ID: id}, entity.Limit(2)), byOwner.Query(Blob{Owner: &owner}, entity.Limit(2)), s.Scan(entity.Limit(2))} {
		var got []Blob
		for _, page := range dbtest.Pages(t, q) {
			got = append(got, page...)
		}
		require.ElementsMatch(t, want, got)
	}

	changed := entity.Must(s.Update(ctx, Blob{ID: id, Part: want[0].Part}, entity.Set(&f.Text, "y"), entity.If(entity.Eq(&f.ID, id))))
	require.Equal(t, "y", changed.Text)
	changed = entity.Must(s.Modify(ctx, Blob{ID: id, Part: want[0].Part}, func(v *Blob) error { v.Owner = nil; return nil }))
	require.Nil(t, changed.Owner)
	changed, _, err := s.Upsert(ctx, Blob{ID: id, Part: want[0].Part, Text: "z"})
	require.NoError(t, err)
	require.Equal(t, "z", changed.Text)
	require.NoError(t, b.DB.Transact(ctx, s.Op().Delete(Blob{ID: id, Part: want[0].Part}), s.Op().CheckExists(Blob{ID: id, Part: want[1].Part})))
	require.Empty(t, entity.Must(s.DeleteMany(ctx, want[1:])))
	require.Empty(t, b.Items())

	made := entity.Must(s.Create(ctx, Blob{}))
	require.Equal(t, byte(7), made.ID[6]>>4)
	require.Equal(t, made, entity.Must(s.Get(ctx, Blob{ID: made.ID})))
}

// Beat is a series whose clock effect-dynamodb has as a bigint: nanoseconds since 1970, in 38 digits in keys.
type Beat struct {
	_ entity.Key        `name:"Beat" pk:"$#id_{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" digits:"38"`

	ID    string `dynamodbav:"id"`
	At    int64  `dynamodbav:"at"`
	Value *int   `dynamodbav:"value,omitempty" entity:"append"`
}

// Shelf has a bigint in its sort key, Row the same as a number.
type Shelf struct {
	_  entity.Key `name:"Shelf" pk:"$#id_{id}" sk:"$#at_{at:038}"`
	ID string     `dynamodbav:"id"`
	At int64      `dynamodbav:"at"`
}

type Row struct {
	_  entity.Key `name:"Shelf" pk:"$#id_{id}" sk:"$#at_{at}"`
	ID string     `dynamodbav:"id"`
	At int64      `dynamodbav:"at"`
}

func shared(c *entity.Config) { c.Interop, c.TimePrecision = true, time.Millisecond }

func digits(n any) types.AttributeValue { return dbtest.N(fmt.Sprint(n)) }

// Integers in 38 digits are read where they are declared, and are an error where they are not.
func TestDigits_BigintsOfASharedTable(t *testing.T) {
	l, beats := following[Beat](t, shared)
	times := []int64{1, 999, 1776859200123456788, 1776859200123456789}
	for _, at := range times[:3] {
		l.PutItem(dbtest.Item{
			"pk": dbtest.S("$app#v1#beat#id_x"), "sk": dbtest.S(fmt.Sprintf("$app#v1#beat#e#%038d", at)), "__edd_e__": dbtest.S("Beat"), "id": dbtest.S("x"), "at": digits(at),
		})
	}
	five := 5
	require.True(t, entity.Must(beats.Append(t.Context(), Beat{ID: "x", At: times[3], Value: &five})).Applied)
	read := func(opts ...entity.QueryOption) (found []int64) {
		all := entity.Must(beats.History(Beat{ID: "x"}, opts...).Collect(t.Context()))
		for _, b := range all {
			found = append(found, b.At)
		}
		return found
	}
	at := &entity.Fields[Beat]().At
	require.Equal(t, times, read())
	require.Equal(t, times[2:], read(entity.Gt(at, times[1])))
	require.Equal(t, times[1:3], read(entity.Between(at, 2, times[2])))
	require.Equal(t, times[3:], read(entity.Eq(at, times[3])))

	// The same, declared as if the clock was a number.
	wrong := entity.Must(timeseries.New[sample](l.Open(l.Client), entity.Named("Beat")))
	for what, q := range map[string]entity.Query[sample]{
		"all": wrong.History(sample{ID: "id_x"}), "at most": wrong.History(sample{ID: "id_x"}, entity.Le(&entity.Fields[sample]().At, 5), entity.Desc(), entity.Limit(1)),
	} {
		_, err := q.Collect(t.Context())
		var misfit *entity.DecodeError
		require.ErrorAs(t, err, &misfit, what)
		require.Equal(t, "at", misfit.Attr, what)
		require.ErrorAs(t, dbtest.ErrorOf(q.Count(t.Context())), &misfit, what)
	}

	shelves, rows := dbtest.Declare[Shelf](t, l.Open(l.Client)), dbtest.Declare[Row](t, l.Open(l.Client))
	l.OK(shelves.Create(t.Context(), Shelf{ID: "s", At: times[2]}))
	require.Equal(t, []Shelf{{ID: "s", At: times[2]}}, entity.Must(shelves.Query(Shelf{ID: "s"}).Collect(t.Context())))
	dbtest.As[*entity.DecodeError](t, dbtest.ErrorOf(rows.Query(Row{ID: "s"}).Collect(t.Context())), "they are there, and were passed over")

	require.Equal(t, "EDD-9003", dbtest.SchemaCode(dbtest.ErrorOf(timeseries.New[Beat](onPaper(t)))))
}

// Clock counts in every way that a table of another program may have, and has types that marshal themselves as text.
type Clock struct {
	_      entity.Key `name:"Clock" pk:"id"`
	ID     string     `dynamodbav:"id"`
	Sec    time.Time  `dynamodbav:"sec" entity:"time=unix"`
	Milli  *time.Time `dynamodbav:"milli,omitempty" entity:"time=unixms"`
	Count  int64      `dynamodbav:"count" entity:"time=unixms"`
	Inside struct {
		At  time.Time  `dynamodbav:"at"`
		Opt *time.Time `dynamodbav:"opt,unixtime"`
	} `dynamodbav:"inside"`
	UID  UID        `dynamodbav:"uid" entity:"text"`
	Addr netip.Addr `dynamodbav:"addr"`
	Rank *Rank      `dynamodbav:"rank" entity:"secret"`
}

// A number that is no time of its unit is an error, whatever its size; none is read as another time.
func TestDigits_TimesThatDoNotFit(t *testing.T) {
	l, s := opened[Clock](t)
	huge := []string{strings.Repeat("9", 38), "-9223372036854775808", "9223372036854775808", "253402300800000"}
	inside := func(name, n string) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: dbtest.Item{name: digits(n)}}
	}
	for _, n := range huge {
		for attr, av := range map[string]types.AttributeValue{"sec": digits(n), "milli": digits(n), "count": digits(n), "inside.at": inside("at", n), "inside.opt": inside("opt", n)} {
			name, _, _ := strings.Cut(attr, ".")
			l.PutItem(dbtest.Item{"id": dbtest.S("a"), name: av})
			got, err := s.Get(t.Context(), Clock{ID: "a"})
			if name == "count" && err == nil { // an integer is what it is
				require.Equal(t, n, fmt.Sprint(got.Count))
				continue
			}
			require.Equal(t, name, dbtest.As[*entity.DecodeError](t, err, "%s = %s gave %v", attr, n, got).Attr)
		}
	}
}

// A declaration that is ahead of the table is named, by a class and with table and index.
func TestIndex_ThatTheTableLacks(t *testing.T) {
	l := before(t)
	s := dbtest.Declare[Indexed](t, l.Open(l.Client))
	byDay := entity.Must(s.Index("byDay"))
	for what, run := range map[string]func(context.Context) error{
		"query": func(ctx context.Context) error {
			return dbtest.ErrorOf(byDay.Query(Indexed{Day: "mon"}).Collect(ctx))
		},
		"scan":  func(ctx context.Context) error { return dbtest.ErrorOf(byDay.Scan().Collect(ctx)) },
		"count": func(ctx context.Context) error { return dbtest.ErrorOf(byDay.Query(Indexed{Day: "mon"}).Count(ctx)) },
	} {
		l.Operations()
		err := run(t.Context())
		require.ErrorIs(t, err, entity.ErrNoIndex, what)
		require.NotErrorIs(t, err, entity.ErrNoTable, what)
		no := dbtest.As[*entity.IndexError](t, err, what)
		require.Equal(t, []any{l.Config.Table, "gsi2", false}, []any{no.Table, no.Index, no.Building}, what)
		dbtest.As[smithy.APIError](t, err, "what DynamoDB said stays behind it")
		require.Contains(t, l.Operations(), "DescribeTable", what)
	}
	l.Operations()
	_ = entity.Must(s.Query(Indexed{ID: "x"}).Collect(t.Context()))
	require.Equal(t, []string{"Query"}, l.Operations(), "asked for after a failure only")
	none := entity.Must(dbtest.Declare[Indexed](t, l.Open(l.Client, func(c *entity.Config) { c.Table += "-none" })).Index("byDay"))
	_, err := none.Query(Indexed{Day: "mon"}).Collect(t.Context())
	require.ErrorIs(t, err, entity.ErrNoTable)
	require.NotErrorIs(t, err, entity.ErrNoIndex)
}

// Job has key parts of every kind, and indexes that carry nothing or little apart from keys.
type Job struct {
	_ entity.Key `name:"Job" pk:"$#{tenant}#id_{id}" sk:"$#{at}#{urgent}"`
	_ entity.GSI `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{try:04}#{seen}" project:"keys"`
	_ entity.GSI `name:"byOwner" index:"gsi2" pk:"gsi2pk=OWNER#{owner}--{team}" sk:"gsi2sk={due}" project:"title"`
	_ entity.GSI `name:"byTeam" index:"gsi3" pk:"team" sk:"$#{big}" project:"keys"`

	Tenant string    `dynamodbav:"tenant"`
	ID     uint32    `dynamodbav:"id"`
	At     time.Time `dynamodbav:"at"`
	Urgent bool      `dynamodbav:"urgent" entity:"zero"`
	State  string    `dynamodbav:"state,omitempty"`
	Try    int       `dynamodbav:"try" entity:"zero"`
	Seen   time.Time `dynamodbav:"seen" entity:"time=unixms"`
	Owner  string    `dynamodbav:"owner,omitempty"`
	Team   *string   `dynamodbav:"team,omitempty"`
	Due    time.Time `dynamodbav:"due" entity:"time=s"`
	Big    int64     `dynamodbav:"big" entity:"zero"`
	Title  string    `dynamodbav:"title,omitempty"`
	Notes  string    `dynamodbav:"notes,omitempty"`
}

func jobs() []Job {
	team := "t#1 ü"
	return []Job{
		{
			Tenant: "a#b % $", ID: 7, At: noon, Urgent: true, State: "open/½", Try: 0, Seen: noon.Truncate(time.Millisecond), Owner: "o-1", Team: &team,
			Due: noon.Truncate(time.Second), Big: 1 << 62, Title: "first", Notes: "long",
		},
		{
			Tenant: "a", ID: 1, At: noon.Add(1), State: "open/½", Try: 12, Seen: noon.Truncate(time.Hour), Owner: "o-1", Team: &team,
			Due: noon.Truncate(time.Hour), Title: "second",
		},
	}
}

// Items of an index that carries keys alone have the values of their key parts.
func TestProject_KeyPartsComeBack(t *testing.T) {
	l, s := opened[Job](t)
	all := jobs()
	for _, j := range all {
		l.OK(s.Create(t.Context(), j))
	}
	byState, byOwner, byTeam := entity.Must(s.Index("byState")), entity.Must(s.Index("byOwner")), entity.Must(s.Index("byTeam"))
	team := all[0].Team
	for what, one := range map[string]struct {
		q    entity.Query[Job]
		want func(Job) Job
	}{
		"template": {byState.Query(Job{State: "open/½"}), func(j Job) Job {
			return Job{Tenant: j.Tenant, ID: j.ID, At: j.At, Urgent: j.Urgent, State: j.State, Try: j.Try, Seen: j.Seen}
		}},
		"verbatim": {byOwner.Query(Job{Owner: "o-1", Team: team}, entity.Desc()), func(j Job) Job {
			return Job{Tenant: j.Tenant, ID: j.ID, At: j.At, Urgent: j.Urgent, Owner: j.Owner, Team: j.Team, Due: j.Due, Title: j.Title}
		}},
		"native": {byTeam.Query(Job{Team: team}, entity.Desc()), func(j Job) Job {
			return Job{Tenant: j.Tenant, ID: j.ID, At: j.At, Urgent: j.Urgent, Team: j.Team, Big: j.Big}
		}},
	} {
		want := []Job{one.want(all[0]), one.want(all[1])}
		got, err := one.q.Collect(t.Context())
		require.NoError(t, err, what)
		require.Equal(t, want, got, what)
		first, err := one.q.First(t.Context())
		require.NoError(t, err, what)
		require.Equal(t, want[0], first, what)
		full, err := s.Get(t.Context(), first)
		require.NoError(t, err, "the key that came back is that of the item")
		require.Equal(t, all[0], full)
	}
	scanned := entity.Must(byState.Scan().Collect(t.Context()))
	require.Len(t, scanned, 2)
	require.NotEmpty(t, scanned[0].Tenant)

	type slim struct {
		Tenant string `dynamodbav:"tenant"`
		Try    int    `dynamodbav:"try"`
	}
	slims, err := entity.Project[slim](byState.Query(Job{State: "open/½"})).Collect(t.Context())
	require.NoError(t, err, "what the index does not carry is not asked for")
	require.Equal(t, []slim{{"a#b % $", 0}, {"a", 12}}, slims)
	slims = entity.Must(entity.Project[slim](s.Query(Job{Tenant: "a", ID: 1})).Collect(t.Context()))
	require.Equal(t, []slim{{"a", 12}}, slims)
}

func TestKey_OfAnotherProgramFillsItsFields(t *testing.T) {
	t.Parallel()
	type Place struct {
		_ entity.Key `name:"Place" pk:"country={cc}" sk:"place={city}/{zip:05}"`
		_ entity.GSI `name:"byKind" index:"gsi1" pk:"gsi1pk=K#{kind}"`

		Country string `dynamodbav:"cc"`
		City    string `dynamodbav:"city"`
		Zip     int    `dynamodbav:"zip"`
		Kind    string `dynamodbav:"kind,omitempty"`
		People  int    `dynamodbav:"people"`
	}
	l, s := dbtest.OpenStore[Place](t)
	put := func(sk string, more dbtest.Item) {
		it := dbtest.Item{"country": dbtest.S("CH"), "place": dbtest.S(sk), "people": dbtest.N("5")}
		for name, av := range more {
			it[name] = av
		}
		l.PutItem(it)
	}
	put("Bern/03000", dbtest.Item{"gsi1pk": dbtest.S("K#left behind")})
	want := Place{Country: "CH", City: "Bern", Zip: 3000, People: 5}
	got := entity.Must(s.Get(t.Context(), Place{Country: "CH", City: "Bern", Zip: 3000}))
	require.Equal(t, want, got, "the primary key is read back, an index key that may be stale is not")
	require.Equal(t, []Place{want}, entity.Must(s.Query(Place{Country: "CH"}).Collect(t.Context())))
	l.OK(s.Update(t.Context(), want, entity.Set(&entity.Fields[Place]().People, 6)))

	put("Chur", nil)
	_, err := s.Query(Place{Country: "CH"}).Collect(t.Context())
	misfit := dbtest.As[*entity.DecodeError](t, err, "no field is filled with what the key does not say")
	require.Equal(t, "city", misfit.Attr)
	require.NotContains(t, misfit.Error(), "Chur")
}
