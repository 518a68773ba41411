package lifecycle_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// refusal returns the code of the first mistake of a declaration, "" if there is none.
func refusal[T any](t *testing.T, opts ...entity.StoreOption) string {
	t.Helper()
	db, err := entity.Open(nil, entity.Config{Table: "app"})
	require.NoError(t, err)
	_, err = entity.New[T](db, opts...)
	return codeOf(err)
}

func codeOf(err error) string {
	var mistake *entity.SchemaError
	var bad *entity.InputError
	switch {
	case errors.As(err, &mistake):
		return mistake.Code
	case errors.As(err, &bad):
		return bad.Code
	}
	return ""
}

func TestTTL_IsRefusedWithFeaturesThatKeepMoreThanTheItem(t *testing.T) {
	t.Parallel()
	type withUnique struct {
		_     entity.Key        `name:"A" pk:"$#{id}" sk:"$"`
		_     lifecycle.TTL     `attr:"ends" after:"1d"`
		_     unique.Constraint `name:"email" fields:"email"`
		ID    string            `dynamodbav:"id"`
		Email string            `dynamodbav:"email"`
	}
	type withRetain struct {
		_       entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_       lifecycle.TTL `attr:"ends" after:"1d"`
		_       versioned.Retain
		ID      string `dynamodbav:"id"`
		Version int64  `dynamodbav:"version" entity:"version"`
	}
	type withSoftDelete struct {
		_  entity.Key           `name:"A" pk:"$#{id}" sk:"$"`
		_  lifecycle.SoftDelete `ttl:"1d"`
		_  lifecycle.TTL        `attr:"ends" after:"1d"`
		ID string               `dynamodbav:"id"`
	}
	type withEvents struct {
		_     entity.Key        `name:"A" pk:"$#{id}" sk:"$"`
		_     timeseries.Events `orderBy:"seq"`
		_     lifecycle.TTL     `attr:"ends" after:"1d"`
		ID    string            `dynamodbav:"id"`
		Seq   int64             `dynamodbav:"seq"`
		Value int               `dynamodbav:"value" entity:"append"`
	}
	type withLock struct {
		_       entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_       lifecycle.TTL `attr:"_ttl" after:"1d"`
		_       versioned.Lock
		ID      string `dynamodbav:"id"`
		Version int64  `dynamodbav:"version" entity:"version"`
	}
	db, err := entity.Open(nil, entity.Config{Table: "app"})
	require.NoError(t, err)
	_, err = timeseries.New[withEvents](db)
	require.Equal(t, []string{"EDD-9063", "EDD-9063", "EDD-9063", "EDD-9063", ""},
		[]string{refusal[withUnique](t), refusal[withRetain](t), refusal[withSoftDelete](t), codeOf(err), refusal[withLock](t)})
}

func TestTTL_AttrMustCountSecondsAndBeNoKey(t *testing.T) {
	t.Parallel()
	type text struct {
		_    entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_    lifecycle.TTL `attr:"ends" after:"1d"`
		ID   string        `dynamodbav:"id"`
		Ends string        `dynamodbav:"ends"`
	}
	type short struct {
		_    entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_    lifecycle.TTL `attr:"ends" after:"1d"`
		ID   string        `dynamodbav:"id"`
		Ends int32         `dynamodbav:"ends"`
	}
	type textTime struct {
		_    entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_    lifecycle.TTL `attr:"ends" after:"1d"`
		ID   string        `dynamodbav:"id"`
		Ends time.Time     `dynamodbav:"ends"`
	}
	type milli struct {
		_    entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_    lifecycle.TTL `attr:"ends" after:"1d"`
		ID   string        `dynamodbav:"id"`
		Ends int64         `dynamodbav:"ends" entity:"time=unixms"`
	}
	type once struct {
		_    entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_    lifecycle.TTL `attr:"ends" after:"1d"`
		ID   string        `dynamodbav:"id"`
		Ends int64         `dynamodbav:"ends" entity:"set_once"`
	}
	type keyPart struct {
		_    entity.Key    `name:"A" pk:"$#{id}" sk:"$#{ends}"`
		_    lifecycle.TTL `attr:"ends" after:"1d"`
		ID   string        `dynamodbav:"id"`
		Ends int64         `dynamodbav:"ends"`
	}
	type indexKey struct {
		_    entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_    entity.GSI    `name:"byEnd" index:"gsi1" pk:"kind" sk:"ends"`
		_    lifecycle.TTL `attr:"ends" after:"1d"`
		ID   string        `dynamodbav:"id"`
		Kind string        `dynamodbav:"kind"`
		Ends int64         `dynamodbav:"ends"`
	}
	type stored struct {
		_  entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_  lifecycle.TTL `attr:"sk" after:"1d"`
		ID string        `dynamodbav:"id"`
	}
	type ours struct {
		_  entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_  lifecycle.TTL `attr:"_w" after:"1d"`
		ID string        `dynamodbav:"id"`
	}
	type kind struct {
		_  entity.Key    `name:"A" pk:"id" kind:"ends=a"`
		_  lifecycle.TTL `attr:"ends" after:"1d"`
		ID string        `dynamodbav:"id"`
	}
	require.Equal(t, []string{"EDD-9035", "EDD-9035", "EDD-9035", "EDD-9035", "EDD-9035"},
		[]string{refusal[text](t), refusal[short](t), refusal[textTime](t), refusal[milli](t), refusal[once](t)})
	require.Equal(t, []string{"EDD-9063", "EDD-9063", "EDD-9034", "EDD-9034", "EDD-9032"},
		[]string{refusal[keyPart](t), refusal[indexKey](t), refusal[stored](t), refusal[ours](t), refusal[kind](t)})
}

