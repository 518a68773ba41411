package entity_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestCreate_StoresExactlyTheDocumentedItem(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	it := l.stored(t, aliceKey)
	require.True(t, l.ids.has(it["_w"][2:len(it["_w"])-1]), "the write id comes from Config.NewID")
	delete(it, "_w")
	require.Equal(t, raw{
		"pk": `S"$app#v1#employee#emp-alice"`, "sk": `S"$app#v1#employee"`, "__edd_e__": `S"Employee"`,
		"gsi1pk": `S"$app#v1#employee#t-acme"`, "gsi1sk": `S"$app#v1#employee#Engineering#emp-alice"`,
		"employeeId": `S"emp-alice"`, "tenantId": `S"t-acme"`, "department": `S"Engineering"`, "displayName": `S"Alice"`,
		"salary": `N100`, "version": `N1`,
		"createdAt": `S"2024-05-06T07:08:09.123456789Z"`, "updatedAt": `S"2024-05-06T07:08:09.123456789Z"`,
	}, it, "seenAt, hiredBy and nickname are omitempty and absent; there is no _pv for payload 1")
}

func TestCreate_ReturnsTheItemAsStored(t *testing.T) {
	t.Parallel()
	_, s := open[Employee](t)
	got, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	require.Equal(t, dawn, got.CreatedAt)
	require.Equal(t, got.CreatedAt, got.UpdatedAt)
	require.EqualValues(t, 1, got.Version)
	again, err := s.Get(t.Context(), employeeKey("emp-alice"), entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, got, again)
}

func TestCreate_IgnoresOwnedFieldsAndLeavesTheCallersStructAlone(t *testing.T) {
	t.Parallel()
	_, s := open[Employee](t)
	v := alice()
	got, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, alice(), v)
	require.NotEqual(t, v.Version, got.Version)
	require.NotEqual(t, v.CreatedAt, got.CreatedAt)
}

// A condition is added to the guard and never replaces it.
func TestCreate_IfNeverReplacesTheGuard(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	before := l.everything(t)
	other := alice()
	other.DisplayName = "Usurper"
	for name, cond := range map[string]entity.Cond{
		"a condition that holds": entity.Eq(&e.Salary, 100),
		"Or at the top":          entity.Or(entity.Eq(&e.Salary, 100), entity.Eq(&e.Salary, 1)),
		"Not":                    entity.Not(entity.Eq(&e.Salary, 1)),
		"Or inside And":          entity.And(entity.Exists(&e.DisplayName), entity.Or(entity.Eq(&e.Salary, 1), entity.Ne(&e.Salary, 1))),
	} {
		_, err := s.Create(t.Context(), other, entity.If(cond))
		require.ErrorIs(t, err, entity.ErrExists, name)
		require.NotErrorIs(t, err, entity.ErrConditionFailed, name)
	}
	require.Equal(t, before, l.everything(t))
}

func TestCreate_FailedIfOnAnAbsentItemIsErrCondition(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice(), entity.If(entity.Exists(&e.DisplayName)))
	requireClass(t, err, entity.ErrConditionFailed, "Create")
	require.Empty(t, l.everything(t))
	_, err = s.Create(t.Context(), alice(), entity.If(entity.NotExists(&e.DisplayName)))
	require.NoError(t, err)
}

func TestCreate_VerbatimItemsCarryNothingHidden(t *testing.T) {
	t.Parallel()
	l, s := open[Batch](t)
	seen := dawn.Truncate(time.Millisecond)
	_, err := s.Create(t.Context(), Batch{DeviceID: "d#1", Timestamp: 1714979289123, BatchID: "b-1", LastSeenAt: seen})
	require.NoError(t, err)
	require.Equal(t, map[string]raw{`S"d#1" S"1714979289123#b-1"`: {
		"device_id": `S"d#1"`, "ts_batch": `S"1714979289123#b-1"`, "timestamp_ms": "N1714979289123", "batch_id": `S"b-1"`,
		"last_seen_at": `S"2024-05-06T07:08:09.123Z"`, "created_at": `S"2024-05-06T07:08:09.123Z"`,
		"gsi1pk": `S"devices"`, "gsi1sk": `S"2024-05-06T07:08:09.123Z"`,
		"gsi2pk": `S"d#1"`, "gsi2sk": `S"2024-05-06T07:08:09.123Z"`,
	}}, l.everything(t), "values stand in verbatim keys as they are")
}

