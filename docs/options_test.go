package docs_test

import (
	"os"
	"reflect"
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
		accepts func(reflect.Type) bool
	}{
		{"Get", is[entity.GetOption]}, {"GetMany", is[entity.ReadOption]}, {"Query", is[entity.QueryOption]}, {"Scan", is[entity.ScanOption]},
		{"History.List", is[versioned.ListOption]}, {"Deleted.List", is[lifecycle.ListOption]},
		{"Append", is[timeseries.AppendOption]}, {"Create", is[entity.CreateOption]}, {"Restore", is[lifecycle.RestoreOption]},
		{"Put", is[entity.WriteOption]}, {"Delete", is[entity.DeleteOption]}, {"Update", is[entity.UpdateOption]}, {"PutMany", is[entity.BatchOption]}, {"Purge", is[entity.PurgeOption]}, {"TransactFunc", is[entity.DecideOption]},
		{"New", is[entity.StoreOption]}, {"Bind", is[entity.BindOption]},
		{"Rewrite", is[migrate.Option]}, {"Copier.Run", is[migrate.CopyOption]}, {"Copier.CutOver", is[migrate.PassOption]},
	}
	text := &entity.Fields[remark]().Text
	var verbs []string               // as the list of docs/tags.md has them
	options := map[string][]string{} // accepted by them
	for _, c := range []optionCase{
		option("Consistent", entity.Consistent(), "Get GetMany Query Scan History.List Deleted.List"),
		option("IncludeExpired", entity.IncludeExpired(), "Get GetMany Query Scan History.List Deleted.List"),
		option("SkipUndecodable", entity.SkipUndecodable(), "Get GetMany Query Scan History.List Deleted.List"),
		option("KeepImage", entity.KeepImage(new(entity.Image)), "Get"),
		option("Filter", entity.Filter(), "Query Scan History.List Deleted.List"),
		option("Limit", entity.Limit(1), "Query Scan History.List Deleted.List"),
		option("MaxEvaluated", entity.MaxEvaluated(1), "Query Scan Deleted.List"),
		option("MaxRequests", entity.MaxRequests(1), "Query Scan Deleted.List"),
		option("Hydrate", entity.Hydrate(), "Query Scan"),
		option("Desc", entity.Desc(), "Query History.List"),
		option("Eq", entity.Eq(text, ""), "Query History.List"),
		option("Segments", entity.Segments(2), "Scan Rewrite Copier.Run Copier.CutOver"),
		option("Segment", entity.Segment(0, 2), "Scan Rewrite"),
		option("OnPage", entity.OnPage(func(entity.ScanProgress) {}), "Scan"),
		option("versioned.WithCurrent", versioned.WithCurrent(), "History.List"),
		option("If", entity.If(entity.Eq(text, "")), "Append Create Restore Put Delete Update"),
		option("Idempotent", entity.Idempotent(), "Create Restore Put Delete Update"),
		option("versioned.Expect", versioned.Expect(1), "Restore Put Delete Update"),
		option("versioned.AnyVersion", versioned.AnyVersion(), "Restore Put Delete Update"),
		option("FromImage", entity.FromImage(new(entity.Image)), "Put Delete Update"),
		option("Returning", entity.Returning(new(remark)), "Put Delete Update"),
		option("Set", entity.Set(text, ""), "Restore Delete Update"),
		option("IfPresent", entity.IfPresent(nil), "Delete"),
		option("Unconditional", entity.Unconditional(), "PutMany"),
		option("Budget", entity.Budget(1, 1), "Get GetMany Query Scan History.List Deleted.List PutMany Purge Rewrite Copier.Run Copier.CutOver"),
		option("migrate.DryRun", migrate.DryRun(), "Rewrite Copier.Run"),
		option("migrate.Strict", migrate.Strict(), "Rewrite Copier.Run"),
		option("migrate.Restart", migrate.Restart(), "Rewrite Copier.Run"),
		option("migrate.NewVersion", migrate.NewVersion(), "Rewrite"),
		option("migrate.Ends", migrate.Ends(), "Rewrite"),
		option("migrate.Checkpoint", migrate.Checkpoint("c"), "Rewrite"),
		option("migrate.OnProgress", migrate.OnProgress(func(migrate.Progress) {}), "Rewrite Copier.Run Copier.CutOver"),
		option("OnProgress", entity.OnProgress(func(int) {}), "Purge"),
		option("MaxDecisions", entity.MaxDecisions(1), "TransactFunc"),
		option("Named", entity.Named("Note"), "New"),
		option("Upgrade", entity.Upgrade(1, func(n remark) (remark, error) { return n, nil }), "New"),
		option("lifecycle.After", lifecycle.After(time.Hour), "New"),
		option("lifecycle.NoExpiry", lifecycle.NoExpiry(), "New"),
		option("For", entity.For[remark](), "Bind"),
		option("lease.With", lease.With(lease.Options{}), "Bind"),
		option("timeline.Define", timeline.Define(func(*remark) timeline.Projection[string, remark] { return timeline.Projection[string, remark]{} }), "Bind"),
	} {
		var got []string
		for _, f := range families {
			if f.accepts(c.declared) {
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

func is[O any](declared reflect.Type) bool { return declared.AssignableTo(reflect.TypeFor[O]()) }

// optionCase is an option by the type that its function is declared to return, and the verbs that accept it.
type optionCase struct {
	name     string
	declared reflect.Type
	want     string
}

func option[O any](name string, _ O, want string) optionCase {
	return optionCase{name, reflect.TypeFor[O](), want}
}
