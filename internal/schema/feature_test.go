package schema_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/schema"
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
	store := entity.Must(entity.New[metered](open(t)))
	s := engine.Of(store).Schema
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

// Stand-ins for features of later packages: what counts is the name that their compiled form gives.
type (
	retain     struct{}
	softDelete struct{}
	named      struct{ name string }
)

func (n named) FeatureName() string { return n.name }

func (retain) Declare(d *schema.Decl) {
	d.Keep(named{"versioned"})
	d.RelatedItems(len("#v#0000000"))
}

func (softDelete) Declare(d *schema.Decl) {
	d.Keep(named{"lifecycle"})
	d.RelatedItems(len("#deleted#2006-01-02T15:04:05.000000000Z"))
}
