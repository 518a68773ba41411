package main

import (
	"testing"

	"github.com/go-playground/validator/v10"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// foundBy returns the error of the validator behind err, whose field the library names.
func foundBy(t *testing.T, err error, field string) validator.ValidationErrors {
	t.Helper()
	var refused *entity.ValidationError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "EDD-9130", refused.Code)
	require.Equal(t, field, refused.Field)
	var found validator.ValidationErrors
	require.ErrorAs(t, err, &found)
	return found
}

func TestRules_AreCheckedForWholeValues(t *testing.T) {
	t.Parallel()
	b := planner(t)
	r := lockedReading()
	r.HardwareID, r.BatchID = "aa", "grün"
	found := foundBy(t, second(b.readings.Put(t.Context(), r)), "")
	require.Len(t, found, 2)
	require.Equal(t, []string{"hardware_id", "batch_id"}, []string{found[0].Tag(), found[1].Tag()})
	foundBy(t, b.db.Transact(t.Context(), b.readings.Op().Put(r)), "")
	_, err := b.readings.Put(t.Context(), lockedReading())
	require.ErrorIs(t, err, entity.ErrNoClient, "a valid one would be sent")
}

func TestRules_AreCheckedForSingleChanges(t *testing.T) {
	t.Parallel()
	b := planner(t)
	key, f := Device{HardwareID: macA}, deviceField
	for field, change := range map[string]entity.UpdateOption{
		"FriendlyName":                  entity.Set(&f.FriendlyName, "grün"),
		"FirmwareVersion":               entity.Remove(&f.FirmwareVersion),
		"Capabilities":                  entity.Set(&f.Capabilities, Capabilities{Sensors: []string{"a"}}),
		"Capabilities.Sensors":          entity.ListAppend(&f.Capabilities.Sensors, "a", ""),
		`Capabilities.Features["grün"]`: entity.MapEntry(&f.Capabilities.Features, "grün").Set(true),
	} {
		require.Len(t, foundBy(t, second(b.devices.Update(t.Context(), key, change)), field), 1, field)
	}
	for _, change := range []entity.UpdateOption{
		entity.Set(&f.FriendlyName, "roof"), entity.Set(&f.FriendlyName, ""), entity.Remove(&f.FriendlyName),
		entity.ListAppend(&f.Capabilities.Sensors, "a"), entity.MapEntry(&f.Capabilities.Features, "a").Set(true),
	} {
		require.ErrorIs(t, second(b.devices.Update(t.Context(), key, change)), entity.ErrNoClient)
	}
}

// Signup has rules that look at other fields.
type Signup struct {
	_      entity.Key `name:"Signup" pk:"id"`
	ID     string     `dynamodbav:"id"`
	Mail   string     `dynamodbav:"mail" validate:"omitempty,email"`
	Again  string     `dynamodbav:"again" validate:"eqfield=Mail"`
	Member *Member    `dynamodbav:"member,omitempty" validate:"required"`
	Guests []*Member  `dynamodbav:"guests,omitempty" validate:"max=3,dive,required"`
}

// Member is a part of a Signup.
type Member struct {
	Age int `dynamodbav:"age" validate:"min=18"`
}

// paper declares T with a validator of its own.
func paper[T any](t *testing.T) (*entity.Store[T], error) {
	t.Helper()
	db, err := entity.Open(nil, entity.Config{Table: "t", Validator: validator.New(validator.WithRequiredStructEnabled())})
	require.NoError(t, err)
	return entity.New[T](db)
}

func TestRules_ThatLookAtOtherFieldsNeedAWholeValue(t *testing.T) {
	t.Parallel()
	s, err := paper[Signup](t)
	require.NoError(t, err, "such a rule is no mistake of the declaration")
	f, ctx := entity.Fields[Signup](), t.Context()
	grown := &Member{Age: 18}
	require.ErrorIs(t, second(s.Put(ctx, Signup{ID: "a", Mail: "a@example.org", Again: "a@example.org", Member: grown})), entity.ErrNoClient)
	foundBy(t, second(s.Put(ctx, Signup{ID: "a", Mail: "a@example.org", Again: "b", Member: grown})), "")
	foundBy(t, second(s.Update(ctx, Signup{ID: "a"}, entity.Set(&f.Again, "a@example.org"))), "Again")
}

