package rules_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

var errShort, errPair = errors.New("too short"), errors.New("the two must differ")

type Code string

func (c Code) Validate() error {
	if len(c) < 3 {
		return errShort
	}
	return nil
}

// Strict has fields whose types validate, by value and by pointer, and validates itself.
type Strict struct {
	_     entity.Key `name:"Strict" pk:"$#{id}" sk:"$"`
	ID    Code       `dynamodbav:"id"`
	Left  Code       `dynamodbav:"left,omitempty"`
	Right *Code      `dynamodbav:"right,omitempty"`
	Key   Code       `dynamodbav:"key,omitempty" entity:"secret"`
}

func (s *Strict) Validate() error {
	if s.Right != nil && s.Left == *s.Right {
		return errPair
	}
	return nil
}

func TestValidate_AllFailuresOfAValueAreJoinedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
	store, x := entity.Must(entity.New[Strict](db)), Code("x")
	_, err := store.Create(t.Context(), Strict{ID: "i", Left: "x", Right: &x, Key: "k"})
	require.ErrorIs(t, err, errShort)
	require.ErrorIs(t, err, errPair)
	require.NotErrorIs(t, err, entity.ErrNoClient)
	fields := map[string]error{}
	for _, e := range errors.Unwrap(err).(interface{ Unwrap() []error }).Unwrap() {
		v := dbtest.As[*entity.ValidationError](t, e)
		require.Equal(t, "EDD-9116", v.Code)
		fields[v.Field] = v.Err
	}
	require.Equal(t, map[string]error{"ID": errShort, "Left": errShort, "Right": errShort, "Key": nil, "": errPair}, fields,
		"the cause of a secret field may quote it and is not kept")
}

// The method of a struct sees its secret fields, so its error may quote them.
func TestValidate_OfAStructWithASecretHidesItsError(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[Strict](t)
	pair, left, key := Code("pair"), Code("left"), Strict{ID: "key"}
	b.OK(store.Create(b.Ctx, Strict{ID: "key", Left: left, Right: &pair}))
	for what, write := range map[string]func() error{
		"create": func() error { return dbtest.ErrorOf(store.Create(b.Ctx, Strict{ID: "new", Left: pair, Right: &pair})) },
		"put":    func() error { return dbtest.ErrorOf(store.Put(b.Ctx, Strict{ID: "new", Left: pair, Right: &pair})) },
		"modify": func() error {
			return dbtest.ErrorOf(store.Modify(b.Ctx, key, func(v *Strict) error { v.Left = pair; return nil }))
		},
	} {
		err := write()
		require.ErrorIs(t, err, errPair, what)
		require.True(t, dbtest.As[*entity.ValidationError](t, err, what).Redacted, what)
		require.NotContains(t, err.Error(), errPair.Error(), what)
	}
}

var errPlace, errBase, errOther = errors.New("no such place"), errors.New("base"), errors.New("other")

// MAC is a hardware address.
type MAC string

func (m MAC) Validate() error {
	if len(m) != len("AA:BB:CC:00:11:22") {
		return errShort
	}
	return nil
}

type Spot struct {
	City   Code  `dynamodbav:"city"`
	Zip    Code  `dynamodbav:"zip,omitempty"`
	Beside *Spot `dynamodbav:"beside,omitempty"`
	Inside
	unread Code
}

func (s Spot) Validate() error {
	if s.City == "nowhere" {
		return errPlace
	}
	return nil
}

type Inside struct {
	Floor Code `dynamodbav:"floor,omitempty"`
}

type Founded struct{ Ground Code }

func (b Founded) Validate() error {
	if b.Ground == "swamp" {
		return errBase
	}
	return nil
}

type Roofed struct{ Upper Code }

func (o *Roofed) Validate() error {
	if o.Upper == "cloud" {
		return errOther
	}
	return nil
}

// Both has two embedded structs that validate; Go promotes neither method.
type Both struct {
	Founded
	*Roofed
}

