package console

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/tables/schemalock"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/versioned"
)

// Pay is the state of a read model that copies secrets.
type Pay struct {
	Email  string `dynamodbav:"email"`
	Salary int    `dynamodbav:"salary"`
}

// payroll adds a read model of employees to a lab: its groups and states are secrets of theirs.
func (l *lab) payroll() *timeline.View[string, Pay] {
	l.t.Helper()
	v, err := timeline.New(l.db, timeline.Projection[string, Pay]{
		Name: "payroll", Version: 1, Retention: 24 * time.Hour, Source: timeline.Versions(entity.Must(versioned.Of(l.employees))), Start: func() Pay { return Pay{} },
		Handlers: []timeline.Handler[string, Pay]{
			timeline.On("employee.created", func(x Employee) string { return x.Email }, func(p *Pay, e timeline.Event[Employee]) error {
				p.Email, p.Salary = e.Payload.Email, e.Payload.Salary
				return nil
			}),
		},
	})
	require.NoError(l.t, err)
	require.NoError(l.t, os.WriteFile(l.lock, []byte(schemalock.Of(l.db).String()), 0o600))
	return v
}

// A read model of an entity with secrets shows no state and no group, in no command; others do.
func TestSecrets_AreNotPrintedFromReadModels(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	payroll := l.payroll()
	l.story()
	app := l.app()
	app.Open = func(context.Context, Connection) (Program, error) {
		return Program{DB: l.db, Handles: &struct {
			Employees *entity.Store[Employee]
			Visits    *timeline.View[string, Visits]
			Payroll   *timeline.View[string, Pay]
		}{l.employees, l.visits, payroll}}, nil
	}
	program := func(args ...string) result {
		return l.start(t.Context(), app, "", append([]string{"--table", l.table}, args...)...)
	}
	for _, args := range []string{"--yes run rebuild payroll", "--yes run rebuild visits"} {
		r := program(strings.Fields(args)...)
		require.Equal(t, ExitOK, r.code, r.err)
	}
	rows := map[string]string{}
	s := &session{client: l.client}
	for page, err := range s.scan(t.Context(), l.table, &spent{}) {
		require.NoError(t, err)
		for _, it := range page {
			if name, ok := it[schema.EntityAttr].(*types.AttributeValueMemberS); ok && strings.HasPrefix(name.Value, "Timeline-") {
				rows[name.Value] = it["generation"].(*types.AttributeValueMemberS).Value
			}
		}
	}
	require.Len(t, rows, 2)
	for _, run := range []func(...string) result{l.run, program} {
		r := run("query", "Timeline-payroll", "generation="+rows["Timeline-payroll"])
		require.Equal(t, ExitOK, r.code, r.err)
		require.Contains(t, r.out, "group=<hidden>")
		require.Contains(t, r.out, "state=<hidden>")
		r = run("show", "Timeline-payroll", "generation="+rows["Timeline-payroll"], "group=alice@example.com")
		require.Equal(t, ExitOK, r.code, r.err)
		require.Contains(t, r.out, "its state is hidden, because Employee has secrets")
		r = run("query", "Timeline-visits", "generation="+rows["Timeline-visits"])
		require.Contains(t, r.out, "group=d-7")
		require.Contains(t, r.out, "reports", "its entity has no secrets")
		for _, args := range []string{
			"check", "--json check", "tail --from-start --limit 20", "--json tail --from-start --limit 25", "schema", "dump", "dump Timeline-visits",
			"get TimelineManifest-payroll view=payroll", "--json get TimelineManifest-payroll view=payroll", "query TimelinePages-payroll generation=" + rows["Timeline-payroll"],
		} {
			require.Contains(t, []int{ExitOK, ExitFindings, ExitUsage}, run(strings.Fields(args)...).code, args) // start compares the output with the secrets
		}
		for _, name := range []string{"Timeline-payroll", "TimelinePages-payroll", "TimelineManifest-visits"} {
			require.Equal(t, ExitUsage, run("dump", name).code, name)
		}
		require.Contains(t, run("schema", "Timeline-payroll").out, "never printed: group, key, state")
	}
}

// A lock from before the sources were kept shows no state if any entity has a secret.
func TestSecrets_AreGuardedWithoutSources(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, now: noon, lock: t.TempDir() + "/dynastrata.lock"}
	l.declare(nil, "app")
	guarded := func(text string) bool {
		require.NoError(t, os.WriteFile(l.lock, []byte(text), 0o600))
		e, err := modelOfFile(t, l.lock, "app").entity("Timeline-visits")
		require.NoError(t, err)
		return e.guarded
	}
	now := schemalock.Of(l.db).String()
	require.Contains(t, now, "  sources = Telemetry\n")
	require.False(t, guarded(now))
	require.True(t, guarded(strings.ReplaceAll(now, "sources = Telemetry", "sources = Employee Telemetry")))
	require.True(t, guarded(strings.ReplaceAll(now, "sources = Telemetry", "sources = Invoice")))
	require.False(t, guarded(strings.ReplaceAll(now, "sources = Telemetry", "sources = (feeds)")))
	old := strings.ReplaceAll(now, "  sources = Telemetry\n", "")
	require.True(t, guarded(old))
	old = regexp.MustCompile(`(?m)^  unique\.Constraint.*\n`).ReplaceAllString(strings.ReplaceAll(old, " secret\n", "\n"), "")
	require.False(t, guarded(old), "no entity has a secret")
}

// Positions in a table, which are keys of any item, and failures are not printed.
func TestSecrets_AreNotPrintedFromPositions(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, now: noon}
	l.declare(nil, "app")
	m, err := modelOfDB(l.db)
	require.NoError(t, err)
	at := mapOf(item.Item{"id": item.S("g-1"), "positions": mapOf(item.Item{"0": item.S("alice@example.com")})})
	for name, it := range map[string]item.Item{
		"manifest": {
			"pk": item.S("$app#v1#timelinemanifest-visits#visits"), "sk": item.S("$app#v1#timelinemanifest-visits"), schema.EntityAttr: item.S("TimelineManifest-visits"), "view": item.S("visits"),
			"building": at, "active": at, "retired": &types.AttributeValueMemberL{Value: []types.AttributeValue{mapOf(item.Item{"was": at})}}, "failure": mapOf(item.Item{"key": item.S("alice@example.com")}),
		},
		"checkpoint": {"pk": item.S("x"), "sk": item.S("y"), schema.EntityAttr: item.S("Employee._rewrite"), "at": item.S("alice@example.com")},
	} {
		x := m.decode("app", it, noon)
		var text strings.Builder
		s := &session{out: newPrinter(&text, true, true)}
		require.NoError(t, s.out.object(x.object()))
		s.out.tree(s.itemNode(x, true))
		require.NotContains(t, text.String(), "alice", name)
		require.Contains(t, text.String(), hidden, name)
	}
}

func mapOf(it item.Item) types.AttributeValue { return &types.AttributeValueMemberM{Value: it} }
