package stream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestOf_AnARNIsOneTableOfOneAccountAndRegion(t *testing.T) {
	t.Parallel()
	const arn, later = "arn:aws:dynamodb:eu-west-1:123456789012:table/app", "/stream/2026-04-22T10:00:00.000"
	of := func(table string) func(source string) bool {
		db, err := entity.Open(nil, entity.Config{Table: table})
		require.NoError(t, err)
		s := entity.Must(timeseries.New[Reading](db))
		return func(source string) bool {
			r := keysOnly(attributes{"pk": text("$app#v1#reading#d"), "sk": text("$app#v1#reading#c")})
			r.SourceARN = source
			_, ok, err := stream.Of(s, r)
			require.NoError(t, err)
			return ok
		}
	}
	byARN, byName := of(arn), of("app")
	for source, want := range map[string]struct{ arn, name bool }{
		arn + later: {true, true},
		arn:         {true, true},
		"":          {true, true},
		"arn:aws:dynamodb:eu-west-2:123456789012:table/app" + later:    {false, true},
		"arn:aws:dynamodb:eu-west-1:210987654321:table/app" + later:    {false, true},
		"arn:aws-cn:dynamodb:eu-west-1:123456789012:table/app" + later: {false, true},
		arn + "2" + later: {false, false},
		"arn:aws:dynamodb:ddblocal:000000000000:table/app" + later:  {true, true},
		"arn:aws:dynamodb:ddblocal:000000000000:table/app2" + later: {false, false},
	} {
		require.Equal(t, want.arn, byARN(source), source)
		require.Equal(t, want.name, byName(source), source)
	}
}
