package iac

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/tables"
)

// Family is a family of verbs that a policy allows.
type Family int

// The families of verbs, each with the actions that it allows on items.
const (
	// Read: Get, GetMany, BatchGet, TransactGet, queries and scans, histories, views. BatchGetItem, GetItem, Query, Scan.
	Read Family = iota
	// Write: writes of one item and batches, with the reads that they are planned from. BatchWriteItem, DeleteItem, GetItem, PutItem, Query,
	// UpdateItem.
	Write
	// Transact: writes that are transactions, such as Transact, appends, history, soft delete, unique values and Idempotent. ConditionCheckItem,
	// DeleteItem, GetItem, PutItem, Query, UpdateItem.
	Transact
	Stream     // reading the streams of tables that have one
	Check      // tables.Verify, and the reason of ErrNoIndex
	Create     // tables.Create
	AddIndexes // tables.Create with tables.AddIndexes
)

// actions lists the IAM actions of each family on the items of a table.
var actions = map[Family][]string{
	Read:     {"BatchGetItem", "GetItem", "Query", "Scan"},
	Write:    {"BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"},
	Transact: {"ConditionCheckItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"},
}

// PolicyOption is an option of [Policy]: [Allow], [In], [LeadingKeys].
type PolicyOption interface{ policy(*policy) }

type policyOption func(*policy)

func (f policyOption) policy(p *policy) { f(p) }

// policy collects the options.
type policy struct {
	families map[Family]bool
	prefix   string
	keys     []leadingKeys
	errs     []error
}

type leadingKeys struct {
	table, index string
	patterns     []string
}

// Allow replaces the families that a policy allows, by default [Read], [Write] and [Transact].
func Allow(families ...Family) PolicyOption {
	return policyOption(func(p *policy) {
		p.families = map[Family]bool{}
		for _, f := range families {
			if p.families[f] = true; f < Read || f > AddIndexes {
				p.errs = append(p.errs, fmt.Errorf("there is no family %d", f))
			}
		}
	})
}

var arnPrefix = regexp.MustCompile(`^arn:[a-z*-]+:dynamodb:[a-z0-9*-]+:[0-9*]+$`)

// In says where the tables are: the beginning of their ARNs, such as "arn:aws:dynamodb:eu-central-1:123456789012". By default
// it is "arn:aws:dynamodb:*:*", any region and account. A table whose name is an ARN keeps it.
func In(prefix string) PolicyOption {
	return policyOption(func(p *policy) {
		if p.prefix = prefix; !arnPrefix.MatchString(prefix) {
			p.errs = append(p.errs, fmt.Errorf("%q is not the beginning of an ARN of DynamoDB, arn:aws:dynamodb:<region>:<account>", prefix))
		}
	})
}

// LeadingKeys restricts a table, or with index one of its indexes, to partition keys that match one of patterns: text in
// which * and ? stand for any characters, and ${aws:PrincipalTag/tenant} for a property of the caller. table is a logical name,
// "" for the default table. The partition keys are those that are stored, such as "$app#v1#order#acme" or "TENANT#acme"; sentinels
// of unique values have keys of their own, which docs/unique.md describes.
//
// Scans of the table or index are not allowed then, since the condition does not exist for them. An index without
// LeadingKeys of its own is left out if its table has some: it would give access to all items.
func LeadingKeys(table, index string, patterns ...string) PolicyOption {
	return policyOption(func(p *policy) { p.keys = append(p.keys, leadingKeys{table, index, patterns}) })
}

type (
	policyDocument struct {
		Version   string
		Statement []statement
	}
	statement struct {
		Sid       string
		Effect    string
		Action    []string
		Resource  []string
		Condition *condition `json:",omitempty"`
	}
	condition struct {
		Like map[string][]string `json:"ForAllValues:StringLike"`
		// ForAllValues holds for a request without the key.
		Null map[string]string
	}
)

const leadingKey = "dynamodb:LeadingKeys"

// Policy returns an IAM policy document that allows a program what it needs for the tables of spec and nothing else, in JSON,
// indented. The same spec and options give the same bytes. Statements name each table and index; an action is allowed only
// where a verb of the allowed families uses it: transactions need the actions of what they contain. The condition key
// dynamodb:Attributes is never used, because the library reads whole items.
//
// Errors: that of [entity.Spec.Err], or an option that does not fit the spec, such as [LeadingKeys] of an index that does not
// exist or has a partition key of several attributes or of another type than string.
func Policy(spec tables.Spec, opts ...PolicyOption) ([]byte, error) {
	if err := spec.Err(); err != nil {
		return nil, err
	}
	p := &policy{families: map[Family]bool{Read: true, Write: true, Transact: true}, prefix: "arn:aws:dynamodb:*:*"}
	for _, o := range opts {
		if o == nil {
			return nil, fmt.Errorf("an option is nil")
		}
		o.policy(p)
	}
	if len(p.errs) > 0 {
		return nil, p.errs[0]
	}
	if err := p.fits(spec); err != nil {
		return nil, err
	}
	doc := policyDocument{Version: "2012-10-17", Statement: p.statements(spec)}
	if len(doc.Statement) == 0 {
		return nil, fmt.Errorf("the policy would allow nothing: the spec has no tables, or none that the families are about")
	}
	return indented(doc)
}