// Furnished keeps values that validate everywhere inside its attributes.
type Furnished struct {
	_       entity.Key        `name:"Furnished" pk:"$#{id}" sk:"$"`
	ID      string            `dynamodbav:"id"`
	Spot    Spot              `dynamodbav:"spot"`
	Maybe   *Spot             `dynamodbav:"maybe,omitempty"`
	Codes   []Code            `dynamodbav:"codes,omitempty"`
	Few     []Code            `dynamodbav:"few,omitempty,omitemptyelem"`
	Lines   []*Spot           `dynamodbav:"lines,omitempty,omitemptyelem"`
	Set     []Code            `dynamodbav:"set,omitempty,stringset"`
	Pair    [2]*Code          `dynamodbav:"pair,omitempty"`
	Status  map[Code]MAC      `dynamodbav:"status,omitempty"`
	Spots   map[string][]Spot `dynamodbav:"spots,omitempty"`
	Any     any               `dynamodbav:"any,omitempty"`
	Hidden  map[string]MAC    `dynamodbav:"hidden,omitempty" entity:"secret"`
	Ignored Code              `dynamodbav:"-"`
	Both    Both              `dynamodbav:"both"`
	Name    string            `dynamodbav:"name" entity:"required"`
	Title   string            `dynamodbav:"title" entity:"required"`
	Tree    *Tree             `dynamodbav:"tree,omitempty"`
}

// Tree contains itself, and so does its type.
type Tree struct {
	Leaf Code    `dynamodbav:"leaf"`
	Sub  []*Tree `dynamodbav:"sub,omitempty"`
}

// valid has nothing to refuse.
func valid() Furnished {
	return Furnished{ID: "i", Spot: Spot{City: "Bern"}, Both: Both{Founded: Founded{"rock"}, Roofed: &Roofed{"sky"}}, Name: "n", Title: "t"}
}

// places are the fields of all refusals in err, in order.
func places(t *testing.T, err error) (found []string) {
	t.Helper()
	for _, refusal := range refusals(err) {
		require.Regexp(t, "^EDD-9116 ", refusal)
		found = append(found, strings.TrimPrefix(refusal, "EDD-9116 "))
	}
	return found
}

// refusals are the codes and fields of all mistakes in err, in order.
func refusals(err error) (found []string) {
	switch e := err.(type) {
	case *entity.InputError:
		return []string{e.Code + " " + e.Field}
	case *entity.ValidationError:
		return []string{e.Code + " " + e.Field}
	case *entity.SchemaError:
		return []string{e.Code + " " + e.Field + ": " + e.Problem}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			found = append(found, refusals(inner)...)
		}
		return found
	case interface{ Unwrap() error }:
		return refusals(e.Unwrap())
	}
	return nil
}

func nested(t *testing.T) *entity.Store[Furnished] {
	t.Helper()
	return entity.Must(entity.New[Furnished](entity.Must(entity.Open(nil, entity.Config{Table: "t"}))))
}

