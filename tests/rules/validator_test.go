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

// silence is a client that must not be called.
type silence struct{ entity.Client }

// ruled opens a store of T whose Validator is a rulebook and whose client must not be called.
func ruled[T any](t *testing.T) (*entity.DB, *entity.Store[T], *rulebook) {
	t.Helper()
	book := &rulebook{}
	db := entity.Must(entity.Open(silence{}, entity.Config{Table: "t", Validator: book}))
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
	_, err := entity.Open(silence{}, entity.Config{Table: "t", Validator: (*rulebook)(nil)})
	s := dbtest.As[*entity.SchemaError](t, err)
	require.Equal(t, []string{"EDD-9050", "Validator"}, []string{s.Code, s.Field})
}

func TestValidator_OfASeriesIsAskedForTheFieldsThatAreWritten(t *testing.T) {
	t.Parallel()
	book := &rulebook{}
	db := entity.Must(entity.Open(silence{}, entity.Config{Table: "t", Validator: book}))
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
