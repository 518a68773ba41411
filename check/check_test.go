package check_test

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/check"
)

type word string

// refused checks that err is that rule's, and says nothing of the value.
func refused(t *testing.T, rule check.Rule, value string, err error) {
	t.Helper()
	var bad *check.Error
	require.ErrorAs(t, err, &bad, "%q", value)
	assert.Equal(t, rule, bad.Rule)
	assert.NotEmpty(t, bad.Problem)
	if len(value) > 3 {
		assert.NotContains(t, err.Error(), value)
	}
}

func TestMAC_TakesUpperCasePairsOnly(t *testing.T) {
	t.Parallel()
	for _, good := range []check.MAC{"AA:BB:CC:00:11:22", "00:00:00:00:00:00", "FF:FF:FF:FF:FF:FF", "09:AF:90:FA:1B:C2"} {
		assert.NoError(t, good.Validate(), "%s", good)
	}
	for _, bad := range []check.MAC{
		"", "aa:bb:cc:00:11:22", "AA:BB:CC:00:11:2g", "AA:BB:CC:00:11:G2", "AA-BB-CC-00-11-22", "AABBCC001122", "AA:BB:CC:00:11",
		"AA:BB:CC:00:11:22:33", "AA:BB:CC:00:11:2", "AA:BB:CC:00:11:222", " AA:BB:CC:00:11:22", "AA:BB:CC:00:11:22\n", "AA:BB:CC:00:11:2２",
	} {
		refused(t, check.RuleMAC, string(bad), bad.Validate())
	}
}

