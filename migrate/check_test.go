package migrate_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// check runs Check and returns its findings as texts, in order.
func (c *club) check(opts ...migrate.PassOption) (found []string) {
	c.T.Helper()
	done, err := migrate.Check(c.Ctx, c.now, func(f migrate.Finding) error {
		found = append(found, fmt.Sprint(f.Kind, " ", f.Entity, " ", f.Key, " ", f.Reasons, f.Problem, f.Related))
		return nil
	}, opts...)
	require.NoError(c.T, err)
	n := 0
	for _, k := range done.Findings {
		n += k
	}
	require.Len(c.T, found, n)
	slices.Sort(found)
	return found
}

func TestCheck_ReportsWhatDoesNotBelong(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.add("old", "red", "")
	c.OK(c.now.Create(c.Ctx, member{ID: "gone", Email: "gone@x"}))
	c.RemoveItem(texts("pk", pk("gone"), "sk", sk)) // without what belongs to it
	c.OK(c.now.Create(c.Ctx, member{ID: "moved", Email: "moved@x"}))
	c.ChangeItem(pk("moved"), sk, dbtest.Item{"email": nil})
	c.PutItem(texts("pk", "$app#v1#other#1", "sk", "$app#v1#other", "__edd_e__", "Other"))
	c.PutItem(texts("pk", "stranger", "sk", "x"))
	c.PutItem(texts("pk", pk("key"), "sk", sk, "id", "another"))
	expired := c.ItemsByKey()[pk("old")+" "+sk]
	left := without(expired)
	left["sk"], left["_k"] = dbtest.S(sk+"#v#0000007"), dbtest.S("v")
	left["_ttl"] = dbtest.N(fmt.Sprint(dbtest.Start.Add(-time.Hour).Unix()))
	c.PutItem(left)
	assert.Equal(t, []string{
		`broken Member pk="$app#v1#member#key" sk="$app#v1#member" []key does not follow from its attributes`,
		`leftover Member pk="$app#v1#member#old" sk="$app#v1#member#v#0000007" []`,
		`orphaned Member pk="$app#v1#member#gone" sk="$app#v1#member" []sentinel`,
		`orphaned Member pk="$app#v1#member#gone" sk="$app#v1#member#v#0000001" []snapshot`,
		`orphaned Member pk="$app#v1#member#moved" sk="$app#v1#member" []sentinel`,
		`outdated Member pk="$app#v1#member#old" sk="$app#v1#member" [index keys]`,
		`unknown  pk="$app#v1#other#1" sk="$app#v1#other" []`,
		`unknown  pk="stranger" sk="x" []`,
	}, c.check())
}

// An item that is deleted after its snapshot was read leaves no finding.
func TestCheck_ReadsAgainWhatSeemsOrphaned(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.OK(c.now.Create(c.Ctx, member{ID: "a", Email: "a@x"}))
	var found []migrate.Finding
	err := c.Overtake(dbtest.First(dbtest.Is("BatchGetItem")), func() error {
		_, err := migrate.Check(c.Ctx, c.now, func(f migrate.Finding) error { found = append(found, f); return nil })
		return err
	}, func() {
		require.NoError(t, dbtest.Declare[member](t, c.Open(c.Raw)).Purge(c.Ctx, member{ID: "a"}))
	})
	require.NoError(t, err)
	for _, f := range found {
		assert.NotEqual(t, migrate.Orphaned, f.Kind)
	}
}

func TestCheck_EndsWithTheErrorOfItsFunction(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.PutItem(texts("pk", "stranger", "sk", "x"))
	stop := errors.New("stop")
	done, err := migrate.Check(c.Ctx, c.now, func(migrate.Finding) error { return stop })
	require.ErrorIs(t, err, stop)
	assert.Equal(t, "1 items (1 unknown)", done.String())
	assert.Positive(t, done.Cost.ReadUnits)
	_, err = migrate.Check(c.Ctx, c.now, nil)
	assert.Equal(t, bind.CodeOption, dbtest.InputCode(err))
	_, err = migrate.Check(c.Ctx, c.now, func(migrate.Finding) error { return nil }, entity.Segments(65))
	assert.Equal(t, bind.CodeOption, dbtest.InputCode(err))
}
