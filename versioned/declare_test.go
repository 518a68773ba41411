package versioned_test

import (
	"reflect"
	"testing"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/declaretest"
	"github.com/dynastrata/dynastrata/versioned"
)

func TestDeclarations(t *testing.T) {
	t.Parallel()
	declaretest.Run(t, "testdata/declarations/*.txt", declaretest.Types{
		"entity.Key": reflect.TypeFor[entity.Key](), "versioned.Lock": reflect.TypeFor[versioned.Lock](), "versioned.Retain": reflect.TypeFor[versioned.Retain](),
	}, declaretest.Alone)
}
