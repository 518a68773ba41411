package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

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
