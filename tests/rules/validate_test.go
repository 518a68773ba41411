package rules_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/declaretest"
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
	db := onPaper(t)
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
	b, store := opened[Strict](t)
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
	return dbtest.Declare[Furnished](t, onPaper(t))
}

func TestValidate_ReachesEveryStoredValueInsideAnAttribute(t *testing.T) {
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
	v := valid()
	v.Name, v.Title, v.Codes = "", "", []Code{"x"}
	_, err := nested(t).Create(t.Context(), v)
	require.ErrorIs(t, err, errShort)
	require.ElementsMatch(t, []string{"EDD-9103 Name", "EDD-9103 Title", "EDD-9116 Codes[0]"}, refusals(err))
}

func TestValidate_AValueThatContainsItselfIsRefused(t *testing.T) {
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
	series, c := entity.Must(timeseries.New[Climate](onPaper(t))), entity.Fields[Climate]()
	ev := Climate{Device: "aa", At: 1, Sensors: map[string]Code{"in": "fine", "out": "x", "top": "y"}, Owner: "x"}
	require.Equal(t, []string{"EDD-9103 Boot", "EDD-9103 Site", "EDD-9116 Device", `EDD-9116 Sensors["out"]`, `EDD-9116 Sensors["top"]`},
		refusals(dbtest.ErrorOf(series.Append(t.Context(), ev))))
	ev = Climate{Device: "AA:BB:CC:00:11:22", At: 1, Boot: "boot", Site: "roof", Owner: "x"}
	require.ErrorIs(t, dbtest.ErrorOf(series.Append(t.Context(), ev)), entity.ErrNoClient, "an append does not carry the owner")
	require.Equal(t, []string{"EDD-9116 Owner"}, refusals(dbtest.ErrorOf(series.Update(t.Context(), ev, entity.Set(&c.Owner, "x")))))
}

var errRule = errors.New("refused by a rule: hunter2")

// rulebook is a Validator that records its calls, refuses what refuse says, and panics on the tag typo.
type rulebook struct {
	calls  []string
	refuse func(call string) bool
}

func (r *rulebook) Struct(v any) error { return r.call(fmt.Sprintf("Struct %T", v)) }

func (r *rulebook) Var(v any, tag string) error {
	if strings.Contains(tag, "typo") {
		panic("no such rule")
	}
	return r.call(fmt.Sprintf("Var %T %v %s", v, v, tag))
}

func (r *rulebook) call(c string) error {
	r.calls = append(r.calls, c)
	if r.refuse != nil && r.refuse(c) {
		return errRule
	}
	return nil
}

// asked returns the calls since the last time.
func (r *rulebook) asked() []string {
	calls := r.calls
	r.calls = nil
	return calls
}

func always(string) bool { return true }

// ruled opens a store of T whose Validator is a rulebook and whose client must not be called.
func ruled[T any](t *testing.T) (*entity.DB, *entity.Store[T], *rulebook) {
	t.Helper()
	book := &rulebook{}
	db := entity.Must(entity.Open(narrow{}, entity.Config{Table: "t", Validator: book}))
	s := dbtest.Declare[T](t, db)
	book.asked()
	return db, s, book
}

// Meter has rules for fields of every kind.
type Meter struct {
	_      entity.Key        `name:"Meter" pk:"$#{id}" sk:"$"`
	ID     string            `dynamodbav:"id" validate:"id"`
	Name   string            `dynamodbav:"name,omitempty" validate:"name"`
	Nick   *string           `dynamodbav:"nick,omitempty" validate:"nick"`
	Plain  int               `dynamodbav:"plain"`
	Count  int               `dynamodbav:"count" validate:"count"`
	Lines  []string          `dynamodbav:"lines,omitempty" validate:"lines,dive,line"`
	Levels []Level           `dynamodbav:"levels,omitempty" validate:"dive"`
	Heap   []Level           `dynamodbav:"heap,omitempty"`
	Labels map[Word]string   `dynamodbav:"labels,omitempty" validate:"labels,dive,keys,key,endkeys,label"`
	Marks  map[string]*Level `dynamodbav:"marks,omitempty" validate:"max=3,dive"`
	Set    []string          `dynamodbav:"set,omitempty,stringset" validate:"dive,one"`
	Level  Level             `dynamodbav:"level"`
	Off    Level             `dynamodbav:"off" validate:"-"`
	Hidden string            `dynamodbav:"hidden,omitempty" entity:"secret" validate:"hidden"`
}

