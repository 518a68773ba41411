package iac

import (
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
)

// CloudFormation returns a template with an AWS::DynamoDB::Table for each table of spec, as indented JSON. The same spec
// gives the same bytes. Logical ids come from the tables' logical names and do not change when other tables are added:
// Table for the default table, DeviceReadingsTable for "device_readings"; names that would collide in that form get a
// checksum. Tables are retained when they leave the stack.
//
// Errors: that of [entity.Spec.CheckNew], or two tables with one id.
func CloudFormation(spec tables.Spec) ([]byte, error) {
	if err := spec.CheckNew(); err != nil {
		return nil, err
	}
	resources := map[string]any{}
	for _, t := range spec.Tables {
		id := logicalID(logicalName(t))
		if resources[id] != nil {
			return nil, fmt.Errorf("two tables have the logical id %s", id)
		}
		resources[id] = cfnResource{"AWS::DynamoDB::Table", "Retain", "Retain", cfnTableOf(t)}
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

func cfnTableOf(t tables.Table) cfnTable {
	out := cfnTable{
		TableName: t.Name, BillingMode: string(t.Billing), ProvisionedThroughput: cfnThroughputOf(t.Throughput),
		KeySchema: cfnKeysOf(t.Key), DeletionProtectionEnabled: t.DeletionProtection,
	}
	for _, a := range t.KeyAttributes() {
		out.AttributeDefinitions = append(out.AttributeDefinitions, cfnAttribute{a.Name, string(a.Type)})
	}
	for _, x := range t.GSIs {
		out.GlobalSecondaryIndexes = append(out.GlobalSecondaryIndexes, cfnIndexOf(x))
	}
	for _, x := range t.LSIs {
		out.LocalSecondaryIndexes = append(out.LocalSecondaryIndexes, cfnIndexOf(x))
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

func cfnIndexOf(x tables.Index) cfnIndex {
	return cfnIndex{x.Name, cfnKeysOf(x.Key), cfnProjection{string(x.Projection.Type), x.Projection.Include}, cfnThroughputOf(x.Throughput)}
}

func cfnKeysOf(k tables.Key) (keys []cfnKey) {
	for _, a := range k.Partition {
		keys = append(keys, cfnKey{a.Name, "HASH"})
	}
	for _, a := range k.Sort {
		keys = append(keys, cfnKey{a.Name, "RANGE"})
	}
	return keys
}

// cfnThroughputOf returns nil for an on-demand table.
func cfnThroughputOf(t entity.Throughput) *cfnThroughput {
	if t == (entity.Throughput{}) {
		return nil
	}
	return &cfnThroughput{t.Read, t.Write}
}
