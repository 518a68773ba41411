package schema_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/timeseries"
)

// quota is a feature of a package that entity knows nothing of: this one.
type quota struct{}

// quotaPlan is what a quota declaration compiles to.
type quotaPlan struct {
	attr    *schema.Attr
	window  time.Duration
	indexes int
	keyed   bool
}

func (quota) Declare(d *schema.Decl) {
	q := &quotaPlan{window: d.Duration("window")}
	if name, ok := d.Need("attr"); ok {
		q.attr = d.Schema.Attr(name)
	}
	q.keyed = d.Schema.PK != nil
	d.Keep(q)
	d.Check(func() { q.indexes = len(d.Schema.Indexes) })
}

func TestFeature_ReachesItsOwnPackageThroughTheSchema(t *testing.T) {
	t.Parallel()
	type metered struct {
		_    quota      `attr:"used" window:"1h30m"` // read after the key, wherever it stands
		_    entity.Key `name:"Metered" pk:"$#{id}"`
		_    entity.GSI `name:"byUsed" index:"gsi1" pk:"$#{used}"`
		ID   string     `dynamodbav:"id"`
		Used int        `dynamodbav:"used"`
	}
	store, err := entity.New[metered](open(t))
	require.NoError(t, err)
	s := core.Of(store).Schema
	q, ok := schema.Feature[*quotaPlan](s)
	require.True(t, ok)
	require.Same(t, s.Attr("used"), q.attr)
	require.Equal(t, 90*time.Minute, q.window)
	require.True(t, q.keyed, "the key is compiled before the features")
	require.Equal(t, 1, q.indexes, "a Check sees the indexes declared behind it")

	_, ok = schema.Feature[*otherPlan](s)
	require.False(t, ok, "another package's feature is not declared")
}

type otherPlan struct{}

func TestFeature_TagIsAsStrictAsOurs(t *testing.T) {
	t.Parallel()
	const theQuota = "_ schema_test.quota"
	type unknown struct {
		_    entity.Key `name:"Wrong" pk:"$#{id}"`
		_    quota      `attr:"used" windwo:"1h"`
		ID   string     `dynamodbav:"id"`
		Used int        `dynamodbav:"used"`
	}
	type missing struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  quota      `window:"1h"`
		ID string     `dynamodbav:"id"`
	}
	type empty struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  quota      `attr:""`
		ID string     `dynamodbav:"id"`
	}
	type zero struct {
		_    entity.Key `name:"Wrong" pk:"$#{id}"`
		_    quota      `attr:"used" window:"0s"`
		ID   string     `dynamodbav:"id"`
		Used int        `dynamodbav:"used"`
	}
	refused[unknown](t, "EDD-9003", theQuota)
	refused[missing](t, "EDD-9003", theQuota)
	refused[empty](t, "EDD-9003", theQuota)
	refused[zero](t, "EDD-9036", theQuota)
	type keyless struct {
		_  quota
		ID string `dynamodbav:"id"`
	}
	checkMistakes[keyless](t, alone[keyless](), mistake{"EDD-9030", ""}, mistake{"EDD-9003", theQuota})
}

// Stand-ins for features of later packages: what counts is the name that their compiled form gives.
type (
	retain     struct{}
	softDelete struct{}
	named      struct{ name string }
)

func (n named) FeatureName() string { return n.name }

func (retain) Declare(d *schema.Decl) {
	d.Keep(named{"versioned"})
	d.Satellites(len("#v#0000000"))
}

func (softDelete) Declare(d *schema.Decl) {
	d.Keep(named{"lifecycle"})
	d.Satellites(len("#deleted#2006-01-02T15:04:05.000000000Z"))
}

func TestFeature_SeriesIsNeitherVersionedNorSoftDeleted(t *testing.T) {
	t.Parallel()
	type versioned struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		_  retain
		ID string    `dynamodbav:"id"`
		At time.Time `dynamodbav:"at"`
		A  int       `dynamodbav:"a" entity:"append"`
	}
	type versionedFirst struct {
		_  retain
		_  timeseries.Events `orderBy:"at"`
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type deleted struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		_  softDelete
		ID string    `dynamodbav:"id"`
		At time.Time `dynamodbav:"at"`
		A  int       `dynamodbav:"a" entity:"append"`
	}
	refused[versioned](t, "EDD-9012", theEvents)
	refused[versionedFirst](t, "EDD-9012", theEvents)
	refused[deleted](t, "EDD-9015", theEvents)

	type metered struct {
		_  entity.Key        `name:"Right" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		_  quota             `attr:"a"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type both struct {
		_  entity.Key `name:"Right" pk:"$#{id}" sk:"$"`
		_  retain
		_  softDelete
		ID string `dynamodbav:"id"`
	}
	accepted[metered](t)
	accepted[both](t)
}

func TestFeature_SatellitesNeedASortKeyWithAPrefix(t *testing.T) {
	t.Parallel()
	type partitionOnly struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  retain
		ID string `dynamodbav:"id"`
	}
	type verbatim struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" sk:"sk={at}"`
		_  softDelete
		ID string `dynamodbav:"id"`
		At string `dynamodbav:"at"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"id" sk:"$"` // the partition key may be anything
		_  retain
		ID string `dynamodbav:"id"`
	}
	refused[partitionOnly](t, "EDD-9038", "")
	refused[verbatim](t, "EDD-9038", "")
	accepted[right](t)
}