func TestTTL_FromMustSayWhatItCounts(t *testing.T) {
	t.Parallel()
	type unknown struct {
		_  entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_  lifecycle.TTL `attr:"ends" from:"at" after:"1d"`
		ID string        `dynamodbav:"id"`
	}
	type bare struct {
		_  entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_  lifecycle.TTL `attr:"ends" from:"at" after:"1d"`
		ID string        `dynamodbav:"id"`
		At int64         `dynamodbav:"at"`
	}
	type short struct {
		_  entity.Key `name:"A" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
		At int32      `dynamodbav:"at" entity:"time=unix"`
	}
	type text struct {
		_  entity.Key `name:"A" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
		At int64      `dynamodbav:"at" entity:"time=ms"`
	}
	type itself struct {
		_    entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_    lifecycle.TTL `attr:"ends" from:"ends" after:"1d"`
		ID   string        `dynamodbav:"id"`
		Ends time.Time     `dynamodbav:"ends" entity:"time=unix"`
	}
	require.Equal(t, []string{"EDD-9002", "EDD-9035", "EDD-9035", "EDD-9035", "EDD-9003"},
		[]string{refusal[unknown](t), refusal[bare](t), refusal[short](t), refusal[text](t), refusal[itself](t)})
}

func TestTTL_AfterMustBeGivenAndMakeSense(t *testing.T) {
	t.Parallel()
	type open struct {
		_  entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_  lifecycle.TTL `attr:"ends"`
		ID string        `dynamodbav:"id"`
	}
	type plain struct {
		_  entity.Key `name:"A" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	type twice struct {
		_  entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_  lifecycle.TTL `attr:"ends" after:"1d"`
		_  lifecycle.TTL `attr:"ends" after:"2d"`
		ID string        `dynamodbav:"id"`
	}
	type nameless struct {
		_  entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_  lifecycle.TTL `after:"1d"`
		ID string        `dynamodbav:"id"`
	}
	require.Equal(t, []string{"EDD-9003", "", "EDD-9036", "EDD-9036", "EDD-9036", "EDD-9108", "EDD-9003", "EDD-9003"}, []string{
		refusal[open](t), refusal[open](t, lifecycle.After(time.Minute)), refusal[open](t, lifecycle.After(0)),
		refusal[open](t, lifecycle.After(-time.Second)), refusal[open](t, lifecycle.After(1500*time.Millisecond)),
		refusal[plain](t, lifecycle.After(time.Minute)), refusal[twice](t), refusal[nameless](t),
	})
	require.Equal(t, []string{"", "EDD-9108", "EDD-9108", "EDD-9003"}, []string{
		refusal[open](t, lifecycle.NoExpiry()), refusal[plain](t, lifecycle.NoExpiry()),
		refusal[open](t, lifecycle.NoExpiry(), lifecycle.After(time.Minute)), refusal[nameless](t, lifecycle.NoExpiry()),
	})
}

// A table expires items by one attribute.
func TestTTL_OneTableHasOneAttribute(t *testing.T) {
	t.Parallel()
	type binned struct {
		_  entity.Key           `name:"Binned" pk:"$#{id}" sk:"$"`
		_  lifecycle.SoftDelete `ttl:"1d"`
		ID string               `dynamodbav:"id"`
	}
	type lasting struct {
		_  entity.Key `name:"Lasting" pk:"$#{id}" sk:"$"`
		_  lifecycle.SoftDelete
		ID string `dynamodbav:"id"`
	}
	for ttl, want := range map[string]string{"": "EDD-9041", "ends": ""} {
		db, err := entity.Open(nil, entity.Config{Table: "app", TTL: ttl})
		require.NoError(t, err)
		_, err = entity.New[Marker](db)
		require.NoError(t, err)
		_, err = entity.New[lasting](db)
		require.NoError(t, err, "whose copies do not expire")
		_, err = entity.New[binned](db)
		require.Equal(t, want, codeOf(err))
	}
}
