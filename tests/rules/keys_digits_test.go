package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Beat is a series whose clock effect-dynamodb has as a bigint: nanoseconds since 1970, in 38 digits in keys.
type Beat struct {
	_ entity.Key        `name:"Beat" pk:"$#id_{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" digits:"38"`

	ID    string `dynamodbav:"id"`
	At    int64  `dynamodbav:"at"`
	Value *int   `dynamodbav:"value,omitempty" entity:"append"`
}

// Undigited is the same, declared as if the clock was a number.
type Undigited struct {
	_ entity.Key        `name:"Beat" pk:"$#id_{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at"`

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

func shared(c *entity.Config) {
	c.Interop, c.TimePrecision = true, time.Millisecond
}

func digits(n any) types.AttributeValue { return dbtest.N(fmt.Sprint(n)) }

// Integers in 38 digits are read where they are declared, and are an error where they are not.
func TestDigits_BigintsOfASharedTable(t *testing.T) {
	t.Parallel()
	l := dbtest.Open(t, shared)
	beats := entity.Must(timeseries.New[Beat](l.DB))
	l.CreateTables()
	times := []int64{1, 999, 1776859200123456788, 1776859200123456789}
	for _, at := range times[:3] {
		l.PutItem(dbtest.Item{
			"pk": dbtest.S("$app#v1#beat#id_x"), "sk": dbtest.S(fmt.Sprintf("$app#v1#beat#e#%038d", at)), "__edd_e__": dbtest.S("Beat"), "id": dbtest.S("x"), "at": digits(at),
		})
	}
	five := 5
	got, err := beats.Append(t.Context(), Beat{ID: "x", At: times[3], Value: &five})
	require.NoError(t, err)
	require.True(t, got.Applied)
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

	wrong := entity.Must(timeseries.New[Undigited](l.Open(l.Client)))
	for what, q := range map[string]entity.Query[Undigited]{
		"all": wrong.History(Undigited{ID: "x"}), "at most": wrong.History(Undigited{ID: "x"}, entity.Le(&entity.Fields[Undigited]().At, 5), entity.Desc(), entity.Limit(1)),
	} {
		_, err := q.Collect(t.Context())
		var misfit *entity.DecodeError
		require.ErrorAs(t, err, &misfit, what)
		require.Equal(t, "at", misfit.Attr, what)
		_, err = q.Count(t.Context())
		require.ErrorAs(t, err, &misfit, what)
	}

	shelves, rows := dbtest.Declare[Shelf](t, l.Open(l.Client)), dbtest.Declare[Row](t, l.Open(l.Client))
	l.OK(shelves.Create(t.Context(), Shelf{ID: "s", At: times[2]}))
	found := entity.Must(shelves.Query(Shelf{ID: "s"}).Collect(t.Context()))
	require.Equal(t, []Shelf{{ID: "s", At: times[2]}}, found)
	_, err = rows.Query(Row{ID: "s"}).Collect(t.Context())
	var misfit *entity.DecodeError
	require.ErrorAs(t, err, &misfit, "they are there, and were passed over")

	_, err = timeseries.New[Beat](onPaper(t))
	requireSchema(t, err, "EDD-9003", "_ timeseries.Events")
}

// Clock counts in every way that a table of another program may have.
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
}

// A number that is no time of its unit is an error, whatever its size; none is read as another time.
func TestDigits_TimesThatDoNotFit(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Clock](t)
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
			var misfit *entity.DecodeError
			require.ErrorAs(t, err, &misfit, "%s = %s gave %v", attr, n, got)
			require.Equal(t, name, misfit.Attr)
		}
	}
}
