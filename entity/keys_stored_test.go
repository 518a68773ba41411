package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// The tests named after a W are about defects that effect-dynamodb has: one each, the sentence says what is proved.

// Wired has key parts whose stored form is not their Go form: an epoch, a fraction, a folded text.
type Wired struct {
	_ entity.Key `name:"Wired" pk:"$#{day}#{serial}" sk:"$#{at}#{host|lower}"`
	_ entity.GSI `name:"bySerial" index:"gsi1" pk:"$#{serial}" sk:"$#{at}"`

	Day    time.Time `dynamodbav:"day" entity:"time=unix"`
	Serial int64     `dynamodbav:"serial"`
	At     time.Time `dynamodbav:"at" entity:"time=ms"`
	Host   string    `dynamodbav:"host"`
	Note   string    `dynamodbav:"note,omitempty"`
}

// Whatever form a key part has on disk, the struct that wrote the item reads, changes, lists and deletes it.
func TestKeys_TheStructThatWroteAnItemFindsItByEveryVerb(t *testing.T) {
	t.Parallel()
	l, s := open[Wired](t)
	f := entity.Fields[Wired]()
	east := time.FixedZone("", 5*3600+1800)
	made := Wired{Day: dawn.Truncate(time.Second).In(east), Serial: 42, At: dawn.Truncate(time.Millisecond).In(east), Host: "Web#1"}
	_, err := s.Create(t.Context(), made)
	require.NoError(t, err)
	at := `S"$app#v1#wired#0000000001714979289#0000000000000000042" S"$app#v1#wired#2024-05-06T07:08:09.123Z#web%231"`
	require.Contains(t, l.everything(t), at)

	read, err := s.Get(t.Context(), made)
	require.NoError(t, err)
	for what, key := range map[string]Wired{"as written": made, "as read": read, "key parts only": {Day: read.Day.Local(), Serial: 42, At: read.At.Local(), Host: "WEB#1"}} {
		_, err = s.Create(t.Context(), key)
		require.ErrorIs(t, err, entity.ErrExists, what)
		_, err = s.Update(t.Context(), key, entity.Set(&f.Note, what))
		require.NoError(t, err, what)
		_, err = s.Modify(t.Context(), key, func(v *Wired) error { v.Note += "!"; return nil })
		require.NoError(t, err, what)
		many, err := s.GetMany(t.Context(), []Wired{key}, entity.Consistent())
		require.NoError(t, err, what)
		require.NotNil(t, many[0], what)
		require.Equal(t, what+"!", many[0].Note)
		loaded := key
		require.NoError(t, l.db.TransactGet(t.Context(), s.Op().GetInto(&loaded)), what)
		require.NoError(t, l.db.Transact(t.Context(), s.Op().CheckExists(key, entity.Eq(&f.Serial, 42), entity.Eq(&f.At, key.At), entity.Eq(&f.Day, key.Day))), what)
		one, err := s.Query(Wired{Day: key.Day, Serial: 42}, entity.Eq(&f.At, key.At)).One(t.Context())
		require.NoError(t, err, what)
		require.Equal(t, what+"!", one.Note)
		bySerial, err := s.Index("bySerial")
		require.NoError(t, err)
		one, err = bySerial.Query(Wired{Serial: 42}, entity.Between(&f.At, key.At, key.At)).One(t.Context())
		require.NoError(t, err, what)
		require.Equal(t, what+"!", one.Note)
	}
	require.Len(t, l.everything(t), 1)
	require.NoError(t, s.Delete(t.Context(), read))
	require.Empty(t, l.everything(t))
}

// A condition on an index compares what is stored, and a value does not match longer ones that begin with it.
func TestKeys_ConditionsOnAnIndexMatchWholeStoredParts(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	f := entity.Fields[Employee]()
	byTenant, err := s.Index("byTenant")
	require.NoError(t, err)
	for id, department := range map[string]string{"1": "open", "2": "opened", "3": "Open", "4": "open#1", "5": "ope", "10": "open"} {
		_, err := s.Create(t.Context(), Employee{EmployeeID: id, TenantID: "u1", Department: department, DisplayName: "x"})
		require.NoError(t, err)
	}
	_, err = s.Create(t.Context(), Employee{EmployeeID: "99", TenantID: "u10", Department: "open", DisplayName: "x"})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		key  Employee
		opts []entity.QueryOption
		want []string
	}{
		"partition":         {Employee{TenantID: "u1"}, nil, []string{"3", "5", "1", "10", "4", "2"}},
		"filled in":         {Employee{TenantID: "u1", Department: "open"}, nil, []string{"1", "10"}},
		"Eq":                {Employee{TenantID: "u1"}, []entity.QueryOption{entity.Eq(&f.Department, "open")}, []string{"1", "10"}},
		"Eq of both":        {Employee{TenantID: "u1"}, []entity.QueryOption{entity.Eq(&f.Department, "open"), entity.Eq(&f.EmployeeID, "1")}, []string{"1"}},
		"Gt":                {Employee{TenantID: "u1"}, []entity.QueryOption{entity.Gt(&f.Department, "open")}, []string{"4", "2"}},
		"Le":                {Employee{TenantID: "u1"}, []entity.QueryOption{entity.Le(&f.Department, "open")}, []string{"3", "5", "1", "10"}},
		"Between":           {Employee{TenantID: "u1"}, []entity.QueryOption{entity.Between(&f.Department, "ope", "open")}, []string{"5", "1", "10"}},
		"BeginsWith is one": {Employee{TenantID: "u1"}, []entity.QueryOption{entity.BeginsWith(&f.Department, "open")}, []string{"1", "10", "4", "2"}},
	} {
		l.sent()
		got, err := byTenant.Query(c.key, c.opts...).Collect(t.Context())
		require.NoError(t, err, name)
		var ids []string
		for _, v := range got {
			ids = append(ids, v.EmployeeID)
		}
		require.Equal(t, c.want, ids, name)
		require.Equal(t, []string{"Query"}, l.sent(), name)
	}
}
