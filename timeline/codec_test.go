package timeline_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
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

// order compares keys as they are to be ordered: by their parts, strings as bytes.
func (c compound) order(d compound) int {
	number := map[bool]int{true: 1}
	return cmp.Or(
		strings.Compare(c.Name, d.Name), cmp.Compare(c.Number, d.Number), cmp.Compare(c.Small, d.Small),
		cmp.Compare(c.Big, d.Big), cmp.Compare(number[c.Yes], number[d.Yes]), c.At.Compare(d.At),
	)
}

func TestGroupKey_TextsAreDistinctAndOrderedAsKeys(t *testing.T) {
	t.Parallel()
	for range 200 { // times rapid.checks, which is few for cases with a database
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
	textA := entity.Must(timeline.GroupText(a))
	textB := entity.Must(timeline.GroupText(b))
	require.Equal(t, a.order(b), strings.Compare(textA, textB), "%+v is %q, %+v is %q", a, textA, b, textB)
}

func TestGroupKey_EmptyStringOrZeroTimeIsMissing(t *testing.T) {
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
	assert.ErrorContains(t, err, "B is empty", "the message names the part")
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

// notes is a state whose values are not always read back as they were.
type notes struct {
	At    time.Time      `dynamodbav:"at"`
	Tags  []string       `dynamodbav:"tags"`
	By    map[string]tag `dynamodbav:"by"`
	Round rounded        `dynamodbav:"round"`
	Large string         `dynamodbav:"large"`
	Ratio float64        `dynamodbav:"ratio"`
	Picky picky          `dynamodbav:"picky"`
}

// picky fails to encode itself unless it is empty, with an error that quotes it.
type picky string

func (p picky) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	if p != "" {
		return nil, errors.New(string(p))
	}
	return &types.AttributeValueMemberS{}, nil
}

type tag struct {
	Places []rounded `dynamodbav:"places"`
}

// rounded encodes itself, and loses its fraction.
type rounded float64

func (r rounded) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(r), 10)}, nil
}

func (r *rounded) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	n, err := strconv.ParseInt(av.(*types.AttributeValueMemberN).Value, 10, 64)
	*r = rounded(n)
	return err
}

// TestRebuild_RejectsStatesThatStorageChanges says which group it was, and after which event.
func TestRebuild_RejectsStatesThatStorageChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set   func(*notes, time.Time)
		lost  string // the field that is named; "" when it is another failure, or none
		keeps bool
	}{
		"kept":              {set: func(s *notes, at time.Time) { *s = notes{At: at, Tags: []string{"b", "a", "b"}} }, keeps: true},
		"a zone":            {set: func(s *notes, at time.Time) { s.At = at.In(time.FixedZone("", 3600)) }, lost: "At"},
		"empty, not nil":    {set: func(s *notes, _ time.Time) { s.Tags = []string{} }, keeps: true},
		"a type of its own": {set: func(s *notes, _ time.Time) { s.Round = 1.5 }, lost: "Round"},
		"in an entry":       {set: func(s *notes, _ time.Time) { s.By = map[string]tag{"x": {}, "y": {Places: []rounded{1, 2.5}}} }, lost: "By{}.Places[]"},
		"too large":         {set: func(s *notes, _ time.Time) { s.Large = strings.Repeat("x", 500<<10) }},
		"no number":         {set: func(s *notes, _ time.Time) { s.Ratio = s.Ratio / s.Ratio }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			f := by(l, bySite, func(s *notes, e timeline.Event[reading]) error { c.set(s, e.At); return nil })
			v := view(l, f)
			l.append("d-1", "north", -2, -1)
			_, err := v.Rebuild(l.Ctx)
			_, past := v.Page(l.Ctx, 1, 1, timeline.AsOf(l.Clock.Now()))
			if c.keeps {
				require.NoError(t, err)
				require.NoError(t, past)
				return
			}
			wrong := failedAt(t, err, timeline.Storing, err)
			assert.Equal(t, "by", wrong.View)
			assert.Equal(t, `"north"`, wrong.Group)
			assert.Equal(t, "reading.appended", wrong.Event)
			assert.Contains(t, wrong.Key, at(-1).Format("2006-01-02T15:04:05"))
			assert.Contains(t, wrong.Source, "series:")
			assert.Equal(t, 1, wrong.Payload)
			meta, err2 := v.Meta(l.Ctx)
			require.NoError(t, err2)
			require.NotNil(t, meta.Failure)
			assert.Equal(t, `"north"`, meta.Failure.Group)
			if c.lost == "" {
				return
			}
			for _, err := range []error{err, past} {
				require.ErrorIs(t, err, timeline.ErrStateLost)
				assert.ErrorContains(t, err, ": "+c.lost+" is not preserved")
				require.ErrorAs(t, err, &wrong)
				assert.Equal(t, `"north"`, wrong.Group)
			}
		})
	}
}