func TestMAC_IsThePatternItSays(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(`\A[0-9A-F]{2}(:[0-9A-F]{2}){5}\z`)
	rapid.Check(t, func(t *rapid.T) {
		s := []byte(rapid.StringMatching(`[0-9A-F]{2}(:[0-9A-F]{2}){5}`).Draw(t, "mac"))
		if rapid.Bool().Draw(t, "change") {
			s[rapid.IntRange(0, len(s)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		s = s[:rapid.IntRange(0, len(s)).Draw(t, "length")]
		assert.Equal(t, pattern.Match(s), check.MAC(s).Validate() == nil, "%q", s)
	})
}

func TestUUID4_TakesVersionFourInLowerCaseOnly(t *testing.T) {
	t.Parallel()
	for _, good := range []check.UUID4{"550e8400-e29b-41d4-a716-446655440000", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"} {
		assert.NoError(t, good.Validate(), "%s", good)
	}
	for _, bad := range []check.UUID4{
		"", "a1b2c3d4-e5f6-7890-abcd-ef1234567890", "550E8400-E29B-41D4-A716-446655440000", "550e8400-e29b-41d4-c716-446655440000",
		"550e8400-e29b-41d4-7716-446655440000", "550e8400e29b41d4a716446655440000", "{550e8400-e29b-41d4-a716-446655440000}",
		"550e8400-e29b-41d4-a716-44665544000", "550e8400-e29b-41d4-a716-4466554400000", "550e8400-e29b-41d4-a716-44665544000g",
		"00000000-0000-0000-0000-000000000000", "550e8400-e29b-11d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000\n",
	} {
		refused(t, check.RuleUUID4, string(bad), bad.Validate())
	}
}

func TestUTCSeconds_TakesOneSpellingOfATime(t *testing.T) {
	t.Parallel()
	for _, good := range []check.UTCSeconds{"2026-04-22T12:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2024-02-29T00:00:00Z"} {
		assert.NoError(t, good.Validate(), "%s", good)
	}
	for _, bad := range []check.UTCSeconds{
		"", "2026-04-22T12:00:00.0Z", "2026-04-22T12:00:00.123456789Z", "2026-04-22T12:00:00+00:00", "2026-04-22T13:00:00+01:00",
		"2026-04-22T12:00:00z", "2026-04-22 12:00:00Z", "2026-04-22t12:00:00Z", "2023-02-29T00:00:00Z", "2026-04-22T24:00:00Z",
		"2026-04-22T1:00:00Z", "2026-04-22T12:00:00,5Z", "2026-04-22T12:00:60Z", "10000-01-01T00:00:00Z", "2026-04-22", "1713787200",
	} {
		refused(t, check.RuleUTCSeconds, string(bad), bad.Validate())
	}
}

func TestPrintable_TakesSpaceToTilde(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		s := word([]byte{'a', byte(b), 'z'})
		err := check.Printable(s)
		if b >= 0x20 && b <= 0x7e {
			assert.NoError(t, err, "%#x", b)
			continue
		}
		refused(t, check.RulePrintable, string(s), err)
		refused(t, check.RulePrintable, string(s), check.ASCII(s).Validate())
	}
	assert.NoError(t, check.ASCII("").Validate())
	refused(t, check.RulePrintable, "grün", check.Printable("grün"))
}

func TestLengths_CountBytesOrCharacters(t *testing.T) {
	t.Parallel()
	const greeting = word("grüß") // six bytes
	assert.NoError(t, check.Characters(greeting, 4, 4))
	refused(t, check.RuleCharacters, string(greeting), check.Characters(greeting, 1, 3))
	refused(t, check.RuleCharacters, string(greeting), check.Characters(greeting, 5, 6))
	assert.NoError(t, check.Bytes(greeting, 6, 6))
	assert.NoError(t, check.Bytes([]byte(greeting), 1, 6))
	refused(t, check.RuleBytes, string(greeting), check.Bytes(greeting, 1, 5))
	refused(t, check.RuleBytes, "", check.Bytes("", 1, 5))
	assert.NoError(t, check.Characters("\xff\xfe", 2, 2))
}

func TestPattern_SaysWhatIsWantedOrTheExpression(t *testing.T) {
	t.Parallel()
	re := regexp.MustCompile(`^v\d+$`)
	assert.NoError(t, check.Pattern(word("v12"), re, ""))
	err := check.Pattern(word("beta"), re, "")
	refused(t, check.RulePattern, "beta", err)
	assert.ErrorContains(t, err, re.String())
	err = check.Pattern("beta", re, "a release like v12")
	assert.EqualError(t, err, "pattern: a release like v12 is needed")
}

func TestOneOf_ListsWhatIsAllowed(t *testing.T) {
	t.Parallel()
	assert.NoError(t, check.OneOf(word("ok"), "ok", "error"))
	err := check.OneOf(word("broken"), "ok", "error")
	refused(t, check.RuleOneOf, "broken", err)
	assert.EqualError(t, err, `one_of: one of "ok", "error" is needed`)
	refused(t, check.RuleOneOf, "", check.OneOf(7, 1, 2))
	refused(t, check.RuleOneOf, "", check.OneOf(7))
}

func TestBetween_IncludesItsEnds(t *testing.T) {
	t.Parallel()
	for v, good := range map[int64]bool{946684799999: false, 946684800000: true, 1704067800000: true, 4102444800000: true, 4102444800001: false, -1: false} {
		assert.Equal(t, good, check.Between(v, 946684800000, 4102444800000) == nil, "%d", v)
	}
	refused(t, check.RuleBetween, "NaN", check.Between(math.NaN(), -1, 1))
	assert.NoError(t, check.Between("m", "a", "z"))
}

func TestFinite_RefusesNaNAndInfinities(t *testing.T) {
	t.Parallel()
	assert.NoError(t, check.Finite(math.MaxFloat64))
	assert.NoError(t, check.Finite(float32(-1.5)))
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		refused(t, check.RuleFinite, "", check.Finite(f))
		refused(t, check.RuleFinite, "", check.Finite(float32(f)))
	}
}

func TestUnixTimes_TellSecondsFromMilliseconds(t *testing.T) {
	t.Parallel()
	first, last := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	for v, good := range map[int64]bool{946684799: false, 946684800: true, 4102444800: true, 4102444801: false, 1704067800000: false, 0: false} {
		assert.Equal(t, good, check.UnixSeconds(v, first, last) == nil, "%d s", v)
	}
	for v, good := range map[int64]bool{946684799999: false, 946684800000: true, 4102444800000: true, 4102444800001: false, 1704067800: false} {
		assert.Equal(t, good, check.UnixMillis(v, first, last) == nil, "%d ms", v)
	}
	late := first.Add(1)
	refused(t, check.RuleUnixSeconds, "946684800", check.UnixSeconds(int64(946684800), late, last))
	assert.NoError(t, check.UnixSeconds(int64(946684801), late, last))
	refused(t, check.RuleUnixMillis, "946684800000", check.UnixMillis(int64(946684800000), late, last))
	assert.NoError(t, check.UnixMillis(int64(946684800001), late, last))
	old := time.Unix(-2, 5e8) // one and a half seconds before 1970
	refused(t, check.RuleUnixSeconds, "", check.UnixSeconds(int64(-2), old, last))
	assert.NoError(t, check.UnixSeconds(int64(-1), old, last))
	assert.NoError(t, check.UnixMillis(int64(-1500), old, last))
}

func TestErrors_AreFoundAmongJoinedOnes(t *testing.T) {
	t.Parallel()
	name := word(strings.Repeat("ü", 70))
	err := errors.Join(check.Characters(name, 1, 64), check.Printable(name))
	for _, rule := range []check.Rule{check.RuleCharacters, check.RulePrintable} {
		assert.ErrorContains(t, err, string(rule))
	}
	assert.NoError(t, errors.Join(check.Characters("Bern", 1, 64), check.Printable("Bern")), "a rule that is followed is a nil error")
}