func TestValidate_ReachesEveryStoredValueInsideAnAttribute(t *testing.T) {
	t.Parallel()
	store, x, long := nested(t), Code("x"), Code("long")
	for name, c := range map[string]struct {
		change func(*Furnished)
		want   []string
	}{
		"nothing wrong":     {func(*Furnished) {}, nil},
		"a nested field":    {func(n *Furnished) { n.Spot.City = "x" }, []string{"Spot.City"}},
		"a nested struct":   {func(n *Furnished) { n.Spot.City = "nowhere" }, []string{"Spot"}},
		"inner and outer":   {func(n *Furnished) { n.Spot = Spot{City: "nowhere", Zip: "1"} }, []string{"Spot.Zip", "Spot"}},
		"a promoted field":  {func(n *Furnished) { n.Spot.Floor = "1" }, []string{"Spot.Floor"}},
		"behind a pointer":  {func(n *Furnished) { n.Maybe = &Spot{City: "Bern", Beside: &Spot{City: "y"}} }, []string{"Maybe.Beside.City"}},
		"elements":          {func(n *Furnished) { n.Codes = []Code{"long", "x", "", "long"} }, []string{"Codes[1]", "Codes[2]"}},
		"elements left out": {func(n *Furnished) { n.Few = []Code{"", "x", "", "long", "y"} }, []string{"Few[1]", "Few[4]"}},
		"elements of a set": {func(n *Furnished) { n.Set = []Code{"long", "x"} }, []string{"Set[1]"}},
		"an array":          {func(n *Furnished) { n.Pair = [2]*Code{&long, &x} }, []string{"Pair[1]"}},
		"entries and keys": {func(n *Furnished) {
			n.Status = map[Code]MAC{"x": "AA:BB:CC:00:11:22", "good": "bad", "fine": "AA:BB:CC:00:11:22", "y": "z"}
		}, []string{`Status["good"]`, `Status["x"]`, `Status["y"]`, `Status["y"]`}},
		"deep":               {func(n *Furnished) { n.Spots = map[string][]Spot{"a": {{City: "Bern"}, {City: "1"}}} }, []string{`Spots["a"][1].City`}},
		"inside an any":      {func(n *Furnished) { n.Any = map[string]any{"k": []any{Code("x"), 7, nil}} }, []string{`Any["k"][0]`}},
		"a secret":           {func(n *Furnished) { n.Hidden = map[string]MAC{"k": "one", "l": "two"} }, []string{"Hidden"}},
		"what is not stored": {func(n *Furnished) { n.Ignored, n.Spot.unread = "x", "x" }, nil},
		"embedded, two":      {func(n *Furnished) { n.Both = Both{Founded{"swamp"}, &Roofed{"cloud"}} }, []string{"Both", "Both"}},
		"embedded nil":       {func(n *Furnished) { n.Both = Both{Founded: Founded{"swamp"}} }, []string{"Both"}},
		"a type inside itself": {func(n *Furnished) {
			n.Tree = &Tree{"long", []*Tree{nil, {"long", []*Tree{{"x", nil}}}}}
		}, []string{"Tree.Sub[1].Sub[0].Leaf"}},
	} {
		v := valid()
		c.change(&v)
		for verb, op := range map[string]error{
			"create": dbtest.ErrorOf(store.Create(t.Context(), v)), "put": dbtest.ErrorOf(store.Put(t.Context(), v)), "upsert": dbtest.ErrorOf(store.Upsert(t.Context(), v)),
		} {
			require.Equal(t, c.want, places(t, op), "%s: %s: %v", name, verb, op)
			require.Equal(t, c.want == nil, errors.Is(op, entity.ErrNoClient), "%s: %s: %v", name, verb, op)
		}
	}
}

func TestValidate_ReachesWhatChangesStore(t *testing.T) {
	t.Parallel()
	store, f := nested(t), entity.Fields[Furnished]()
	for name, c := range map[string]struct {
		change entity.UpdateOption
		want   []string
	}{
		"a struct":              {entity.Set(&f.Spot, Spot{City: "x"}), []string{"Spot.City"}},
		"a field of it":         {entity.Set(&f.Spot.City, "x"), []string{"Spot.City"}},
		"an absent field of it": {entity.Set(&f.Spot.Zip, ""), nil},
		"behind a pointer":      {entity.Set(&f.Maybe.Zip, "x"), []string{"Maybe.Zip"}},
		"once":                  {entity.SetIfNotExists(&f.Codes, []Code{"x"}), []string{"Codes[0]"}},
		"an entry":              {entity.MapEntry(&f.Status, "good").Set("bad"), []string{`Status["good"]`}},
		"the key of an entry":   {entity.MapEntry(&f.Status, "x").Set("AA:BB:CC:00:11:22"), []string{`Status["x"]`}},
		"a key that goes":       {entity.MapEntry(&f.Status, "x").Remove(), nil},
		"a list in a map":       {entity.MapEntry(&f.Spots, "a").Set([]Spot{{City: "1"}}), []string{`Spots["a"][0].City`}},
		"elements of a list":    {entity.ListAppend(&f.Codes, "x", "long", "y"), []string{"Codes", "Codes"}},
		"inside elements":       {entity.ListAppend(&f.Lines, &Spot{City: "x"}), []string{"Lines.City"}},
		"beside nil elements":   {entity.ListAppend(&f.Lines, &Spot{City: "Bern"}, nil, &Spot{City: "x"}), []string{"Lines.City"}},
		"elements of a set":     {entity.AddToSet(&f.Set, "long", "x"), []string{"Set"}},
		"elements that go":      {entity.DeleteFromSet(&f.Set, "x"), nil},
		"text":                  {entity.Attr[Code]("spot.zip").Set("x"), []string{"Spot.Zip"}},
		"a secret":              {entity.MapEntry(&f.Hidden, "password").Set("one"), []string{"Hidden"}},
	} {
		_, err := store.Update(t.Context(), Furnished{ID: "i"}, c.change)
		require.Equal(t, c.want, places(t, err), "%s: %v", name, err)
		require.Equal(t, c.want == nil, errors.Is(err, entity.ErrNoClient), "%s: %v", name, err)
		require.NotContains(t, fmt.Sprint(err), "password")
	}
	_, err := store.Update(t.Context(), Furnished{ID: "i"}, entity.Set(&f.Spot.City, "x"), entity.Set(&f.Codes, []Code{"y"}))
	require.Equal(t, []string{"Spot.City", "Codes[0]"}, places(t, err), "of several changes all are reported")
}

