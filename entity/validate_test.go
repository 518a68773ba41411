package entity_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
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
	store := entity.Must(entity.New[Strict](db))
	x := Code("x")
	_, err := store.Create(t.Context(), Strict{ID: "i", Left: "x", Right: &x, Key: "k"})
	require.ErrorIs(t, err, errShort)
	require.ErrorIs(t, err, errPair)
	require.NotErrorIs(t, err, entity.ErrNoClient)
	fields := map[string]error{}
	for _, e := range errors.Unwrap(err).(interface{ Unwrap() []error }).Unwrap() {
		var v *entity.ValidationError
		require.ErrorAs(t, e, &v)
		require.Equal(t, "EDD-9116", v.Code)
		fields[v.Field] = v.Err
	}
	require.Equal(t, map[string]error{"ID": errShort, "Left": errShort, "Right": errShort, "Key": nil, "": errPair}, fields,
		"the cause of a secret field may quote it and is not kept")
}

func TestValidate_WhatIsNotWrittenIsNotAsked(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
	store := entity.Must(entity.New[Strict](db))
	_, err := store.Create(t.Context(), Strict{ID: "long", Left: ""})
	require.ErrorIs(t, err, entity.ErrNoClient, "valid: absent fields are no values")
}

func TestValidate_BySet(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
	store := entity.Must(entity.New[Strict](db))
	f := entity.Fields[Strict]()
	for name, change := range map[string]entity.UpdateOption{
		"value":   entity.Set(&f.Left, "x"),
		"pointer": entity.Set(f.Right, "x"),
		"once":    entity.SetIfNotExists(&f.Left, "x"),
		"text":    entity.Attr[Code]("left").Set("x"),
	} {
		_, err := store.Update(t.Context(), Strict{ID: "long"}, change)
		var v *entity.ValidationError
		require.ErrorAs(t, err, &v, name)
		require.ErrorIs(t, err, errShort, name)
	}
	_, err := store.Update(t.Context(), Strict{ID: "long"}, entity.Set(&f.Left, "long"))
	require.ErrorIs(t, err, entity.ErrNoClient)
	_, err = store.Update(t.Context(), Strict{ID: "long"}, entity.Set(&f.Left, ""))
	require.ErrorIs(t, err, entity.ErrNoClient, "an empty value is a removal")
}