func TestRules_OfNestedStructsAreCheckedForSingleChanges(t *testing.T) {
	t.Parallel()
	s, err := paper[Signup](t)
	require.NoError(t, err)
	f, key := entity.Fields[Signup](), Signup{ID: "a"}
	child := &Member{Age: 7}
	for field, change := range map[string]entity.UpdateOption{
		"Member":        entity.Set(&f.Member, child),
		"Member.Age":    entity.Set(&f.Member.Age, 7),
		"Guests":        entity.ListAppend(&f.Guests, child),
		"Guests[1]":     entity.Elem(&f.Guests, 1).Set(nil),
		"Guests[1].Age": entity.Attr[int]("guests[1].age").Set(7),
	} {
		foundBy(t, second(s.Update(t.Context(), key, change)), field)
	}
	foundBy(t, second(s.Update(t.Context(), key, entity.Remove(&f.Member))), "Member")
	require.ErrorIs(t, second(s.Update(t.Context(), key, entity.Set(&f.Member.Age, 18))), entity.ErrNoClient)
}

// Secretive has rules for a secret field.
type Secretive struct {
	_     entity.Key        `name:"Secretive" pk:"id"`
	ID    string            `dynamodbav:"id"`
	Pin   string            `dynamodbav:"pin" entity:"secret" validate:"len=4"`
	Codes map[string]string `dynamodbav:"codes" entity:"secret" validate:"dive,len=4"`
}

func TestRules_ErrorsDoNotShowSecrets(t *testing.T) {
	t.Parallel()
	s, err := paper[Secretive](t)
	require.NoError(t, err)
	whole := second(s.Put(t.Context(), Secretive{ID: "a", Pin: "hunter2", Codes: map[string]string{"swordfish": "hunter2"}}))
	require.Len(t, foundBy(t, whole, ""), 2)
	require.Contains(t, foundBy(t, whole, "").Error(), "swordfish", "a validator quotes the keys of maps")
	f := entity.Fields[Secretive]()
	single := second(s.Update(t.Context(), Secretive{ID: "a"}, entity.Set(&f.Pin, "hunter2"), entity.MapEntry(&f.Codes, "swordfish").Set("hunter2")))
	require.NotErrorAs(t, single, new(validator.ValidationErrors), "an error has the value")
	for _, err := range []error{whole, single} {
		require.ErrorAs(t, err, new(*entity.ValidationError))
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), "swordfish")
	}
}

// Typo has rules that are none, or do not fit.
type Typo struct {
	_     entity.Key `name:"Typo" pk:"id"`
	ID    string     `dynamodbav:"id" validate:"requird"`
	Ready bool       `dynamodbav:"ready" validate:"min=3"`
	Inner struct {
		Names []string `dynamodbav:"names" validate:"omitempty,dive,nosuchrule"`
	} `dynamodbav:"inner"`
}

func TestRules_AMisspeltOneIsAMistakeOfTheDeclaration(t *testing.T) {
	t.Parallel()
	_, err := paper[Typo](t)
	var fields []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		var mistake *entity.SchemaError
		require.ErrorAs(t, e, &mistake)
		require.Equal(t, "EDD-9073", mistake.Code)
		fields = append(fields, mistake.Field)
	}
	require.Equal(t, []string{"ID", "Ready", "Inner.Names"}, fields)
}

func BenchmarkRules(b *testing.B) {
	r := lockedReading()
	for b.Loop() {
		if err := rules.Struct(r); err != nil {
			b.Fatal(err)
		}
	}
}
