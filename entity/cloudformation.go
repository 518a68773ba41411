package entity

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// CloudFormation returns a template with an AWS::DynamoDB::Table for each table, as indented JSON: the same bytes for an
// equal Spec. Logical ids come from the tables' logical names and do not change when other tables are added: Table for the
// default table, DeviceReadingsTable for "device_readings"; names that cannot be told apart that way end in a checksum.
// Tables are retained when the stack lets go of them. The error is that of [Spec.Err], EDD-9050 for a
// table whose name is none, such as an ARN, a key that is missing, or two tables with one id.
func (s Spec) CloudFormation() ([]byte, error) {
	if err := s.export(); err != nil {
		return nil, err
	}
	resources := map[string]any{}
	for _, t := range s.Tables {
		id := logicalID(t.name())
		if resources[id] != nil {
			return nil, fmt.Errorf("two tables have the logical id %s", id)
		}
		resources[id] = cfnResource{"AWS::DynamoDB::Table", "Retain", "Retain", t.cloudFormation()}
	}
	return indented(cfnTemplate{"2010-09-09", resources})
}

type cfnTemplate struct {
	AWSTemplateFormatVersion string
	Resources                map[string]any
}

type cfnResource struct {
	Type                string
	DeletionPolicy      string
	UpdateReplacePolicy string
	Properties          cfnTable
}

type cfnTable struct {
	TableName                        string
	BillingMode                      string
	ProvisionedThroughput            *cfnThroughput `json:",omitempty"`
	AttributeDefinitions             []cfnAttribute
	KeySchema                        []cfnKey
	GlobalSecondaryIndexes           []cfnIndex   `json:",omitempty"`
	LocalSecondaryIndexes            []cfnIndex   `json:",omitempty"`
	TimeToLiveSpecification          *cfnTTL      `json:",omitempty"`
	StreamSpecification              *cfnStream   `json:",omitempty"`
	PointInTimeRecoverySpecification *cfnRecovery `json:",omitempty"`
	DeletionProtectionEnabled        bool         `json:",omitempty"`
}

type (
	cfnThroughput struct{ ReadCapacityUnits, WriteCapacityUnits int64 }
	cfnAttribute  struct{ AttributeName, AttributeType string }
	cfnKey        struct{ AttributeName, KeyType string }
	cfnProjection struct {
		ProjectionType   string
		NonKeyAttributes []string `json:",omitempty"`
	}
	cfnIndex struct {
		IndexName             string
		KeySchema             []cfnKey
		Projection            cfnProjection
		ProvisionedThroughput *cfnThroughput `json:",omitempty"`
	}
	cfnTTL struct {
		AttributeName string
		Enabled       bool
	}
	cfnStream   struct{ StreamViewType string }
	cfnRecovery struct{ PointInTimeRecoveryEnabled bool }
)

func (t TableSpec) cloudFormation() cfnTable {
	out := cfnTable{
		TableName: t.Name, BillingMode: string(t.Billing), ProvisionedThroughput: t.Throughput.cloudFormation(),
		KeySchema: t.Key.cloudFormation(), DeletionProtectionEnabled: t.DeletionProtection,
	}
	for _, a := range t.keyAttributes() {
		out.AttributeDefinitions = append(out.AttributeDefinitions, cfnAttribute{a.Name, string(a.Type)})
	}
	for _, x := range t.GSIs {
		out.GlobalSecondaryIndexes = append(out.GlobalSecondaryIndexes, x.cloudFormation())
	}
	for _, x := range t.LSIs {
		out.LocalSecondaryIndexes = append(out.LocalSecondaryIndexes, x.cloudFormation())
	}
	if t.TTL != "" {
		out.TimeToLiveSpecification = &cfnTTL{t.TTL, true}
	}
	if t.Stream != "" {
		out.StreamSpecification = &cfnStream{string(t.Stream)}
	}
	if t.PointInTimeRecovery {
		out.PointInTimeRecoverySpecification = &cfnRecovery{true}
	}
	return out
}

func (x IndexSpec) cloudFormation() cfnIndex {
	return cfnIndex{x.Name, x.Key.cloudFormation(), cfnProjection{string(x.Projection.Type), x.Projection.Include}, x.Throughput.cloudFormation()}
}

func (k KeySpec) cloudFormation() (keys []cfnKey) {
	for _, e := range k.elements() {
		keys = append(keys, cfnKey{*e.AttributeName, string(e.KeyType)})
	}
	return keys
}

func (t Throughput) cloudFormation() *cfnThroughput {
	if t == (Throughput{}) {
		return nil
	}
	return &cfnThroughput{t.Read, t.Write}
}

// indented is v as JSON for people, ending in a newline. Names may hold < and &, which are left as they are.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
