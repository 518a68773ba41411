package timeseries_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Climate is what a device reports, by rules.
type Climate struct {
	_       entity.Key         `name:"Climate" pk:"$#{device}" sk:"$"`
	_       timeseries.Events  `orderBy:"at"`
	Device  Address            `dynamodbav:"device"`
	At      int64              `dynamodbav:"at"`
	Boot    Text               `dynamodbav:"boot" entity:"append,required"`
	Site    string             `dynamodbav:"site" entity:"append,required"`
	Sensors map[string]Celsius `dynamodbav:"sensors,omitempty" entity:"append"`
	Owner   Text               `dynamodbav:"owner,omitempty"`
}

// Celsius is a temperature on earth.
type Celsius float64

// Validate refuses what no sensor measures.
func (c Celsius) Validate() error {
	if c < -90 || c > 85 {
		return errOutside
	}
	return nil
}

// Text is plain ASCII.
type Text string

// Validate refuses other characters.
func (t Text) Validate() error {
	for _, c := range t {
		if c > 0x7e {
			return errOutside
		}
	}
	return nil
}

// Address is a hardware address.
type Address string

// Validate refuses what is too short.
func (a Address) Validate() error {
	if len(a) != len("AA:BB:CC:00:11:22") {
		return errOutside
	}
	return nil
}

var errOutside = errors.New("outside the rule")

func TestValidate_AppendTellsAllThatIsWrongWithWhatItCarries(t *testing.T) {
	t.Parallel()
	series := entity.Must(timeseries.New[Climate](entity.Must(entity.Open(nil, entity.Config{Table: "t"}))))
	ev := Climate{Device: "aa", At: 1, Sensors: map[string]Celsius{"in": 20, "out": 1000, "top": -91}, Owner: "Grün"}
	_, err := series.Append(t.Context(), ev)
	require.Equal(t, []string{"EDD-9103 timeseries_test.Climate.Boot", "EDD-9103 timeseries_test.Climate.Site",
		"EDD-9116 timeseries_test.Climate.Device", `EDD-9116 timeseries_test.Climate.Sensors["out"]`, `EDD-9116 timeseries_test.Climate.Sensors["top"]`}, mistakes(err))
	ev = Climate{Device: "AA:BB:CC:00:11:22", At: 1, Boot: "550e8400-e29b-41d4-a716-446655440000", Site: "roof", Owner: "Grün"}
	_, err = series.Append(t.Context(), ev)
	require.ErrorIs(t, err, entity.ErrNoClient, "an append does not carry the owner")
	c := entity.Fields[Climate]()
	_, err = series.Update(t.Context(), ev, entity.Set(&c.Owner, "Grün"))
	require.Equal(t, []string{"EDD-9116 timeseries_test.Climate.Owner"}, mistakes(err))
}

// mistakes are the codes and places in err, in order.
func mistakes(err error) []string {
	var input *entity.InputError
	var invalid *entity.ValidationError
	switch e := err.(type) {
	case *entity.InputError:
		return []string{e.Code + " " + e.Type + "." + e.Field}
	case *entity.ValidationError:
		return []string{e.Code + " " + e.Type + "." + e.Field}
	case interface{ Unwrap() []error }:
		var all []string
		for _, inner := range e.Unwrap() {
			all = append(all, mistakes(inner)...)
		}
		return all
	}
	if errors.As(err, &input) || errors.As(err, &invalid) {
		return mistakes(errors.Unwrap(err))
	}
	return nil
}