type Word string

type Level struct {
	Low  int   `dynamodbav:"low" validate:"low"`
	High int   `dynamodbav:"high"`
	Deep *Deep `dynamodbav:"deep,omitempty"`
}

type Deep struct {
	Low int `dynamodbav:"low" validate:"low"`
}

func TestValidator_StructIsCalledOnceForEveryWholeValue(t *testing.T) {
	t.Parallel()
	db, s, book := ruled[Meter](t)
	book.refuse = always
	v, ctx, op := Meter{ID: "g", Nick: new(string)}, t.Context(), s.Op()
	for name, write := range map[string]func() error{
		"create":      func() error { return dbtest.ErrorOf(s.Create(ctx, v)) },
		"put":         func() error { return dbtest.ErrorOf(s.Put(ctx, v)) },
		"upsert":      func() error { return dbtest.ErrorOf(s.Upsert(ctx, v)) },
		"put many":    func() error { return dbtest.ErrorOf(s.PutMany(ctx, []Meter{v})) },
		"batch":       func() error { return dbtest.ErrorOf(db.BatchWrite(ctx, op.BatchPut(v))) },
		"transaction": func() error { return db.Transact(ctx, op.Create(v)) },
		"put op":      func() error { return db.Transact(ctx, op.Put(v)) },
		"upsert op":   func() error { return db.Transact(ctx, op.Upsert(v)) },
	} {
		err := write()
		require.Equal(t, []string{"Struct rules_test.Meter"}, book.asked(), name)
		require.ErrorIs(t, err, errRule, name)
		v := dbtest.As[*entity.ValidationError](t, err, name)
		require.Equal(t, "EDD-9130", v.Code, name)
		require.Equal(t, "rules_test.Meter", v.Type, name)
		require.Empty(t, v.Field, name)
		require.NotContains(t, err.Error(), "hunter2", "%s: the error may quote a secret field", name)
	}
}