// fits checks the leading keys against the tables.
func (p *policy) fits(spec tables.Spec) error {
	seen := map[[2]string]bool{}
	for _, k := range p.keys {
		at := slices.IndexFunc(spec.Tables, func(t tables.Table) bool { return logicalName(t) == k.table || slices.Contains(t.Logical, k.table) })
		if at < 0 {
			return fmt.Errorf("LeadingKeys: no entity has a table with the logical name %q", k.table)
		}
		t := spec.Tables[at]
		partition := t.Key.Partition
		if k.index != "" {
			indexes := append(slices.Clone(t.GSIs), t.LSIs...)
			i := slices.IndexFunc(indexes, func(x tables.Index) bool { return x.Name == k.index })
			if i < 0 {
				return fmt.Errorf("LeadingKeys: table %s has no index %s", t.Name, k.index)
			}
			partition = indexes[i].Key.Partition
		}
		switch id := [2]string{t.Name, k.index}; {
		case len(k.patterns) == 0:
			return fmt.Errorf("LeadingKeys of table %s needs a pattern", t.Name)
		case seen[id]:
			return fmt.Errorf("LeadingKeys of table %s is given twice for one key", t.Name)
		case len(partition) != 1 || partition[0].Type != "S":
			return fmt.Errorf("LeadingKeys of table %s: the partition key is not one string", t.Name)
		default:
			seen[id] = true
		}
	}
	return nil
}

// patterns returns the leading keys of a table or index, nil if all are allowed.
func (p *policy) patterns(t tables.Table, index string) []string {
	for _, k := range p.keys {
		if k.index == index && (logicalName(t) == k.table || slices.Contains(t.Logical, k.table)) {
			return k.patterns
		}
	}
	return nil
}

func (p *policy) arn(t tables.Table) string {
	if strings.HasPrefix(t.Name, "arn:") {
		return t.Name
	}
	return p.prefix + ":table/" + t.Name
}

// itemActions returns the actions on items, in order.
func (p *policy) itemActions(conditional bool) []string {
	var all []string
	for f := range p.families {
		all = append(all, actions[f]...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if conditional {
		all = slices.DeleteFunc(all, func(a string) bool { return a == "Scan" })
	}
	return all
}

// allow returns a statement.
func allow(sid string, actions, resources, patterns []string) statement {
	s := statement{Sid: sid, Effect: "Allow", Resource: resources}
	for _, a := range actions {
		s.Action = append(s.Action, "dynamodb:"+a)
	}
	if patterns != nil {
		s.Condition = &condition{map[string][]string{leadingKey: patterns}, map[string]string{leadingKey: "false"}}
	}
	return s
}

func (p *policy) statements(spec tables.Spec) (all []statement) {
	add := func(sid string, actions, resources, patterns []string) {
		if len(actions) > 0 && len(resources) > 0 {
			all = append(all, allow(sid, actions, resources, patterns))
		}
	}
	var tables, indexes, streams, streamed, every, recovering []string
	for i, t := range spec.Tables {
		arn := p.arn(t)
		every = append(every, arn)
		if t.PointInTimeRecovery {
			recovering = append(recovering, arn)
		}
		if t.Stream != "" {
			streams, streamed = append(streams, arn+"/stream/*"), append(streamed, arn)
		}
		restricted := p.patterns(t, "")
		if restricted == nil {
			tables = append(tables, arn)
		} else {
			add(fmt.Sprintf("ItemsOfTable%d", i+1), p.itemActions(true), []string{arn}, restricted)
		}
		for j, x := range append(slices.Clone(t.GSIs), t.LSIs...) {
			index := arn + "/index/" + x.Name
			switch own := p.patterns(t, x.Name); {
			case !p.families[Read]:
			case own != nil:
				add(fmt.Sprintf("Index%dOfTable%d", j+1, i+1), []string{"Query"}, []string{index}, own)
			case restricted == nil:
				indexes = append(indexes, index)
			}
		}
	}
	add("Items", p.itemActions(false), tables, nil)
	add("Indexes", []string{"Query", "Scan"}, indexes, nil)
	if p.families[Stream] {
		add("Streams", []string{"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}, streams, nil)
		add("StreamTables", []string{"DescribeTable"}, streamed, nil)
	}
	creates := p.families[Create] || p.families[AddIndexes]
	if p.families[Check] || creates {
		add("Tables", []string{"DescribeTable", "DescribeTimeToLive"}, every, nil)
		add("Backups", []string{"DescribeContinuousBackups"}, recovering, nil)
	}
	if creates {
		add("CreateTables", []string{"CreateTable", "UpdateTimeToLive"}, every, nil)
		add("EnableBackups", []string{"UpdateContinuousBackups"}, recovering, nil)
	}
	if p.families[AddIndexes] {
		add("AddIndexes", []string{"UpdateTable"}, every, nil)
	}
	return all
}
