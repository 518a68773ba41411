package unique_test

import (
	"reflect"
	"testing"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/declaretest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
)

func TestDeclarations(t *testing.T) {
	t.Parallel()
	declaretest.Run(t, "testdata/declarations/*.txt", declaretest.Types{
		"entity.Key": reflect.TypeFor[entity.Key](), "timeseries.Events": reflect.TypeFor[timeseries.Events](), "unique.Constraint": reflect.TypeFor[unique.Constraint](),
	}, declaretest.Alone)
}