func TestValidator_VarIsCalledForWhatAChangeSets(t *testing.T) {
	t.Parallel()
	_, s, book := ruled[Meter](t)
	f := entity.Fields[Meter]()
	for name, c := range map[string]struct {
		change entity.UpdateOption
		want   []string
	}{
		"a field":                   {entity.Set(&f.Name, "n"), []string{"Var string n name"}},
		"a pointer":                 {entity.Set(&f.Nick, nil), []string{"Var *string <nil> nick"}},
		"without a tag":             {entity.Set(&f.Plain, 7), nil},
		"only if absent":            {entity.SetIfNotExists(&f.Name, "n"), []string{"Var string n name"}},
		"an empty value":            {entity.Set(&f.Name, ""), []string{"Var string  name"}},
		"removed":                   {entity.Remove(&f.Name), []string{"Var string  name"}},
		"a removed pointer":         {entity.Remove(&f.Nick), []string{"Var *string <nil> nick"}},
		"what is behind a pointer":  {entity.Remove(f.Nick), []string{"Var *string <nil> nick"}},
		"a number that grows":       {entity.Add(&f.Count, 1), nil},
		"a list":                    {entity.Set(&f.Lines, []string{"a"}), []string{"Var []string [a] lines,dive,line"}},
		"elements":                  {entity.ListAppend(&f.Lines, "a", "b"), []string{"Var string a line", "Var string b line"}},
		"elements in front":         {entity.ListPrepend(&f.Lines, "a"), []string{"Var string a line"}},
		"one element":               {entity.Elem(&f.Lines, 2).Set("a"), []string{"Var string a line"}},
		"an element that goes":      {entity.Elem(&f.Lines, 2).Remove(), nil},
		"structs, which dive":       {entity.ListAppend(&f.Levels, Level{Low: 1}), []string{"Struct rules_test.Level"}},
		"structs, which do not":     {entity.ListAppend(&f.Heap, Level{Low: 1}), nil},
		"inside an element":         {entity.Attr[int]("levels[0].low").Set(3), []string{"Var int 3 low"}},
		"inside one not reached":    {entity.Attr[int]("heap[0].low").Set(3), nil},
		"elements of a set":         {entity.AddToSet(&f.Set, "a"), []string{"Var string a one"}},
		"elements that leave a set": {entity.DeleteFromSet(&f.Set, "a"), nil},
		"an entry":                  {entity.MapEntry(&f.Labels, "k").Set("v"), []string{"Var rules_test.Word k key", "Var string v label"}},
		"an entry that goes":        {entity.MapEntry(&f.Labels, "k").Remove(), nil},
		"a struct in an entry":      {entity.MapEntry(&f.Marks, "k").Set(&Level{}), []string{"Struct rules_test.Level"}},
		"a struct":                  {entity.Set(&f.Level, Level{}), []string{"Struct rules_test.Level"}},
		"a nested field":            {entity.Set(&f.Level.Low, 1), []string{"Var int 1 low"}},
		"a nested field, removed":   {entity.Remove(&f.Level.Low), []string{"Var int 0 low"}},
		"deeper":                    {entity.Set(&f.Level.Deep.Low, 1), []string{"Var int 1 low"}},
		"a path":                    {entity.Attr[int]("level.low").Set(1), []string{"Var int 1 low"}},
		"a path of another type":    {entity.Attr[int64]("count").Set(1), []string{"Var int 1 count"}},
		"a nested field without":    {entity.Set(&f.Level.High, 1), nil},
		"a field left out":          {entity.Set(&f.Off, Level{}), nil},
		"inside a field left out":   {entity.Set(&f.Off.Low, 1), nil},
	} {
		op := s.Op().Update(Meter{ID: "g"}, c.change)
		require.Equal(t, c.want, book.asked(), name)
		_ = op.String()
		require.Empty(t, book.asked(), "%s: printing asks nobody", name)
	}
	_ = s.Op().Upsert(Meter{ID: "g"}, entity.Set(&f.Name, "n"))
	require.Equal(t, []string{"Var string n name", "Struct rules_test.Meter"}, book.asked())
}

func TestValidator_IsAskedAboutTheResultOfModify(t *testing.T) {
	t.Parallel()
	book := &rulebook{}
	l := dbtest.Open(t, func(c *entity.Config) { c.Validator = book })
	s := dbtest.Declare[Meter](t, l.DB)
	l.CreateTables()
	l.OK(s.Create(t.Context(), Meter{ID: "g"}))
	l.Sent()
	book.asked()
	book.refuse = always
	require.ErrorIs(t, dbtest.ErrorOf(s.Modify(t.Context(), Meter{ID: "g"}, func(g *Meter) error { g.Plain = 7; return nil })), errRule)
	require.Equal(t, []string{"Struct rules_test.Meter"}, book.asked())
	require.Equal(t, []string{"GetItem"}, l.Operations(), "nothing is written")
}

// Misspelt has a tag that names no rule, and one where it is not looked at.
type Misspelt struct {
	_     entity.Key `name:"Misspelt" pk:"$#{id}" sk:"$"`
	ID    string     `dynamodbav:"id"`
	Name  string     `dynamodbav:"name" validate:"required,typo"`
	Inner []struct {
		Low int `dynamodbav:"low" validate:"typo"`
	} `dynamodbav:"inner" validate:"dive"`
	Heap []struct {
		Low int `dynamodbav:"low" validate:"typo"`
	} `dynamodbav:"heap"`
	Unstored string `dynamodbav:"-" validate:"typo"`
	Owned
}

type Owned struct {
	Owner string `dynamodbav:"owner" validate:"typo"`
}

