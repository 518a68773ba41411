package docs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

type remark struct{ Text string }

// The compiler rejects an option that is given to another verb.
func TestOptions_AreAcceptedWhereTheyMeanSomething(t *testing.T) {
	t.Parallel()
	families := []struct {
		name    string
		accepts func(any) bool
	}{
		{"Get", is[entity.GetOption]}, {"GetMany", is[entity.ReadOption]}, {"Query", is[entity.QueryOption]}, {"Scan", is[entity.ScanOption]},
		{"History.List", is[versioned.ListOption]}, {"Deleted.List", is[lifecycle.ListOption]}, {"Verify", is[unique.VerifyOption]},
		{"Append", is[timeseries.AppendOption]}, {"Create", is[entity.CreateOption]}, {"Restore", is[lifecycle.RestoreOption]},
		{"Put", is[entity.WriteOption]}, {"Update", is[entity.UpdateOption]}, {"PutMany", is[entity.BatchOption]}, {"Purge", is[entity.PurgeOption]},
		{"New", is[entity.StoreOption]}, {"CreateTables", is[entity.TablesOption]},
		{"Rewrite", is[migrate.Option]}, {"Run", is[migrate.CopyOption]}, {"CutOver", is[migrate.PassOption]},
	}
	text := &entity.Fields[remark]().Text
	for _, c := range []struct {
		name   string
		option any
		want   string
	}{
		{"DryRun", migrate.DryRun(), "Rewrite Run"}, {"migrate.OnProgress", migrate.OnProgress(func(migrate.Progress) {}), "Rewrite Run CutOver"}, {"NewVersion", migrate.NewVersion(), "Rewrite"}, {"Upgrade", entity.Upgrade(1, func(n remark) (remark, error) { return n, nil }), "New"},
		{"Consistent", entity.Consistent(), "Get GetMany Query Scan History.List Deleted.List"},
		{"IncludeExpired", entity.IncludeExpired(), "Get GetMany Query Scan History.List Deleted.List"},
		{"KeepImage", entity.KeepImage(new(entity.Image)), "Get"},
		{"Filter", entity.Filter(), "Query Scan History.List Deleted.List"},
		{"Limit", entity.Limit(1), "Query Scan History.List Deleted.List"},
		{"MaxEvaluated", entity.MaxEvaluated(1), "Query Scan Deleted.List"},
		{"MaxRequests", entity.MaxRequests(1), "Query Scan Deleted.List"},
		{"Hydrate", entity.Hydrate(), "Query Scan"},
		{"Desc", entity.Desc(), "Query History.List"},
		{"a condition", entity.Eq(text, ""), "Query History.List"},
		{"Segments", entity.Segments(2), "Scan Verify Rewrite Run CutOver"},
		{"Segment", entity.Segment(0, 2), "Scan Rewrite"},
		{"OnPage", entity.OnPage(func(entity.ScanProgress) {}), "Scan"},
		{"WithCurrent", versioned.WithCurrent(), "History.List"},
		{"If", entity.If(entity.Eq(text, "")), "Append Create Restore Put Update"},
		{"Idempotent", entity.Idempotent(), "Create Restore Put Update"},
		{"Expect", versioned.Expect(1), "Restore Put Update"},
		{"AnyVersion", versioned.AnyVersion(), "Restore Put Update"},
		{"FromImage", entity.FromImage(new(entity.Image)), "Put Update"},
		{"Returning", entity.Returning(new(remark)), "Put Update"},
		{"Set", entity.Set(text, ""), "Update"},
		{"Unconditional", entity.Unconditional(), "PutMany"},
		{"Budget", entity.Budget(1, 1), "Get GetMany Query Scan History.List Deleted.List Verify PutMany Purge Rewrite Run CutOver"},
		{"OnProgress", entity.OnProgress(func(int) {}), "Purge"},
		{"unique.OnProgress", unique.OnProgress(func(int) {}), "Verify"},
		{"AddIndexes", entity.AddIndexes(), "CreateTables"},
		{"OnIndex", entity.OnIndex(func(entity.IndexProgress) {}), "CreateTables"},
		{"Named", entity.Named("Note"), "New"},
		{"After", lifecycle.After(time.Hour), "New"},
		{"NoExpiry", lifecycle.NoExpiry(), "New"},
	} {
		var got []string
		for _, f := range families {
			if f.accepts(c.option) {
				got = append(got, f.name)
			}
		}
		require.Equal(t, c.want, strings.Join(got, " "), c.name)
	}
}

func is[O any](v any) bool {
	_, ok := v.(O)
	return ok
}
