package iac_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/iac"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/goldentest"
)

// Report has a composed key in each kind of index.
type Report struct {
	_ entity.Key `name:"Report" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"all" index:"gsi1" pk:"$#{kind}" sk:"$#{day}"`
	_ entity.GSI `name:"keys" index:"gsi2" pk:"gsi2pk={kind}" project:"keys"`
	_ entity.GSI `name:"some" index:"gsi3" pk:"gsi3pk={kind}" sk:"gsi3sk={day}" project:"id, title"`

	ID    string `dynamodbav:"id"`
	Kind  string `dynamodbav:"kind"`
	Day   string `dynamodbav:"day,omitempty"`
	Title string `dynamodbav:"title,omitempty"`
	Body  string `dynamodbav:"body,omitempty"`
}

// Sealed is keyed by a binary and a number, and has an index of several native attributes and a local one.
type Sealed struct {
	_ entity.Key `name:"Sealed" table:"sealed" pk:"digest" sk:"size"`
	_ entity.GSI `name:"byOwner" index:"owner-index" pk:"owner" sk:"digest" project:"keys"`
	_ entity.GSI `name:"byPlace" index:"place-index" pk:"owner+shelf" sk:"row+digest" project:"note,colour"`
	_ entity.LSI `name:"byColour" index:"colour-index" sk:"colour"`

	Digest []byte `dynamodbav:"digest"`
	Size   int    `dynamodbav:"size"`
	Owner  string `dynamodbav:"owner,omitempty"`
	Shelf  []byte `dynamodbav:"shelf,omitempty"`
	Row    int    `dynamodbav:"row,omitempty"`
	Colour string `dynamodbav:"colour,omitempty"`
	Note   string `dynamodbav:"note,omitempty"`
}

// Parked expires, and shares the default table and an index with reports.
type Parked struct {
	_ entity.Key    `name:"Parked" pk:"$#{id}" sk:"$#{day}"`
	_ entity.GSI    `name:"byDay" index:"gsi2" pk:"gsi2pk={day}" project:"keys"`
	_ entity.GSI    `name:"byNumber" index:"gsi4" pk:"day" sk:"number" project:"keys"`
	_ lifecycle.TTL `attr:"_ttl" after:"30d"`

	ID     string `dynamodbav:"id"`
	Day    string `dynamodbav:"day"`
	Number int    `dynamodbav:"number,omitempty"`
}

// LedgerEntry has a stream, and a table name that has to be spelled.
type LedgerEntry struct {
	_ entity.Key `name:"LedgerEntry" table:"ledger_entries" pk:"$#{id}" sk:"$" stream:"new"`
	_ entity.GSI `name:"byDay" index:"gsi1" pk:"$#{day}" project:"keys"`

	ID  string `dynamodbav:"id"`
	Day string `dynamodbav:"day,omitempty"`
}

func declare[T any](t *testing.T, db *entity.DB, opts ...entity.StoreOption) {
	t.Helper()
	entity.Must(entity.New[T](db, opts...))
}

func declareAll(t *testing.T, db *entity.DB) {
	t.Helper()
	declare[Report](t, db)
	declare[Sealed](t, db)
	declare[Parked](t, db)
	declare[Report](t, db, entity.Named("Summary"))
	declare[LedgerEntry](t, db)
}

// config uses every option.
func config(prefix string) entity.Config {
	return entity.Config{
		Table: prefix + "app", Tables: map[string]string{"sealed": prefix + "sealed", "ledger_entries": prefix + "ledger"},
		TableOptions: map[string]entity.TableOptions{
			"sealed":         {PointInTimeRecovery: true},
			"ledger_entries": {DeletionProtection: true, Provisioned: &entity.Throughput{Read: 5, Write: 2}, Indexes: map[string]entity.Throughput{"gsi1": {Read: 7, Write: 3}}},
		},
	}
}

func specOf(t *testing.T, prefix string) tables.Spec {
	t.Helper()
	db := entity.Must(entity.Open(nil, config(prefix)))
	declareAll(t, db)
	return tables.Of(db)
}