func TestValidator_ATagThatItCannotReadIsAMistakeOfTheDeclaration(t *testing.T) {
	t.Parallel()
	o := declaretest.Options
	_, err := schema.Build(reflect.TypeFor[Misspelt](), o)
	require.NoError(t, err, "without a Validator the tag means nothing")
	o.Validator = &rulebook{refuse: always}
	_, err = schema.Build(reflect.TypeFor[Misspelt](), o)
	var fields []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		s := dbtest.As[*entity.SchemaError](t, e)
		require.Equal(t, "EDD-9073", s.Code)
		require.Contains(t, s.Problem, "no such rule")
		fields = append(fields, s.Field)
	}
	require.Equal(t, []string{"Name", "Inner.Low", "Unstored", "Owned.Owner"}, fields)
}

func TestValidator_ANilPointerIsAMistakeOfTheConfiguration(t *testing.T) {
	t.Parallel()
	_, err := entity.Open(narrow{}, entity.Config{Table: "t", Validator: (*rulebook)(nil)})
	s := dbtest.As[*entity.SchemaError](t, err)
	require.Equal(t, []string{"EDD-9050", "Validator"}, []string{s.Code, s.Field})
}

func TestValidator_OfASeriesIsAskedForTheFieldsThatAreWritten(t *testing.T) {
	t.Parallel()
	book := &rulebook{}
	db := entity.Must(entity.Open(narrow{}, entity.Config{Table: "t", Validator: book}))
	s, ev := entity.Must(timeseries.New[Climate](db)), Climate{Device: "AA:BB:CC:00:11:22", At: 1, Boot: "boot", Site: "roof"}
	book.asked()
	book.refuse = always
	appended := []string{"Var rules_test.MAC AA:BB:CC:00:11:22 device", "Var rules_test.Code boot boot"}
	require.ErrorIs(t, dbtest.ErrorOf(s.Append(t.Context(), ev)), errRule)
	require.Equal(t, appended, book.asked(), "an event that lacks what it does not write is not refused for it")
	require.ErrorIs(t, dbtest.ErrorOf(s.AppendAll(t.Context(), []Climate{ev})), errRule)
	require.Equal(t, appended, book.asked())
	require.ErrorIs(t, dbtest.ErrorOf(s.Upsert(t.Context(), Climate{Device: ev.Device, Owner: "anna"})), errRule)
	require.Equal(t, []string{appended[0], "Var rules_test.Code anna required"}, book.asked())
}

// textRules is a small Validator: the tag is the rule.
type textRules struct{}

func (textRules) Struct(v any) error {
	if s, ok := v.(Sensor); ok {
		return textRules{}.Var(s.Unit, "short")
	}
	return nil
}

func (textRules) Var(v any, tag string) error {
	if text, ok := v.(string); ok && tag == "short" && len(text) > 4 {
		return errors.New("at most 4 characters are allowed")
	}
	return nil
}

// Sensor has a rule for one field.
type Sensor struct {
	_    entity.Key `name:"Sensor" pk:"$#{id}" sk:"$"`
	ID   string     `dynamodbav:"id"`
	Unit string     `dynamodbav:"unit" validate:"short"`
}

// In place of textRules, programs use validator.New() of github.com/go-playground/validator/v10.
func ExampleValidator() {
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app", Validator: textRules{}}))
	sensors := entity.Must(entity.New[Sensor](db))

	_, err := sensors.Create(context.Background(), Sensor{ID: "s-1", Unit: "degrees"})
	fmt.Println(err)
	s := entity.Fields[Sensor]()
	_, err = sensors.Update(context.Background(), Sensor{ID: "s-1"}, entity.Set(&s.Unit, "degrees"))
	var invalid *entity.ValidationError
	fmt.Println(errors.As(err, &invalid), invalid.Field, invalid.Err)
	// Output:
	// Create Sensor (pk="$app#v1#sensor#s-1" sk="$app#v1#sensor"): EDD-9130 rules_test.Sensor: at most 4 characters are allowed
	// true Unit at most 4 characters are allowed
}
