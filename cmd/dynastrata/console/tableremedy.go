package console

import (
	"encoding/json"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/tables"
)

// decide begins a line that says what is to be decided, where no command mends a finding. It is a comment for a shell.
const decide = "# "

// mendTable returns the line that mends what a table lacks: one of the AWS command line, or what is to be decided.
func (s *session) mendTable(c *cli.Command, table string, d tables.Drift) string {
	in := map[string]any{"TableName": table}
	verb := "update-table"
	switch d.Kind {
	case tables.DriftKey:
		return decide + table + ": DynamoDB changes no key of a table: make a table with the declared key, and move the items by dump and load, or declare the key that it has"
	case tables.DifferentIndexKey, tables.DifferentProjection:
		return decide + "index " + d.Index + " of " + table + ": DynamoDB changes no index: declare another name, and drop this one when nothing reads it"
	case tables.MissingIndex:
		x, global := s.globalIndex(table, d.Index)
		switch {
		case s.db == nil:
			return decide + "index " + d.Index + " of " + table + ": the check of the program prints the line that adds it; or tables.Create with tables.AddIndexes(), or the tool that owns the table"
		case !global:
			return decide + "index " + d.Index + " of " + table + ": DynamoDB adds no local index to a table: make a table with it, and move the items by dump and load"
		}
		in["AttributeDefinitions"], in["GlobalSecondaryIndexUpdates"] = definitions(x.Key), []any{map[string]any{"Create": newIndex(x)}}
	case tables.DifferentStream:
		if d.Has != "" {
			return decide + table + ": its stream shows too little, and has to be switched off and on: readers of the old one have to end first"
		}
		in["StreamSpecification"] = map[string]any{"StreamEnabled": true, "StreamViewType": d.Need}
	case tables.DifferentTTL:
		if d.Has != "" {
			return decide + table + ": items end by " + quoted(d.Has) + ", which has to be switched off before " + quoted(d.Need) + " is switched on"
		}
		verb, in["TimeToLiveSpecification"] = "update-time-to-live", map[string]any{"Enabled": true, "AttributeName": d.Need}
	case tables.DifferentRecovery:
		verb, in["PointInTimeRecoverySpecification"] = "update-continuous-backups", map[string]any{"PointInTimeRecoveryEnabled": true}
	case tables.DifferentDeletion:
		in["DeletionProtectionEnabled"] = true
	default: // billing, throughput
		return decide + table + ": decide what capacity it has, " + d.Need + " or " + d.Has + ", and change the table or Config.TableOptions"
	}
	return s.awsLine(c, verb, in)
}

// globalIndex returns the declaration of a global index.
func (s *session) globalIndex(table, name string) (x tables.Index, global bool) {
	if s.db == nil {
		return x, false
	}
	for _, t := range tables.Of(s.db).Tables {
		if i := slices.IndexFunc(t.GSIs, func(y tables.Index) bool { return y.Name == name }); t.Name == table && i >= 0 {
			return t.GSIs[i], true
		}
	}
	return x, false
}

// definitions are the types of the attributes of a key, for a request.
func definitions(k tables.Key) (all []any) {
	for _, a := range slices.Concat(k.Partition, k.Sort) {
		all = append(all, map[string]any{"AttributeName": a.Name, "AttributeType": a.Type})
	}
	return all
}

// newIndex is a global index, for a request.
func newIndex(x tables.Index) map[string]any {
	var key []any
	for kind, attrs := range [][]tables.Attribute{x.Key.Partition, x.Key.Sort} {
		for _, a := range attrs {
			key = append(key, map[string]any{"AttributeName": a.Name, "KeyType": []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[kind]})
		}
	}
	projection := map[string]any{"ProjectionType": x.Projection.Type}
	if len(x.Projection.Include) > 0 {
		projection["NonKeyAttributes"] = x.Projection.Include
	}
	out := map[string]any{"IndexName": x.Name, "KeySchema": key, "Projection": projection}
	if t := x.Throughput; t.Read > 0 {
		out["ProvisionedThroughput"] = map[string]any{"ReadCapacityUnits": t.Read, "WriteCapacityUnits": t.Write}
	}
	return out
}

// awsLine returns a line of the AWS command line, with the flags that say where the tables are.
func (s *session) awsLine(c *cli.Command, verb string, in map[string]any) string {
	text, _ := json.Marshal(in) // of texts, numbers and bools; its names are sorted
	line := "aws dynamodb " + verb
	if endpoint := c.String("endpoint"); endpoint == "local" {
		line += " --endpoint-url " + quoted(aws.ToString(s.client.Options().BaseEndpoint))
	} else if endpoint != "" {
		line += " --endpoint-url " + quoted(endpoint)
	}
	if region := c.String("region"); region != "" {
		line += " --region " + quoted(region)
	}
	line += " --cli-input-json " + quoted(string(text))
	if s.flagged(c, nil) == nil { // the endpoint has a secret
		return decide + "with the endpoint of this command: aws dynamodb " + verb + " --cli-input-json " + quoted(string(text))
	}
	return line
}
