package entity_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// Shade is a number whose key is its name.
type Shade int

func (s Shade) MarshalText() ([]byte, error) {
	if s < 0 {
		return nil, errors.New("no name")
	}
	return []byte{'s', byte('0' + s)}, nil
}

func (s *Shade) UnmarshalText(text []byte) error {
	*s = Shade(text[1] - '0')
	return nil
}

// Keyed has maps with keys of every kind.
type Keyed struct {
	_ entity.Key `name:"Keyed" pk:"$#{id}" sk:"$"`

	ID     string             `dynamodbav:"id"`
	Int    map[int]int        `dynamodbav:"int"`
	Small  map[uint8]int      `dynamodbav:"small"`
	Bool   map[bool]int       `dynamodbav:"bool"`
	Float  map[float64]int    `dynamodbav:"float"`
	Shades map[Shade]int      `dynamodbav:"shades"`
	Addrs  map[netip.Addr]int `dynamodbav:"addrs"`
}

func TestMapEntry_FindsKeysAsTheyAreStored(t *testing.T) {
	home := netip.MustParseAddr("10.0.0.7")
	whole := Keyed{
		ID: "a", Int: map[int]int{-7: 1}, Small: map[uint8]int{255: 1}, Bool: map[bool]int{true: 1}, Float: map[float64]int{1.5e21: 1},
		Shades: map[Shade]int{3: 1}, Addrs: map[netip.Addr]int{home: 1},
	}
	l, s := opened(t, whole)
	f := entity.Fields[Keyed]()
	bySDK := entity.Must(attributevalue.MarshalMap(whole))
	for name, av := range l.Item("$app#v1#keyed#a", "$app#v1#keyed") {
		if name == "id" || bySDK[name] == nil {
			continue
		}
		require.Equal(t, bySDK[name], av, name)
	}
	got := entity.Must(s.Update(l.Ctx, Keyed{ID: "a"},
		entity.MapEntry(&f.Int, -7).Add(1), entity.MapEntry(&f.Int, 1<<40).Set(2), entity.MapEntry(&f.Small, 255).Set(2), entity.MapEntry(&f.Bool, true).Remove(),
		entity.MapEntry(&f.Float, 1.5e21).Set(2), entity.MapEntry(&f.Shades, 3).Set(2), entity.MapEntry(&f.Shades, 4).Set(5), entity.MapEntry(&f.Addrs, home).Set(2),
		entity.If(entity.MapEntry(&f.Addrs, home).Eq(1), entity.MapEntry(&f.Shades, 3).Lt(2), entity.MapEntry(&f.Bool, false).NotExists())))
	require.Equal(t, Keyed{
		ID: "a", Int: map[int]int{-7: 2, 1 << 40: 2}, Small: map[uint8]int{255: 2}, Bool: map[bool]int{}, Float: map[float64]int{1.5e21: 2},
		Shades: map[Shade]int{3: 2, 4: 5}, Addrs: map[netip.Addr]int{home: 2},
	}, got)
	require.Equal(t, got, entity.Must(s.Get(l.Ctx, Keyed{ID: "a"}, entity.Consistent())))

	l.Sent()
	for _, change := range []entity.UpdateOption{entity.MapEntry(&f.Shades, -1).Set(1), entity.MapEntry(&f.Addrs, netip.Addr{}).Set(1)} {
		require.Equal(t, "EDD-9102", dbtest.InputCode(dbtest.ErrorOf(s.Update(l.Ctx, Keyed{ID: "a"}, change))))
	}
	other := map[*Shade]int{}
	l.requireRefused(t, dbtest.ErrorOf(s.Update(l.Ctx, Keyed{ID: "a"}, entity.MapEntry(&other, nil).Set(1))), "EDD-9105", "")
}
