package key_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

var formats = []key.TimeFormat{key.Nano, key.Micro, key.Milli, key.Second, key.Unix, key.UnixMilli}

func TestTimeFormatNames(t *testing.T) {
	for i, name := range []string{"ns", "us", "ms", "s", "unix", "unixms"} {
		f, ok := key.ParseTimeFormat(name)
		require.True(t, ok, name)
		assert.Equal(t, formats[i], f)
		assert.Equal(t, name, f.String())
	}
	for _, name := range []string{"", "NS", "iso"} {
		_, ok := key.ParseTimeFormat(name)
		assert.False(t, ok, name)
	}
	assert.Equal(t, "TimeFormat(-1)", key.TimeFormat(-1).String())
	assert.Equal(t, "TimeFormat(6)", key.TimeFormat(6).String())
}

func TestTimeFormatText(t *testing.T) {
	at := time.Date(2026, 4, 22, 12, 30, 0, 123456789, time.FixedZone("", 2*3600))
	tests := []struct {
		format key.TimeFormat
		unit   time.Duration
		text   string
	}{
		{key.Nano, 1, "2026-04-22T10:30:00.123456789Z"},
		{key.Micro, time.Microsecond, "2026-04-22T10:30:00.123456Z"},
		{key.Milli, time.Millisecond, "2026-04-22T10:30:00.123Z"},
		{key.Second, time.Second, "2026-04-22T10:30:00Z"},
		{key.Unix, time.Second, "1776853800"},
		{key.UnixMilli, time.Millisecond, "1776853800123"},
	}
	for _, test := range tests {
		t.Run(test.format.String(), func(t *testing.T) {
			assert.Equal(t, test.unit, test.format.Unit())
			text := must(test.format.Format(at))
			assert.Equal(t, test.text, text)

			back := must(test.format.Parse(text))
			assert.Equal(t, test.format.Truncate(at), back)
			assert.Equal(t, time.UTC, back.Location())
			assert.True(t, test.format.Exact(back))
			assert.Equal(t, test.format == key.Nano, test.format.Exact(at))

			av := must(test.format.Value(at))
			if test.format.Text() {
				assert.Equal(t, &types.AttributeValueMemberS{Value: test.text}, av)
			} else {
				assert.Equal(t, &types.AttributeValueMemberN{Value: test.text}, av)
			}
			back = must(test.format.FromValue(av))
			assert.Equal(t, test.format.Truncate(at), back)
		})
	}
	assert.False(t, key.Unix.Text())
	assert.False(t, key.UnixMilli.Text())
	assert.True(t, key.Second.Text())
}

func TestTimeFormatTruncatesTowardsThePast(t *testing.T) {
	before := time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for f, want := range map[key.TimeFormat]string{
		key.Nano: "1969-12-31T23:59:59.999999999Z", key.Micro: "1969-12-31T23:59:59.999999Z",
		key.Milli: "1969-12-31T23:59:59.999Z", key.Second: "1969-12-31T23:59:59Z",
		key.Unix: "-1", key.UnixMilli: "-1",
	} {
		text := must(f.Format(before))
		assert.Equal(t, want, text)
	}
	// Truncation does not leave the second either in the era before year 1.
	old := time.Date(0, 3, 1, 0, 0, 0, 1, time.UTC)
	assert.Equal(t, time.Date(0, 3, 1, 0, 0, 0, 0, time.UTC), key.Second.Truncate(old))
}

func TestTimeFormatYears(t *testing.T) {
	first := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for _, f := range formats {
		t.Run(f.String(), func(t *testing.T) {
			for _, at := range []time.Time{first, last, {}} {
				text := must(f.Format(at))
				back := must(f.Parse(text))
				assert.Equal(t, f.Truncate(at), back)
			}
			for _, at := range []time.Time{
				first.Add(-1), last.Add(1), time.Unix(math.MaxInt64, 0), time.Unix(math.MinInt64, 0),
				first.In(time.FixedZone("", -3600)).Add(-time.Hour),
			} {
				_, err := f.Format(at)
				require.ErrorContains(t, err, "years 0000 to 9999")
				_, err = f.Value(at)
				require.ErrorContains(t, err, "years 0000 to 9999")
			}
		})
	}
}

func TestTimeFormatParse(t *testing.T) {
	want := time.Date(2026, 4, 22, 10, 0, 0, 500_000_000, time.UTC)
	for _, text := range []string{
		"2026-04-22T10:00:00.5Z", "2026-04-22T10:00:00.500000Z", "2026-04-22T12:00:00.50+02:00",
		"2026-04-22T09:30:00.500-00:30", "2026-04-22t10:00:00.5z",
	} {
		for _, f := range []key.TimeFormat{key.Nano, key.Micro, key.Milli, key.Second} {
			got, err := f.Parse(text)
			require.NoError(t, err, text)
			assert.Equal(t, want, got)
		}
	}
	for _, text := range []string{"", "2026-04-22", "2026-04-22T10:00:00", "1776852000", "secret"} {
		_, err := key.Nano.Parse(text)
		require.EqualError(t, err, "is not an RFC 3339 time")
	}
	for _, text := range []string{"", "1.5", "1e9", "x", "2026-04-22T10:00:00Z", "9223372036854775808"} {
		_, err := key.Unix.Parse(text)
		require.EqualError(t, err, "is not a whole number")
	}
	for _, text := range []string{"253402300800", "-62167219201", "9223372036854775807", "-9223372036854775808"} {
		_, err := key.Unix.Parse(text)
		require.EqualError(t, err, "is outside the years 0000 to 9999")
	}
	for _, text := range []string{"253402300800000", "-62167219200001"} {
		_, err := key.UnixMilli.Parse(text)
		require.EqualError(t, err, "is outside the years 0000 to 9999")
	}
	_, err := key.Nano.Parse("9999-12-31T23:59:59-01:00")
	require.EqualError(t, err, "is outside the years 0000 to 9999")
}

func TestTimeFormatFromValueOfWrongType(t *testing.T) {
	s, n := &types.AttributeValueMemberS{Value: "2026-04-22T10:00:00Z"}, &types.AttributeValueMemberN{Value: "1"}
	for _, av := range []types.AttributeValue{nil, n, (*types.AttributeValueMemberS)(nil), &types.AttributeValueMemberBOOL{}} {
		_, err := key.Milli.FromValue(av)
		require.EqualError(t, err, "is not a string")
	}
	for _, av := range []types.AttributeValue{nil, s, (*types.AttributeValueMemberN)(nil), &types.AttributeValueMemberBOOL{}} {
		_, err := key.UnixMilli.FromValue(av)
		require.EqualError(t, err, "is not a number")
	}
}

func TestTimeFormat_TextsAreThoseOfTimeFormat(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 1))
	layouts := map[key.TimeFormat]string{
		key.Nano: "2006-01-02T15:04:05.000000000Z", key.Micro: "2006-01-02T15:04:05.000000Z", key.Milli: "2006-01-02T15:04:05.000Z", key.Second: "2006-01-02T15:04:05Z",
	}
	first, last := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	times := []time.Time{first, last, {}, time.Unix(0, -1), time.Unix(0, 0)}
	for range testsize.Pick(2000, 1_000_000) {
		at := time.Unix(first.Unix()+r.Int64N(last.Unix()-first.Unix()), r.Int64N(1e9))
		times = append(times, at.In(time.FixedZone("", r.IntN(86_400)-43_200)))
	}
	for _, at := range times {
		for f, layout := range layouts {
			text := must(f.Format(at))
			require.Equal(t, at.UTC().Format(layout), text)
		}
	}
}