func TestValidate_MissingAndRefusedValuesAreReportedTogether(t *testing.T) {
	t.Parallel()
	v := valid()
	v.Name, v.Title, v.Codes = "", "", []Code{"x"}
	_, err := nested(t).Create(t.Context(), v)
	require.ErrorIs(t, err, errShort)
	require.ElementsMatch(t, []string{"EDD-9103 Name", "EDD-9103 Title", "EDD-9116 Codes[0]"}, refusals(err))
}

func TestValidate_AValueThatContainsItselfIsRefused(t *testing.T) {
	t.Parallel()
	v, endless := valid(), &Tree{Leaf: "x"}
	endless.Sub = []*Tree{endless}
	v.Tree = endless
	dbtest.As[*entity.InputError](t, dbtest.ErrorOf(nested(t).Create(t.Context(), v)), "found before anybody is asked")
}

// Climate is a series: what an append does not carry is not its concern. Its tags are for a Validator.
type Climate struct {
	_       entity.Key        `name:"Climate" pk:"$#{device}" sk:"$"`
	_       timeseries.Events `orderBy:"at"`
	Device  MAC               `dynamodbav:"device" validate:"device"`
	At      int64             `dynamodbav:"at"`
	Boot    Code              `dynamodbav:"boot" entity:"append,required" validate:"boot"`
	Site    string            `dynamodbav:"site" entity:"append,required"`
	Sensors map[string]Code   `dynamodbav:"sensors,omitempty" entity:"append" validate:"sensors"`
	Owner   Code              `dynamodbav:"owner,omitempty" validate:"required"`
}

func TestValidate_AppendReportsEveryInvalidFieldOfTheEvent(t *testing.T) {
	t.Parallel()
	series, c := entity.Must(timeseries.New[Climate](onPaper(t))), entity.Fields[Climate]()
	ev := Climate{Device: "aa", At: 1, Sensors: map[string]Code{"in": "fine", "out": "x", "top": "y"}, Owner: "x"}
	require.Equal(t, []string{"EDD-9103 Boot", "EDD-9103 Site", "EDD-9116 Device", `EDD-9116 Sensors["out"]`, `EDD-9116 Sensors["top"]`},
		refusals(dbtest.ErrorOf(series.Append(t.Context(), ev))))
	ev = Climate{Device: "AA:BB:CC:00:11:22", At: 1, Boot: "boot", Site: "roof", Owner: "x"}
	require.ErrorIs(t, dbtest.ErrorOf(series.Append(t.Context(), ev)), entity.ErrNoClient, "an append does not carry the owner")
	require.Equal(t, []string{"EDD-9116 Owner"}, refusals(dbtest.ErrorOf(series.Update(t.Context(), ev, entity.Set(&c.Owner, "x")))))
}
