package entity_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// Ref encodes itself as a string, Serial as a number, Sum as a binary, Fickle as what it holds.
type (
	Ref    struct{ Kind, ID string }
	Serial struct{ n uint64 }
	Sum    struct{ of string }
	Fickle struct{ Text string }
)

func (r Ref) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return dbtest.S(strings.Trim(r.Kind+":"+r.ID, ":")), nil
}

func (r *Ref) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	s, ok := av.(*types.AttributeValueMemberS)
	if !ok {
		return errors.New("no string")
	}
	r.Kind, r.ID, _ = strings.Cut(s.Value, ":")
	return nil
}

func (s Serial) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return dbtest.N(strconv.FormatUint(s.n, 10)), nil
}

func (s *Serial) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) (err error) {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return errors.New("no number")
	}
	s.n, err = strconv.ParseUint(n.Value, 10, 64)
	return err
}

func (s Sum) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberB{Value: []byte(s.of)}, nil
}

func (s *Sum) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	b, ok := av.(*types.AttributeValueMemberB)
	if !ok {
		return errors.New("no binary")
	}
	s.of = string(b.Value)
	return nil
}

func (f Fickle) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	if f.Text == "1" {
		return dbtest.N("1"), nil
	}
	return dbtest.S(f.Text), nil
}

func (f *Fickle) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	return attributevalue.Unmarshal(av, &f.Text)
}

// Hollow has no zero value that is stored.
type Hollow struct{ of *Ref }

func (h Hollow) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return dbtest.S(h.of.ID), nil
}

func (h *Hollow) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error { return nil }

// Written encodes itself, and does not read that.
type Written struct{ Text string }

func (w Written) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return dbtest.S(w.Text), nil
}

func TestKeys_OfTypesWhoseFormIsNotKnownAreRefused(t *testing.T) {
	t.Parallel()
	type hollow struct {
		_  entity.Key `name:"A" pk:"$#{id}" sk:"$"`
		ID Hollow     `dynamodbav:"id"`
	}
	type bytes struct {
		_  entity.Key `name:"B" pk:"$#{id}" sk:"$"`
		ID Sum        `dynamodbav:"id"`
	}
	type written struct {
		_  entity.Key `name:"C" pk:"id"`
		ID Written    `dynamodbav:"id"`
	}
	type padded struct {
		_  entity.Key `name:"D" pk:"$#{id:04}" sk:"$"`
		ID Ref        `dynamodbav:"id"`
	}
	db := paper(t)
	for _, err := range []error{
		dbtest.ErrorOf(entity.New[hollow](db)), dbtest.ErrorOf(entity.New[bytes](db)), dbtest.ErrorOf(entity.New[written](db)), dbtest.ErrorOf(entity.New[padded](db)),
	} {
		require.Equal(t, "EDD-9037", dbtest.As[*entity.SchemaError](t, err).Code)
	}
}

// Code encodes itself as a text also if it is zero.
type Code struct{ n int }

func (c Code) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return dbtest.S("c" + strconv.Itoa(c.n)), nil
}

func (c *Code) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) (err error) {
	var text string
	if err = attributevalue.Unmarshal(av, &text); err == nil {
		c.n, err = strconv.Atoi(text[1:])
	}
	return err
}

func TestKeys_TheZeroValueIsMissingHoweverItEncodesItself(t *testing.T) {
	type coded struct {
		_ entity.Key `name:"Coded" pk:"$#{id}" sk:"$"`

		ID Code `dynamodbav:"id"`
	}
	type zeroed struct {
		_ entity.Key `name:"Zeroed" pk:"$#{id}" sk:"$"`

		ID Code `dynamodbav:"id" entity:"zero"`
	}
	l, s := open[coded](t)
	require.Equal(t, "EDD-9101", dbtest.InputCode(dbtest.ErrorOf(s.Create(l.Ctx, coded{}))))
	require.Equal(t, coded{ID: Code{3}}, entity.Must(s.Create(l.Ctx, coded{ID: Code{3}})))
	m, z := open[zeroed](t)
	m.OK(z.Create(m.Ctx, zeroed{}))
	require.Contains(t, m.Item("$app#v1#zeroed#c0", "$app#v1#zeroed"), "id")
}

