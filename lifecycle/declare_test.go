package lifecycle_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/declaretest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// "joining X" is a table that holds X already, "with ends" a database that expires items by that attribute; "after" and
// "never" are options of the store, and "shared" is a database that shares its tables.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	types := declaretest.Types{
		"entity.Key": reflect.TypeFor[entity.Key](), "entity.GSI": reflect.TypeFor[entity.GSI](), "time.Time": reflect.TypeFor[time.Time](),
		"lifecycle.SoftDelete": reflect.TypeFor[lifecycle.SoftDelete](), "lifecycle.TTL": reflect.TypeFor[lifecycle.TTL](), "unique.Constraint": reflect.TypeFor[unique.Constraint](),
		"versioned.Lock": reflect.TypeFor[versioned.Lock](), "versioned.Retain": reflect.TypeFor[versioned.Retain](), "timeseries.Events": reflect.TypeFor[timeseries.Events](),
	}
	declaretest.Run(t, "testdata/declarations/*.txt", types, func(t *testing.T, c declaretest.Case, where string) error {
		table, o := &schema.Table{Name: "app"}, declaretest.Options
		if rest, ends := strings.CutPrefix(where, "with ends "); ends {
			o.TTL, where = "ends", rest
		}
		other, joining := strings.CutPrefix(where, "joining ")
		after, limited := strings.CutPrefix(where, "after ")
		switch {
		case joining:
			require.NoError(t, declaretest.Declare(table, c.Lookup(t, other), o))
		case limited:
			d := entity.Must(time.ParseDuration(after))
			o.After = &d
		case where == "shared":
			o.Profile, o.Precision = schema.NewProfile(true), key.Milli
		case where == "never":
			o.NoExpiry = true
		default:
			require.Empty(t, where, "an unknown place")
		}
		return declaretest.Declare(table, c.Type, o)
	})
}

func TestTTL_OptionsNeedATTLAndExcludeEachOther(t *testing.T) {
	t.Parallel()
	type plain struct {
		_  entity.Key `name:"A" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	type open struct {
		_  entity.Key    `name:"A" pk:"$#{id}" sk:"$"`
		_  lifecycle.TTL `attr:"ends"`
		ID string        `dynamodbav:"id"`
	}
	for _, declare := range []func(*entity.DB) error{
		func(db *entity.DB) error { _, err := entity.New[plain](db, lifecycle.After(time.Minute)); return err },
		func(db *entity.DB) error { _, err := entity.New[plain](db, lifecycle.NoExpiry()); return err },
		func(db *entity.DB) error {
			return dbtest.ErrorOf(entity.New[open](db, lifecycle.NoExpiry(), lifecycle.After(time.Minute)))
		},
	} {
		require.Equal(t, "EDD-9108", codeOf(declare(entity.Must(entity.Open(nil, entity.Config{Table: "app"})))))
	}
}

// codeOf returns the code of a mistake in a declaration or an argument, or "" if err has no code.
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