// stay is a series with secret visitors.
type stay struct {
	_ entity.Key        `name:"Stay" pk:"$#{house}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	House string    `dynamodbav:"house"`
	At    time.Time `dynamodbav:"at"`
	Email string    `dynamodbav:"email" entity:"append,secret"`
}

// stayLater is a stay of the next payload version, without secrets.
type stayLater struct {
	_ entity.Key        `name:"Stay" pk:"$#{house}" sk:"$" payload:"2"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	House string    `dynamodbav:"house"`
	At    time.Time `dynamodbav:"at"`
	Guest string    `dynamodbav:"guest" entity:"append"`
}

func TestRebuild_ErrorsHideSecretsInGroupKeys(t *testing.T) {
	t.Parallel()
	type guestKey struct{ House, Domain string }
	l := newLab(t)
	series := entity.Must(timeseries.New[stay](l.DB))
	v := view(l, timeline.Projection[guestKey, notes]{
		Name: "visits", Version: 1, Source: timeline.Series(series),
		Handlers: []timeline.Handler[guestKey, notes]{timeline.On("stay.appended",
			func(x stay) guestKey {
				return guestKey{x.House, strings.ToUpper(x.Email[strings.Index(x.Email, "@")+1:])}
			},
			func(s *notes, _ timeline.Event[stay]) error { s.Round = 1.5; return nil })},
	})
	entity.Must(series.Append(l.Ctx, stay{House: "inn", At: at(-1), Email: "ada@hidden.example"}))
	_, err := v.Rebuild(l.Ctx)
	var wrong *timeline.EventError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, `House="inn" Domain=(hidden)`, wrong.Group)
	assert.NotContains(t, strings.ToLower(err.Error()), "hidden.example")
	meta := metaOf(l, v)
	assert.NotContains(t, strings.ToLower(meta.Failure.Message), "hidden.example")
}

func TestView_ErrorsHideWhatMayBeSecret(t *testing.T) {
	t.Parallel()
	const hush = "hush"
	l := newLab(t)
	series := entity.Must(timeseries.New[stay](l.DB))
	entity.Must(series.Append(l.Ctx, stay{House: "inn", At: at(-1), Email: hush}))
	failure := errors.New("refused")
	email := func(x stay) string { return x.Email }
	quote := fmt.Errorf("%s %w", hush, failure)
	later := entity.Must(timeseries.New[stayLater](l.Open(l.Client)))
	_, err := view(l, journals("later", timeline.Series(later, timeline.Upgrade(1, func(stay) (stayLater, error) { return stayLater{}, quote })), "stay",
		func(x stayLater) string { return x.House }, func(timeline.Event[stayLater]) string { return "" }, "appended")).Rebuild(l.Ctx)
	require.ErrorIs(t, err, failure)
	require.NotContains(t, err.Error(), hush, "an upgrade fails")
	var fail func(*notes) error
	v := view(l, timeline.Projection[string, notes]{
		Name: "guests", Version: 1, Source: timeline.Series(series),
		Handlers: []timeline.Handler[string, notes]{timeline.On("stay.appended", email, func(s *notes, e timeline.Event[stay]) error { return fail(s) })},
	})
	for what, f := range map[string]func(*notes) error{
		"a handler fails":       func(*notes) error { return quote },
		"a row is too large":    func(s *notes) error { s.Large = strings.Repeat("x", 500<<10); return nil },
		"a state is not stored": func(s *notes) error { s.Picky = hush; return nil },
	} {
		fail = f
		_, err := v.Rebuild(l.Ctx)
		require.Error(t, err, what)
		require.NotContains(t, fmt.Sprintf("%v %+v", err, errors.Unwrap(err)), hush, what)
		require.NotContains(t, fmt.Sprintf("%+v", metaOf(l, v).Failure), hush, what)
		require.Equal(t, what == "a handler fails", errors.Is(err, failure), "errors.Is finds the cause")
	}
	fail = func(*notes) error { return nil }
	rebuild(l, v)
	require.Contains(t, rows(l, v), hush)
	require.Len(t, entity.Must(v.Page(l.Ctx, 1, 1)).Rows, 1)
	require.Len(t, entity.Must(v.After(l.Ctx, "", 1)).Rows, 1)
	_, _, err = v.Get(l.Ctx, "other-"+hush)
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.NotContains(t, err.Error(), hush)
}

func TestFeed_ErrorsHideWhatMayBeSecret(t *testing.T) {
	t.Parallel()
	l := offline(t)
	failure := errors.New("refused")
	for name, source := range map[string]timeline.Source{
		"secret": timeline.Feed("f", []string{"came"}, func(context.Context) iter.Seq2[timeline.Event[stay], error] {
			return func(yield func(timeline.Event[stay], error) bool) {
				yield(timeline.Event[stay]{}, fmt.Errorf("hush %w", failure))
			}
		}),
		"open": timeline.Feed("f", []string{"came"}, func(context.Context) iter.Seq2[timeline.Event[notes], error] {
			return func(yield func(timeline.Event[notes], error) bool) {
				yield(timeline.Event[notes]{}, fmt.Errorf("hush %w", failure))
			}
		}),
	} {
		_, err := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: name, Source: source})).Page(l.Ctx, 1, 1)
		require.ErrorIs(t, err, failure)
		require.Equal(t, name == "open", strings.Contains(err.Error(), "hush"), name)
	}
}