// Bundle has key parts that encode themselves.
type Bundle struct {
	_ entity.Key `name:"Bundle" pk:"$#{ref}" sk:"$#{serial}"`
	_ entity.GSI `name:"bySerial" index:"gsi1" pk:"$#{serial}" sk:"$#{ref}" project:"keys"`

	Ref    Ref    `dynamodbav:"ref"`
	Serial Serial `dynamodbav:"serial"`
	Note   string `dynamodbav:"note,omitempty"`
}

func TestKeys_OfTypesThatEncodeThemselves(t *testing.T) {
	l, s := open[Bundle](t)
	f, first := entity.Fields[Bundle](), Bundle{Ref: Ref{"box", "a#1"}, Serial: Serial{9}, Note: "n"}
	for _, v := range []Bundle{first, {Ref: Ref{"box", "a#1"}, Serial: Serial{10}}, {Ref: Ref{"box", "b"}, Serial: Serial{9}}} {
		l.OK(s.Create(l.Ctx, v))
	}
	it := l.Item("$app#v1#bundle#box:a%231", "$app#v1#bundle#0000000000000000009")
	require.Equal(t, entity.Must(attributevalue.Marshal(first.Ref)), it["ref"])
	require.Equal(t, dbtest.N("9"), it["serial"])
	require.Equal(t, first, entity.Must(s.Get(l.Ctx, Bundle{Ref: first.Ref, Serial: first.Serial})))
	require.Len(t, entity.Must(s.Query(Bundle{Ref: first.Ref}).Collect(l.Ctx)), 2)
	later := entity.Must(s.Query(Bundle{Ref: first.Ref}, entity.Gt(&f.Serial, Serial{9})).Collect(l.Ctx))
	require.Equal(t, []Bundle{{Ref: first.Ref, Serial: Serial{10}}}, later)
	listed := entity.Must(entity.Must(s.Index("bySerial")).Query(Bundle{Serial: Serial{9}}).Collect(l.Ctx))
	require.Len(t, listed, 2)
	require.NoError(t, s.Delete(l.Ctx, Bundle{Ref: first.Ref, Serial: first.Serial}))

	for _, v := range []Bundle{{Serial: Serial{1}}, {Ref: Ref{"box", "a"}}} {
		require.Equal(t, "EDD-9101", dbtest.InputCode(dbtest.ErrorOf(s.Create(l.Ctx, v))), "the zero value is a missing part")
	}
}

func TestKeys_ThatAreAttributesWhichEncodeThemselves(t *testing.T) {
	type file struct {
		_ entity.Key `name:"File" pk:"sum" sk:"serial"`

		Sum    Sum    `dynamodbav:"sum"`
		Serial Serial `dynamodbav:"serial" entity:"zero"`
	}
	l, s := open[file](t)
	for _, n := range []uint64{0, 7} {
		v := file{Sum: Sum{"\x00\xff"}, Serial: Serial{n}}
		require.Equal(t, v, entity.Must(s.Create(l.Ctx, v)))
		require.Equal(t, v, entity.Must(s.Get(l.Ctx, v)))
	}
	require.Len(t, entity.Must(s.Query(file{Sum: Sum{"\x00\xff"}}).Collect(l.Ctx)), 2)
	require.Equal(t, "EDD-9101", dbtest.InputCode(dbtest.ErrorOf(s.Create(l.Ctx, file{Serial: Serial{1}}))))

	type fickle struct {
		_ entity.Key `name:"Fickle" pk:"$#{id}" sk:"$"`

		ID Fickle `dynamodbav:"id"`
	}
	m, other := open[fickle](t)
	m.OK(other.Create(m.Ctx, fickle{ID: Fickle{"a"}}))
	m.Sent()
	require.Equal(t, "EDD-9101", dbtest.InputCode(dbtest.ErrorOf(other.Create(m.Ctx, fickle{ID: Fickle{"1"}}))))
	require.Empty(t, m.Operations())
}
