package rules_test

import (
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
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
	_, err := fmt.Sscanf(string(text), "r%03d", &r.n)
	return err
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
	t.Parallel()
	l, s := dbtest.OpenStore[Host](t)
	h := host(1)
	h.Owner = UID{0xff}
	made, err := s.Create(t.Context(), h)
	require.NoError(t, err)
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
	got, err = s.Update(t.Context(), key, entity.Set(&f.Rank, Rank{7}), entity.Remove(&f.Gateway), entity.If(entity.Eq(&f.Owner, h.Owner), entity.In(&f.Amount, big.NewInt(-4))))
	require.NoError(t, err)
	require.Equal(t, Rank{7}, got.Rank)
	require.Nil(t, got.Gateway)
	got, err = s.Modify(t.Context(), key, func(h *Host) error { h.Amount = big.NewInt(9); return nil })
	require.NoError(t, err)
	require.Equal(t, "9", got.Amount.String())
	peers := entity.Must(unique.Of(s, "peer"))
	found, err := peers.Find(t.Context(), Host{Peer: h.Peer})
	require.NoError(t, err)
	require.Equal(t, h.ID, found.ID)
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
	t.Parallel()
	s := dbtest.Declare[Host](t, onPaper(t))
	f, key := entity.Fields[Host](), Host{ID: UID{1}, Addr: netip.MustParseAddr("10.0.0.1")}
	_, err := s.Query(Host{ID: UID{1}}, entity.Gt(&f.Addr, key.Addr)).Collect(t.Context())
	dbtest.RequireInput(t, err, "EDD-9156", "Addr")
	require.NotContains(t, err.Error(), "10.0.0.1")
	_, err = s.Update(t.Context(), key, entity.Remove(&f.Peer), entity.If(entity.Lt(&f.Amount, big.NewInt(1))))
	dbtest.RequireInput(t, err, "EDD-9156", "Amount")
	_, err = s.Get(t.Context(), Host{ID: UID{1}})
	dbtest.RequireInput(t, err, "EDD-9101", "Addr")
	_, err = s.Get(t.Context(), Host{Addr: key.Addr})
	dbtest.RequireInput(t, err, "EDD-9101", "ID")
	bad := host(1)
	bad.Rank = Rank{31415}
	_, err = s.Create(t.Context(), bad)
	dbtest.RequireInput(t, err, "EDD-9102", "Rank")
	require.NotContains(t, err.Error(), "31415")
	_, err = s.Update(t.Context(), key, entity.Set(&f.Rank, Rank{31415}))
	dbtest.RequireInput(t, err, "EDD-9102", "Rank")
}

// What is stored in another form is read where the type could be stored so before, and is an error elsewhere.
func TestText_OtherForms(t *testing.T) {
	t.Parallel()
	type Form struct {
		_    entity.Key `name:"Form" pk:"key"`
		Key  string     `dynamodbav:"key"`
		ID   UID        `dynamodbav:"id" entity:"text"`
		Addr netip.Addr `dynamodbav:"addr"`
		Rank *Rank      `dynamodbav:"rank" entity:"secret"`
	}
	l, s := dbtest.OpenStore[Form](t)
	read := func(more dbtest.Item) (Form, error) {
		more["key"] = dbtest.S("k")
		l.PutItem(more)
		return s.Get(t.Context(), Form{Key: "k"})
	}
	got, err := read(dbtest.Item{"id": &types.AttributeValueMemberB{Value: make([]byte, 16)}, "rank": &types.AttributeValueMemberNULL{Value: true}})
	require.NoError(t, err)
	require.Equal(t, Form{Key: "k"}, got)
	for attr, av := range map[string]types.AttributeValue{"addr": digits(1), "id": dbtest.S("hush-hush"), "rank": dbtest.S("hush-hush")} {
		_, err := read(dbtest.Item{attr: av})
		var misfit *entity.DecodeError
		require.ErrorAs(t, err, &misfit, attr)
		require.Equal(t, attr, misfit.Attr)
		silent(t, attr, err.Error())
		require.Nil(t, errors.Unwrap(misfit))
	}
}
