package iac

import (
	"fmt"
	"strings"

	"github.com/dynastrata/dynastrata/tables"
)

// Terraform returns a configuration in Terraform's JSON syntax with an aws_dynamodb_table for each table of spec, indented.
// The same spec gives the same bytes. Resources are named after the tables' logical names, and keep their names when other
// tables are added: table for the default table, table_device_readings for "device_readings". An index with a native key of
// several attributes is written with key_schema blocks, which need version 6.29 of the AWS provider.
//
// Errors: that of [entity.Spec.CheckNew], or two tables with one name.
func Terraform(spec tables.Spec) ([]byte, error) {
	if err := spec.CheckNew(); err != nil {
		return nil, err
	}
	tables := map[string]tfTable{}
	for _, t := range spec.Tables {
		name := resourceName(logicalName(t))
		if _, taken := tables[name]; taken {
			return nil, fmt.Errorf("two tables have the resource name %s", name)
		}
		tables[name] = tfTableOf(t)
	}
	return indented(map[string]any{"resource": map[string]any{"aws_dynamodb_table": tables}})
}

type tfTable struct {
	Name     string        `json:"name"`
	Billing  string        `json:"billing_mode"`
	Read     int64         `json:"read_capacity,omitempty"`
	Write    int64         `json:"write_capacity,omitempty"`
	Hash     string        `json:"hash_key"`
	Range    string        `json:"range_key,omitempty"`
	Attrs    []tfAttribute `json:"attribute"`
	GSIs     []tfIndex     `json:"global_secondary_index,omitempty"`
	LSIs     []tfIndex     `json:"local_secondary_index,omitempty"`
	TTL      *tfTTL        `json:"ttl,omitempty"`
	Stream   bool          `json:"stream_enabled,omitempty"`
	View     string        `json:"stream_view_type,omitempty"`
	Recovery *tfRecovery   `json:"point_in_time_recovery,omitempty"`
	Protect  bool          `json:"deletion_protection_enabled,omitempty"`
}

type (
	tfAttribute struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	tfKey struct {
		Name string `json:"attribute_name"`
		Type string `json:"key_type"`
	}
	tfIndex struct {
		Name       string   `json:"name"`
		Hash       string   `json:"hash_key,omitempty"`
		Range      string   `json:"range_key,omitempty"`
		Keys       []tfKey  `json:"key_schema,omitempty"`
		Projection string   `json:"projection_type"`
		Include    []string `json:"non_key_attributes,omitempty"`
		Read       int64    `json:"read_capacity,omitempty"`
		Write      int64    `json:"write_capacity,omitempty"`
	}
	tfTTL struct {
		Attr    string `json:"attribute_name"`
		Enabled bool   `json:"enabled"`
	}
	tfRecovery struct {
		Enabled bool `json:"enabled"`
	}
)

func tfTableOf(t tables.Table) tfTable {
	out := tfTable{
		Name: literal(t.Name), Billing: string(t.Billing), Read: t.Throughput.Read, Write: t.Throughput.Write,
		Hash: literal(t.Key.Partition[0].Name), Stream: t.Stream != "", View: string(t.Stream), Protect: t.DeletionProtection,
	}
	if t.Key.Sort != nil {
		out.Range = literal(t.Key.Sort[0].Name)
	}
	for _, a := range t.KeyAttributes() {
		out.Attrs = append(out.Attrs, tfAttribute{literal(a.Name), string(a.Type)})
	}
	for _, x := range t.GSIs {
		out.GSIs = append(out.GSIs, tfIndexOf(x))
	}
	for _, x := range t.LSIs {
		local := tfIndexOf(x)
		local.Hash = "" // it is the table's
		out.LSIs = append(out.LSIs, local)
	}
	if t.TTL != "" {
		out.TTL = &tfTTL{literal(t.TTL), true}
	}
	if t.PointInTimeRecovery {
		out.Recovery = &tfRecovery{true}
	}
	return out
}

func tfIndexOf(x tables.Index) tfIndex {
	out := tfIndex{Name: literal(x.Name), Projection: string(x.Projection.Type), Read: x.Throughput.Read, Write: x.Throughput.Write}
	for _, name := range x.Projection.Include {
		out.Include = append(out.Include, literal(name))
	}
	if len(x.Key.Partition) > 1 || len(x.Key.Sort) > 1 {
		for _, k := range cfnKeysOf(x.Key) {
			out.Keys = append(out.Keys, tfKey{literal(k.AttributeName), k.KeyType})
		}
		return out
	}
	out.Hash = literal(x.Key.Partition[0].Name)
	if x.Key.Sort != nil {
		out.Range = literal(x.Key.Sort[0].Name)
	}
	return out
}

// templates escapes what Terraform would read as the beginning of an expression in a string.
var templates = strings.NewReplacer("${", "$${", "%{", "%%{")

// literal escapes s so that Terraform reads it unchanged.
func literal(s string) string { return templates.Replace(s) }
