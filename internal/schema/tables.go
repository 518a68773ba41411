package schema

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Table is a physical table and the entities that share it.
type Table struct {
	Name     string
	Entities []*Schema
}

// Add checks s against the table's entities and adds it. The error joins an *Error for each mistake; on error the table is unchanged.
func (t *Table) Add(s *Schema) error {
	p := &problems{typ: s.Type}
	for _, o := range t.Entities {
		if strings.EqualFold(o.Name, s.Name) {
			p.add(CodeDuplicateName, "", "the entity name %q is taken by %s on table %s", s.Name, o.Type, t.Name)
		}
		if !sameKey(o.PK, s.PK) || !sameKey(o.SK, s.SK) {
			p.add(CodeTableKey, "", "table %s has the key (%s) for %s and would have (%s)", t.Name, strings.Join(o.KeyNames(), ", "), o.Type, strings.Join(s.KeyNames(), ", "))
		}
		if !o.Templated && !s.Templated && (o.Discriminator == nil || s.Discriminator == nil || *o.Discriminator == *s.Discriminator) {
			p.add(CodeSharedTable, "", `%s is a verbatim entity on table %s too: both need a kind:"attr=value" of their own`, o.Type, t.Name)
		}
		if o.Stream != "" && s.Stream != "" && o.Stream != s.Stream {
			p.add(CodeStream, "", "table %s has a stream of %s for %s and would have one of %s; a table has one stream", t.Name, o.Stream, o.Type, s.Stream)
		}
		for _, x := range s.Indexes {
			for _, y := range o.Indexes {
				if x.Index == y.Index && (x.Local != y.Local || !sameKey(x.PK, y.PK) || !sameKey(x.SK, y.SK)) {
					p.add(CodeIndexShape, "", "index %s has other key attributes or another kind in %s", x.Index, o.Type)
				}
			}
		}
	}
	other := func(o *Schema) bool { return o.UsesTTL && s.UsesTTL && o.Options.TTL != s.Options.TTL }
	if i := slices.IndexFunc(t.Entities, other); i >= 0 {
		o := t.Entities[i]
		p.add(CodeTTLAttr, "", "table %s has the TTL attribute %q for %s and would have %q; a table has one: give Config.TTL, and attr of each lifecycle.TTL, the same name", t.Name, o.Options.TTL, o.Type, s.Options.TTL)
	}
	all := append(slices.Clone(t.Entities), s)
	p.relatedInIndexes(all)
	var local []string
	kinds := map[string]types.ScalarAttributeType{} // of key attributes
	note := func(name string, t types.ScalarAttributeType) {
		if old, ok := kinds[name]; ok && old != t {
			p.add(CodeIndexShape, "", "the key attribute %q would be both %s and %s", name, old, t)
		}
		kinds[name] = t
	}
	for _, s := range all {
		for _, k := range s.Keys() {
			if k.Written() {
				note(k.Attr, k.Type)
				continue
			}
			for _, a := range k.Native {
				note(a.Name, a.Scalar)
			}
		}
		for _, x := range s.Indexes {
			if x.Local && !slices.Contains(local, x.Index) {
				local = append(local, x.Index)
			}
		}
	}
	if len(local) > MaxLocalIndexes {
		p.add(CodeLocalIndexes, "", "table %s would have %d local indexes (%s); DynamoDB gives a table %d", t.Name, len(local), strings.Join(local, ", "), MaxLocalIndexes)
	}
	if err := p.err(); err != nil {
		return err
	}
	t.Entities = all
	return nil
}

// MaxLocalIndexes is the number of local indexes that DynamoDB allows on a table.
const MaxLocalIndexes = 5

func sameKey(a, b *KeyDef) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.Attributes(), b.Attributes()) && a.Type == b.Type
}

// relatedInIndexes reports native index keys that events, snapshots or deleted copies of an entity on the table would carry.
func (p *problems) relatedInIndexes(entities []*Schema) {
	for _, s := range entities {
		if s.RelatedSuffix == 0 {
			continue
		}
		for _, o := range entities {
			for _, x := range o.Indexes {
				for _, k := range []*KeyDef{x.PK, x.SK} {
					if k == nil || k.Native == nil || x.Local && k == x.PK {
						continue
					}
					for _, a := range k.Native {
						if s.Attr(a.Name) != nil {
							p.add(CodeRelatedIndex, "", "index %s of %s has the key attribute %q, which the events or copies of %s would carry too", x.Index, o.Name, a.Name, s.Name)
						}
					}
				}
			}
		}
	}
}