// The files were compared by hand with the references of AWS::DynamoDB::Table and aws_dynamodb_table. spec.txt is what they are written of.
func TestTexts_AreWrittenAsTheirToolsReadThem(t *testing.T) {
	t.Parallel()
	require.Empty(t, tables.Of(entity.Must(entity.Open(nil, entity.Config{Table: "app"}))))
	spec := specOf(t, "prod-")
	goldentest.Check(t, "spec.txt", spec.String())
	for file, write := range map[string]func(tables.Spec) ([]byte, error){"cloudformation.json": iac.CloudFormation, "terraform.tf.json": iac.Terraform} {
		got, again := entity.Must(write(spec)), entity.Must(write(spec))
		require.Equal(t, string(got), string(again))
		require.Equal(t, string(entity.Must(os.ReadFile(filepath.Join("testdata", file)))), string(got), file)
	}
}

// stack is a template as a reader sees it, with the names of the API.
type stack struct {
	Resources map[string]struct {
		Type       string
		Properties struct {
			dynamodb.CreateTableInput
			TimeToLiveSpecification          *types.TimeToLiveSpecification
			PointInTimeRecoverySpecification *types.PointInTimeRecoverySpecification
		}
	}
}

// CloudFormation makes of the template what Verify requires.
func TestCloudFormation_MakesTheTablesThatVerifyAccepts(t *testing.T) {
	t.Parallel()
	raw, table := localdb.Test(t)
	wire, cfg := faults.New(raw.Options().HTTPClient), config(table+"-")
	sealed := cfg.TableOptions["sealed"]
	sealed.PointInTimeRecovery = false // no local database has it
	cfg.TableOptions["sealed"] = sealed
	db := entity.Must(entity.Open(dynamodb.New(raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = wire }), cfg))
	declareAll(t, db)
	text := entity.Must(iac.CloudFormation(tables.Of(db)))
	var made stack
	require.NoError(t, json.Unmarshal(text, &made))
	require.Len(t, made.Resources, 3)
	for _, id := range slices.Sorted(maps.Keys(made.Resources)) {
		r := made.Resources[id]
		require.Equal(t, "AWS::DynamoDB::Table", r.Type)
		in := r.Properties.CreateTableInput
		if in.StreamSpecification != nil { // a template has only the view
			in.StreamSpecification.StreamEnabled = aws.Bool(true)
		}
		require.NoError(t, dbtest.ErrorOf(raw.CreateTable(t.Context(), &in)), id)
		t.Cleanup(func() { // before the tables are deleted
			entity.Must(raw.UpdateTable(context.WithoutCancel(t.Context()), &dynamodb.UpdateTableInput{TableName: in.TableName, DeletionProtectionEnabled: aws.Bool(false)}))
		})
		if ttl := r.Properties.TimeToLiveSpecification; ttl != nil {
			entity.Must(raw.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: in.TableName, TimeToLiveSpecification: ttl}))
		}
	}
	require.NoError(t, tables.Verify(t.Context(), db))
	require.NoError(t, tables.Create(t.Context(), db))
	require.Zero(t, wire.Count("UpdateTimeToLive"), "nothing was left to do")
}

