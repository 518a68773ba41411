package console

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// A schema that is made from the lock has the keys of the declared one.
func TestRestore_IsTheInverseOfTheLock(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, now: noon}
	l.declare(nil, "app")
	m, err := modelOfDB(l.db)
	require.NoError(t, err)
	var declared []*schema.Schema
	for _, table := range engine.DatabaseOf(l.db).Tables() {
		declared = append(declared, table.Entities...)
	}
	require.Len(t, m.entities, len(declared))
	for _, s := range declared {
		e, err := m.entity(s.Name)
		require.NoError(t, err)
		same(t, s.PK, e.s.PK)
		same(t, s.SK, e.s.SK)
		require.Len(t, e.s.Indexes, len(s.Indexes))
		for _, x := range s.Indexes {
			y, err := e.index(x.Name)
			require.NoError(t, err)
			same(t, x.PK, y.PK)
			same(t, x.SK, y.SK)
			require.Equal(t, x.Project, y.Project)
		}
		require.Equal(t, s.Expires, e.s.Expires, s.Name)
		require.Equal(t, s.HasMetadata, e.s.HasMetadata)
		require.Equal(t, s.Prefix, e.s.Prefix)
		require.Equal(t, s.Options.TTL, e.s.Options.TTL)
	}
}

func same(t *testing.T, a, b *schema.KeyDef) {
	t.Helper()
	require.Equal(t, a.String(), b.String())
	require.Equal(t, a.Attributes(), b.Attributes())
	if a.Written() {
		require.Equal(t, a.Template.Describe(), b.Template.Describe())
	}
}

// A value that does not fit its key part is refused with an example of one that does, and not searched as text.
func TestKey_SaysHowAValueIsGiven(t *testing.T) {
	t.Parallel()
	type visit struct {
		_    entity.Key `name:"Visit" pk:"$#{at}#{n}#{u}" sk:"$#{open}"`
		_    entity.GSI `name:"byEnd" index:"gsi1" pk:"ended" sk:"count"`
		At   time.Time  `dynamodbav:"at"`
		N    int        `dynamodbav:"n"`
		U    uint8      `dynamodbav:"u"`
		Open bool       `dynamodbav:"open"`
		End  time.Time  `dynamodbav:"ended"`
		C    float64    `dynamodbav:"count"`
	}
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	entity.Must(entity.New[visit](db))
	e := entity.Must(entity.Must(modelOfDB(db)).entity("Visit"))
	x := entity.Must(e.index("byEnd"))
	for _, c := range []struct{ part, text, says string }{
		{"at", "today", "at must be a time, such as 2026-04-22T12:00:00Z"}, {"n", "x", "n must be a whole number, such as -42"},
		{"u", "-1", "u must be a whole number from 0, such as 42"}, {"open", "maybe", "open must be true or false"},
	} {
		g := given{"at": "2026-04-22T12:00:00Z", "n": "1", "u": "1", "open": "true"}
		_, err := e.primary(g)
		require.NoError(t, err)
		g[c.part] = c.text
		_, err = e.primary(g)
		require.ErrorContains(t, err, c.says)
	}
	for _, c := range []struct{ part, text, says string }{{"ended", "today", "ended must be a time, such as 2026-04-22T12:00:00Z"}, {"count", "x", "count must be a number, such as 42"}} {
		g := given{"ended": "2026-04-22T12:00:00Z", "count": "1.5"}
		g[c.part] = c.text
		_, _, err := e.queryInput(x, x.PK, g)
		require.ErrorContains(t, err, c.says)
	}
	_, err := e.primary(given{"zz": "1", "aa": "1"})
	require.ErrorContains(t, err, "the key has no part aa; it has: at, n, u, open")
}

// Any item is decoded: what is damaged or foreign is marked.
func TestDecode_MarksWhatDoesNotBelong(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, now: noon}
	l.declare(nil, "app")
	m, err := modelOfDB(l.db)
	require.NoError(t, err)
	current := func(change func(item.Item)) item.Item {
		it := item.Item{"pk": item.S("$app#v1#employee#e-1"), "sk": item.S("$app#v1#employee"), schema.EntityAttr: item.S("Employee"), schema.WriteAttr: item.S("w"), "employeeId": item.S("e-1")}
		change(it)
		return it
	}
	for name, c := range map[string]struct {
		it      item.Item
		kind    Kind
		problem string
	}{
		"current":      {current(func(item.Item) {}), KindCurrent, ""},
		"other type":   {current(func(it item.Item) { it["displayName"] = item.N("7") }), KindCurrent, "attribute displayName is stored as N, declared as S"},
		"other key":    {current(func(it item.Item) { it["employeeId"] = item.S("e-2") }), KindCurrent, "its key does not follow from its attributes"},
		"later kind":   {current(func(it item.Item) { it["sk"] = item.S("$app#v1#employee#z#1") }), KindUnknown, "related item of an unknown kind"},
		"other entity": {current(func(it item.Item) { it[schema.EntityAttr] = item.S("Other") }), KindUnknown, "of no declared entity"},
		"empty":        {item.Item{}, KindUnknown, "of no declared entity"},
		"numbers":      {item.Item{"pk": item.N("1"), "sk": &types.AttributeValueMemberB{Value: []byte{0xff}}}, KindUnknown, "of no declared entity"},
		"null":         {item.Item{"pk": nil, schema.EntityAttr: nil}, KindUnknown, "of no declared entity"},
		"sentinel":     {item.Item{"pk": item.S("$app#v1#employee.email#a"), "sk": item.S("$app#v1#employee.email"), schema.EntityAttr: item.S("Employee._unique.email"), schema.OwnerPKAttr: item.S("$app#v1#employee#e-1"), schema.OwnerSKAttr: item.S("$app#v1#employee")}, KindSentinel, ""},
		"no owner":     {item.Item{"pk": item.S("$app#v1#employee.email#a"), schema.EntityAttr: item.S("Employee._unique.email")}, KindSentinel, ""},
		"old sentinel": {item.Item{"pk": item.S("$app#v1#employee.phone#x"), schema.EntityAttr: item.S("Employee._unique.phone")}, KindSentinel, "of a constraint that is not declared"},
		"checkpoint":   {item.Item{"pk": item.S("$app#v1#employee._rewrite#x"), schema.EntityAttr: item.S("Employee._rewrite")}, KindCheckpoint, ""},
		"only named":   {item.Item{"pk": item.S("x"), schema.EntityAttr: item.S("Employee._rewrite")}, KindUnknown, "of no declared entity"},
		"row":          {item.Item{"pk": item.S("$app#v1#timeline-visits#g"), "sk": item.S("$app#v1#timeline-visits#d-7"), schema.EntityAttr: item.S("Timeline-visits")}, KindRow, ""},
		"manifest":     {item.Item{"pk": item.S("$app#v1#timelinemanifest-visits#v"), "sk": item.S("$app#v1#timelinemanifest-visits"), schema.EntityAttr: item.S("TimelineManifest-visits")}, KindManifest, ""},
	} {
		x := m.decode("app", c.it, noon.Add(time.Hour))
		require.Equal(t, c.kind, x.Kind, name)
		require.Equal(t, c.problem, x.Problem, name)
		require.NotEmpty(t, x.object(), name)
	}
}
