package iac_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/iac"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

var update = flag.Bool("update", false, "rewrite the golden files of policies")

// allTables declares every entity of this package's tests.
func allTables(t *testing.T) *entity.DB {
	t.Helper()
	db := entity.Must(entity.Open(nil, entity.Config{
		Table: "prod-app", Tables: map[string]string{"sealed": "arn:aws:dynamodb:eu-west-1:111122223333:table/sealed"},
		TableOptions: map[string]entity.TableOptions{"ledger_entries": {PointInTimeRecovery: true}},
	}))
	declare[Report](t, db)
	declare[Sealed](t, db)
	declare[Parked](t, db)
	declare[LedgerEntry](t, db)
	return db
}

func TestPolicy_IsWhatTheFileHas(t *testing.T) {
	t.Parallel()
	spec := tables.Of(allTables(t))
	for name, opts := range map[string][]iac.PolicyOption{
		"policy.json":            nil,
		"policy-read.json":       {iac.ReadOnly(), iac.In("arn:aws:dynamodb:eu-central-1:123456789012")},
		"policy-everything.json": {iac.Allow(iac.Read, iac.Write, iac.Transact, iac.Stream, iac.Check, iac.Create)},
		"policy-tenant.json": {
			iac.LeadingKeys("", "", "$app#v1#report#${aws:PrincipalTag/tenant}*"), iac.LeadingKeys("", "gsi2", "${aws:PrincipalTag/tenant}"),
		},
	} {
		got, err := iac.Policy(spec, opts...)
		require.NoError(t, err, name)
		again := entity.Must(iac.Policy(tables.Of(allTables(t)), opts...))
		require.Equal(t, string(got), string(again))
		file := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(file, got, 0o600))
		}
		require.Equal(t, string(entity.Must(os.ReadFile(file))), string(got), name)
	}
}

// policyOf is what a policy says.
type policyOf struct {
	Statement []struct {
		Sid, Effect      string
		Action, Resource []string
		Condition        map[string]any
	}
}

// allowed returns the actions on resources that contain a text.
func (p policyOf) allowed(resource string) map[string]bool {
	all := map[string]bool{}
	for _, s := range p.Statement {
		for _, r := range s.Resource {
			if strings.HasSuffix(r, resource) {
				for _, a := range s.Action {
					all[strings.TrimPrefix(a, "dynamodb:")] = true
				}
			}
		}
	}
	return all
}

func read(t *testing.T, spec tables.Spec, opts ...iac.PolicyOption) (p policyOf) {
	t.Helper()
	text := entity.Must(iac.Policy(spec, opts...))
	require.NoError(t, json.Unmarshal(text, &p))
	return p
}

func TestPolicy_AllowsWhatTheFamiliesNeedAndNothingElse(t *testing.T) {
	t.Parallel()
	spec := tables.Of(allTables(t))
	set := func(names string) map[string]bool {
		all := map[string]bool{}
		for _, n := range strings.Fields(names) {
			all[n] = true
		}
		return all
	}
	for _, c := range []struct {
		opts          []iac.PolicyOption
		table, index_ string
	}{
		{nil, "BatchGetItem BatchWriteItem ConditionCheckItem DeleteItem GetItem PutItem Query Scan UpdateItem", "Query Scan"},
		{[]iac.PolicyOption{iac.ReadOnly()}, "BatchGetItem GetItem Query Scan", "Query Scan"},
		{[]iac.PolicyOption{iac.Allow(iac.Write)}, "BatchWriteItem DeleteItem GetItem PutItem Query UpdateItem", ""},
		{[]iac.PolicyOption{iac.Allow(iac.Transact)}, "ConditionCheckItem DeleteItem GetItem PutItem Query UpdateItem", ""},
		{[]iac.PolicyOption{iac.Allow(iac.Check)}, "DescribeTable DescribeTimeToLive", ""},
		{[]iac.PolicyOption{iac.Allow(iac.Create)}, "CreateTable DescribeTable DescribeTimeToLive UpdateTimeToLive", ""},
		{[]iac.PolicyOption{iac.Allow(iac.AddIndexes)}, "CreateTable DescribeTable DescribeTimeToLive UpdateTable UpdateTimeToLive", ""},
		{[]iac.PolicyOption{iac.LeadingKeys("", "", "a*")}, "BatchGetItem BatchWriteItem ConditionCheckItem DeleteItem GetItem PutItem Query UpdateItem", ""},
		{[]iac.PolicyOption{iac.LeadingKeys("", "gsi1", "a*")}, "BatchGetItem BatchWriteItem ConditionCheckItem DeleteItem GetItem PutItem Query Scan UpdateItem", "Query"},
	} {
		p := read(t, spec, c.opts...)
		require.Equal(t, set(c.table), p.allowed("table/prod-app"))
		require.Equal(t, set(c.index_), p.allowed("table/prod-app/index/gsi1"))
		for _, s := range p.Statement {
			require.Equal(t, "Allow", s.Effect)
			for _, r := range s.Resource {
				require.NotEqual(t, "*", r)
			}
		}
	}
	streams := read(t, spec, iac.Allow(iac.Stream))
	require.Equal(t, set("DescribeStream GetRecords GetShardIterator ListStreams"), streams.allowed("table/ledger_entries/stream/*"))
	require.Equal(t, set("DescribeTable"), streams.allowed("table/ledger_entries"), "a reader asks for the newest stream")
	require.Empty(t, streams.allowed("table/prod-app/stream/*"), "it has no stream")
	backups := read(t, spec, iac.Allow(iac.Create))
	require.True(t, backups.allowed("table/ledger_entries")["UpdateContinuousBackups"])
}

func TestPolicy_Refuses(t *testing.T) {
	t.Parallel()
	spec := tables.Of(allTables(t))
	for _, opts := range [][]iac.PolicyOption{
		{nil}, {iac.Allow(iac.Family(99))}, {iac.In("eu-central-1")}, {iac.LeadingKeys("nowhere", "", "a")}, {iac.LeadingKeys("", "none", "a")}, {iac.LeadingKeys("", "")},
		{iac.LeadingKeys("", "", "a"), iac.LeadingKeys("", "", "b")}, {iac.LeadingKeys("sealed", "", "a")}, {iac.LeadingKeys("sealed", "place-index", "a")}, {iac.Allow()},
	} {
		require.Error(t, dbtest.ErrorOf(iac.Policy(spec, opts...)))
	}
	require.Error(t, dbtest.ErrorOf(iac.Policy(tables.Spec{})))
	broken := entity.Must(entity.Open(nil, entity.Config{Table: "t", TableOptions: map[string]entity.TableOptions{"x": {DeletionProtection: true}}}))
	declare[Report](t, broken)
	require.Error(t, dbtest.ErrorOf(iac.Policy(tables.Of(broken))))
}
