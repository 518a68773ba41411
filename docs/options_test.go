package docs_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
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
		{"History.List", is[versioned.ListOption]}, {"Deleted.List", is[lifecycle.ListOption]},
		{"Append", is[timeseries.AppendOption]}, {"Create", is[entity.CreateOption]}, {"Restore", is[lifecycle.RestoreOption]},
		{"Put", is[entity.WriteOption]}, {"Delete", is[entity.DeleteOption]}, {"Update", is[entity.UpdateOption]}, {"PutMany", is[entity.BatchOption]}, {"Purge", is[entity.PurgeOption]},
		{"New", is[entity.StoreOption]}, {"Bind", is[entity.BindOption]},
		{"Rewrite", is[migrate.Option]}, {"Copier.Run", is[migrate.CopyOption]}, {"Copier.CutOver", is[migrate.PassOption]},
	}
	text := &entity.Fields[remark]().Text
	var verbs []string               // as the list of docs/tags.md has them
	options := map[string][]string{} // accepted by them
	for _, c := range []struct {
		name   string
		option any
		want   string
	}{
		{"Consistent", entity.Consistent(), "Get GetMany Query Scan History.List Deleted.List"},
		{"IncludeExpired", entity.IncludeExpired(), "Get GetMany Query Scan History.List Deleted.List"},
		{"SkipUndecodable", entity.SkipUndecodable(), "Get GetMany Query Scan History.List Deleted.List"},
		{"KeepImage", entity.KeepImage(new(entity.Image)), "Get"},
		{"Filter", entity.Filter(), "Query Scan History.List Deleted.List"},
		{"Limit", entity.Limit(1), "Query Scan History.List Deleted.List"},
		{"MaxEvaluated", entity.MaxEvaluated(1), "Query Scan Deleted.List"},
		{"MaxRequests", entity.MaxRequests(1), "Query Scan Deleted.List"},
		{"Hydrate", entity.Hydrate(), "Query Scan"},
		{"Desc", entity.Desc(), "Query History.List"},
		{"Eq", entity.Eq(text, ""), "Query History.List"},
		{"Segments", entity.Segments(2), "Scan Rewrite Copier.Run Copier.CutOver"},
		{"Segment", entity.Segment(0, 2), "Scan Rewrite"},
		{"OnPage", entity.OnPage(func(entity.ScanProgress) {}), "Scan"},
		{"versioned.WithCurrent", versioned.WithCurrent(), "History.List"},
		{"If", entity.If(entity.Eq(text, "")), "Append Create Restore Put Delete Update"},
		{"Idempotent", entity.Idempotent(), "Create Restore Put Delete Update"},
		{"versioned.Expect", versioned.Expect(1), "Restore Put Delete Update"},
		{"versioned.AnyVersion", versioned.AnyVersion(), "Restore Put Delete Update"},
		{"FromImage", entity.FromImage(new(entity.Image)), "Put Delete Update"},
		{"Returning", entity.Returning(new(remark)), "Put Delete Update"},
		{"Set", entity.Set(text, ""), "Restore Delete Update"},
		{"IfPresent", entity.IfPresent(nil), "Delete"},
		{"Unconditional", entity.Unconditional(), "PutMany"},
		{"Budget", entity.Budget(1, 1), "Get GetMany Query Scan History.List Deleted.List PutMany Purge Rewrite Copier.Run Copier.CutOver"},
		{"migrate.DryRun", migrate.DryRun(), "Rewrite Copier.Run"},
		{"migrate.Strict", migrate.Strict(), "Rewrite Copier.Run"},
		{"migrate.Restart", migrate.Restart(), "Rewrite Copier.Run"},
		{"migrate.NewVersion", migrate.NewVersion(), "Rewrite"},
		{"migrate.Checkpoint", migrate.Checkpoint("c"), "Rewrite"},
		{"migrate.OnProgress", migrate.OnProgress(func(migrate.Progress) {}), "Rewrite Copier.Run Copier.CutOver"},
		{"OnProgress", entity.OnProgress(func(int) {}), "Purge"},
		{"Named", entity.Named("Note"), "New"},
		{"Upgrade", entity.Upgrade(1, func(n remark) (remark, error) { return n, nil }), "New"},
		{"lifecycle.After", lifecycle.After(time.Hour), "New"},
		{"lifecycle.NoExpiry", lifecycle.NoExpiry(), "New"},
		{"For", entity.For[remark](), "Bind"},
		{"lease.With", lease.With(lease.Options{}), "Bind"},
		{"timeline.Define", timeline.Define(func(*remark) timeline.Projection[string, remark] { return timeline.Projection[string, remark]{} }), "Bind"},
	} {
		var got []string
		for _, f := range families {
			if f.accepts(c.option) {
				got = append(got, f.name)
			}
		}
		require.Equal(t, c.want, strings.Join(got, " "), c.name)
		where := strings.Join(got, ", ")
		if options[where] == nil {
			verbs = append(verbs, where)
		}
		options[where] = append(options[where], "`"+c.name+"`")
	}
	list := "\n"
	for _, where := range verbs {
		list += "- " + strings.Join(options[where], ", ") + ": " + where + "\n"
	}
	doc, err := os.ReadFile("tags.md")
	require.NoError(t, err)
	require.Contains(t, string(doc), list)
}

func is[O any](v any) bool {
	_, ok := v.(O)
	return ok
}
