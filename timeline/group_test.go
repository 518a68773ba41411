package timeline_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/timeline"
)

// compound is a group key with a part of every kind.
type compound struct {
	Name   string
	Number int64
	Small  int8
	Big    uint64
	Yes    bool
	At     time.Time
}

func compounds() *rapid.Generator[compound] {
	texts := rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 2, 3, ' ', '#', '$', '%', 'a', 'b', 0x10FFFF}), 1, 4, -1), rapid.StringN(1, 8, -1))
	return rapid.Custom(func(t *rapid.T) compound {
		zone := time.FixedZone("", rapid.SampledFrom([]int{0, 3600, -7200}).Draw(t, "zone"))
		return compound{
			Name: texts.Draw(t, "name"), Number: rapid.OneOf(rapid.Int64(), rapid.Int64Range(-2, 2)).Draw(t, "number"),
			Small: rapid.Int8().Draw(t, "small"), Big: rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 2)).Draw(t, "big"),
			Yes: rapid.Bool().Draw(t, "yes"),
			At:  time.Unix(rapid.Int64Range(-62135596799, 253402300799).Draw(t, "s"), rapid.Int64Range(0, 3).Draw(t, "ns")).In(zone),
		}
	})
}

// order is how keys are meant to be ordered: by their parts, strings as bytes.
func (c compound) order(d compound) int {
	number := map[bool]int{true: 1}
	return cmp.Or(
		strings.Compare(c.Name, d.Name), cmp.Compare(c.Number, d.Number), cmp.Compare(c.Small, d.Small),
		cmp.Compare(c.Big, d.Big), cmp.Compare(number[c.Yes], number[d.Yes]), c.At.Compare(d.At),
	)
}

func TestTextsOfGroupKeysDifferAndAreOrderedAsTheKeys(t *testing.T) {
	t.Parallel()
	for range 100 { // times rapid.checks, which is few for cases with a database
		rapid.Check(t, orderOfTexts)
	}
}

func orderOfTexts(t *rapid.T) {
	a, b := compounds().Draw(t, "a"), compounds().Draw(t, "b")
	if rapid.Bool().Draw(t, "alike") { // or they would differ in their names nearly always
		b.Name = a.Name
		if rapid.Bool().Draw(t, "more") {
			b.Number, b.Small = a.Number, a.Small
		}
		if rapid.Bool().Draw(t, "all but the time") {
			b.Number, b.Small, b.Big, b.Yes = a.Number, a.Small, a.Big, a.Yes
		}
	}
	textA, err := timeline.GroupText(a)
	require.NoError(t, err)
	textB, err := timeline.GroupText(b)
	require.NoError(t, err)
	require.Equal(t, a.order(b), strings.Compare(textA, textB), "%+v is %q, %+v is %q", a, textA, b, textB)
}

func TestAnEmptyStringOrZeroTimeIsNoGroup(t *testing.T) {
	t.Parallel()
	missing := func(_ string, err error) {
		t.Helper()
		assert.ErrorIs(t, err, timeline.ErrGroupKeyMissing)
	}
	missing(timeline.GroupText(""))
	missing(timeline.GroupText("\xff"))
	missing(timeline.GroupText(time.Time{}))
	missing(timeline.GroupText(struct {
		Site   string
		Number int
	}{"", 1}))
	_, err := timeline.GroupText(struct{ A, B string }{"a", ""})
	assert.ErrorContains(t, err, "B is empty", "it tells which part")
	_, err = timeline.GroupText(time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC))
	require.Error(t, err, "a year that texts have no place for")
	assert.False(t, errors.Is(err, timeline.ErrGroupKeyMissing))
	texts := map[string]bool{}
	for _, present := range []func() (string, error){
		func() (string, error) { return timeline.GroupText(0) },
		func() (string, error) { return timeline.GroupText(-1) },
		func() (string, error) { return timeline.GroupText(false) },
		func() (string, error) { return timeline.GroupText(struct{}{}) },
		func() (string, error) { return timeline.GroupText("0") },
		func() (string, error) { return timeline.GroupText(uint8(0)) },
	} {
		text, err := present()
		require.NoError(t, err, "zero is a value")
		texts[text] = true
	}
	assert.Len(t, texts, 6)
}