// Clocked has one time in each format.
type Clocked struct {
	_ entity.Key `name:"Clocked" pk:"$#{id}"`

	ID     string    `dynamodbav:"id"`
	Nanos  time.Time `dynamodbav:"nanos" entity:"time=ns"`
	Micros time.Time `dynamodbav:"micros" entity:"time=us"`
	Millis time.Time `dynamodbav:"millis" entity:"time=ms"`
	Secs   time.Time `dynamodbav:"secs" entity:"time=s"`
	Unix   time.Time `dynamodbav:"unix" entity:"time=unix"`
	UnixMS time.Time `dynamodbav:"unixms" entity:"time=unixms"`
	Tagged time.Time `dynamodbav:"tagged,unixtime"`
	Inner  struct {
		At    time.Time `dynamodbav:"at"`
		Never time.Time `dynamodbav:"never,omitempty"`
	} `dynamodbav:"inner"`
	Never   time.Time  `dynamodbav:"never,omitempty"`
	Maybe   *time.Time `dynamodbav:"maybe"`
	Created time.Time  `dynamodbav:"created" entity:"created_at,time=unix"`
	Updated time.Time  `dynamodbav:"updated" entity:"updated_at,time=us"`
}

func TestCreate_TimesHaveAFixedWidthInUTC(t *testing.T) {
	t.Parallel()
	l, s := open[Clocked](t)
	at := time.Date(2024, 1, 2, 5, 4, 5, 120000000, time.FixedZone("", 2*3600)) // trailing zeros must stay
	v := Clocked{ID: "a", Nanos: at, Micros: at, Millis: at, Secs: at, Unix: at, UnixMS: at, Tagged: at}
	v.Inner.At = at
	got, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	it := l.everything(t)[`S"$app#v1#clocked#a"`]
	delete(it, "_w")
	require.Equal(t, raw{
		"pk": `S"$app#v1#clocked#a"`, "__edd_e__": `S"Clocked"`, "id": `S"a"`,
		"nanos": `S"2024-01-02T03:04:05.120000000Z"`, "micros": `S"2024-01-02T03:04:05.120000Z"`,
		"millis": `S"2024-01-02T03:04:05.120Z"`, "secs": `S"2024-01-02T03:04:05Z"`,
		"unix": "N1704164645", "unixms": "N1704164645120", "tagged": "N1704164645",
		"inner": `M{at=S"2024-01-02T03:04:05.120000000Z"}`, "maybe": "NULL",
		"created": "N1714979289", "updated": `S"2024-05-06T07:08:09.123456Z"`,
	}, it)
	require.Equal(t, time.UTC, got.Nanos.Location())
	require.True(t, got.Nanos.Equal(at))
	require.Equal(t, dawn.Truncate(time.Second), got.Created)
	require.Equal(t, dawn.Truncate(time.Microsecond), got.Updated)
	again, err := s.Get(t.Context(), Clocked{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, got, again)
}

func TestConfig_TimePrecisionIsTheDefaultFormat(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t, func(c *entity.Config) { c.TimePrecision = time.Millisecond })
	got, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	require.Equal(t, `S"2024-05-06T07:08:09.123Z"`, l.stored(t, aliceKey)["createdAt"])
	require.Equal(t, dawn.Truncate(time.Millisecond), got.CreatedAt)
}

// Odd has an encoding of its own, and values that a plain codec would get wrong.
type Odd struct {
	_ entity.Key `name:"Odd" pk:"$#{id}"`

	ID     string         `dynamodbav:"id"`
	Bytes  []byte         `dynamodbav:"bytes,omitempty"`
	Hidden string         `dynamodbav:"-"`
	Text   int            `dynamodbav:"text,string"`
	Any    any            `dynamodbav:"any,omitempty"`
	Map    map[string]any `dynamodbav:"map,omitempty"`
	Money  money          `dynamodbav:"money"`
}

type money int

func (m money) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return str("cents"), nil
}

func (m *money) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error { *m = 42; return nil }

func TestCreate_UsesTheCodecsTagsAndMarshalers(t *testing.T) {
	t.Parallel()
	l, s := open[Odd](t)
	got, err := s.Create(t.Context(), Odd{ID: "a", Bytes: []byte{1, 2}, Hidden: "no", Text: 7, Map: map[string]any{"x": 1.5}})
	require.NoError(t, err)
	it := l.everything(t)[`S"$app#v1#odd#a"`]
	delete(it, "_w")
	require.Equal(t, raw{
		"pk": `S"$app#v1#odd#a"`, "__edd_e__": `S"Odd"`, "id": `S"a"`, "bytes": "B0102", "text": `S"7"`,
		"map": "M{x=N1.5}", "money": `S"cents"`,
	}, it)
	require.EqualValues(t, 42, got.Money)
	require.Empty(t, got.Hidden)
}