var (
	validID   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,254}$`)
	validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
)

// Tables with similar names still get different resources, whatever other tables there are.
func TestTexts_NamesAreValidAndApart(t *testing.T) {
	t.Parallel()
	logical := []string{"", "table", "Table", "device_readings", "device-readings", "device.readings", "deviceReadings", "DeviceReadings",
		"deviceReadings_", "2024", "äö", "öä", "default", "a_1", "a1", "a__1", strings.Repeat("a", 255), strings.Repeat("a", 254) + "b", "..", "__"}
	ids, names := map[string]string{}, map[string]string{}
	one := func(names ...string) (id, resource string) {
		var s tables.Spec
		for _, name := range names {
			s.Tables = append(s.Tables, tables.Table{Name: "tab", Logical: []string{name}, Key: tables.Key{Partition: []tables.Attribute{{Name: "pk", Type: "S"}}}})
		}
		var stack struct{ Resources map[string]any }
		text := entity.Must(iac.CloudFormation(s))
		require.NoError(t, json.Unmarshal(text, &stack))
		var config struct {
			Resource struct {
				Tables map[string]any `json:"aws_dynamodb_table"`
			}
		}
		text = entity.Must(iac.Terraform(s))
		require.NoError(t, json.Unmarshal(text, &config))
		require.Len(t, stack.Resources, len(names))
		require.Len(t, config.Resource.Tables, len(names))
		return slices.Sorted(maps.Keys(stack.Resources))[0], slices.Sorted(maps.Keys(config.Resource.Tables))[0]
	}
	for _, name := range logical {
		id, resource := one(name)
		require.Regexp(t, validID, id)
		require.Regexp(t, validName, resource)
		require.Empty(t, ids[id], "%q is %s too", name, id)
		require.Empty(t, names[resource], "%q is %s too", name, resource)
		ids[id], names[resource] = name+" ", name+" "
	}
	one(logical...)
	id, resource := one("device_readings")
	require.Equal(t, "DeviceReadingsTable", id)
	require.Equal(t, "table_device_readings", resource)
	id, resource = one("")
	require.Equal(t, "Table", id)
	require.Equal(t, "table", resource)
}

// Terraform replaces ${…} and %{…} inside every string.
func TestTerraform_NamesAreNoTemplates(t *testing.T) {
	t.Parallel()
	s := tables.Spec{Tables: []tables.Table{{Name: "tab", TTL: "${ttl}", Key: tables.Key{Partition: []tables.Attribute{{Name: "%{if}<&", Type: "S"}}},
		GSIs: []tables.Index{{Name: "x", Key: tables.Key{Partition: []tables.Attribute{{Name: "$${a}", Type: "S"}}}, Projection: tables.Projection{Type: "INCLUDE", Include: []string{"${b}"}}}},
	}}}
	text := entity.Must(iac.Terraform(s))
	for _, want := range []string{`"attribute_name": "$${ttl}"`, `"hash_key": "%%{if}<&"`, `"$$${a}"`, `"$${b}"`} {
		require.Contains(t, string(text), want)
	}
	text = entity.Must(iac.CloudFormation(s))
	require.Contains(t, string(text), `"AttributeName": "${ttl}"`)
}

func TestTexts_AreNotWrittenWhereSomethingIsWrong(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app", TableOptions: map[string]entity.TableOptions{"typo": {}}}))
	declare[LedgerEntry](t, db)
	for _, s := range []tables.Spec{tables.Of(db), {Tables: []tables.Table{{Name: "tab"}}}, {Tables: []tables.Table{ledger(t), ledger(t)}}} {
		require.Error(t, dbtest.ErrorOf(iac.CloudFormation(s)))
		require.Error(t, dbtest.ErrorOf(iac.Terraform(s)))
	}
	require.JSONEq(t, `{"AWSTemplateFormatVersion":"2010-09-09","Resources":{}}`, string(entity.Must(iac.CloudFormation(tables.Spec{}))))
}

// ledger is a table that is valid alone.
func ledger(t *testing.T) tables.Table {
	t.Helper()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	declare[LedgerEntry](t, db)
	return tables.Of(db).Tables[0]
}

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
		"policy-read.json":       {iac.Allow(iac.Read), iac.In("arn:aws:dynamodb:eu-central-1:123456789012")},
		"policy-everything.json": {iac.Allow(iac.Read, iac.Write, iac.Transact, iac.Stream, iac.Check, iac.Create)},
		"policy-tenant.json": {
			iac.LeadingKeys("", "", "$app#v1#report#${aws:PrincipalTag/tenant}*"), iac.LeadingKeys("", "gsi2", "${aws:PrincipalTag/tenant}"),
		},
	} {
		got, err := iac.Policy(spec, opts...)
		require.NoError(t, err, name)
		again := entity.Must(iac.Policy(tables.Of(allTables(t)), opts...))
		require.Equal(t, string(got), string(again))
		goldentest.Check(t, name, string(got))
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
		{[]iac.PolicyOption{iac.Allow(iac.Read)}, "BatchGetItem GetItem Query Scan", "Query Scan"},
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
