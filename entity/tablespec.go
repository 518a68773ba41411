package entity

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Spec returns what the stores declared so far need: tables, keys, indexes, time to live and streams, with the options that
// [Config].TableOptions adds to them. It does no I/O and needs no client; [Spec.Err] says whether the options fit. The value shares nothing with the DB; a store that is declared later is in the next one.
func (db *DB) Spec() Spec {
	if err := db.unopened(); err != nil {
		return Spec{mistakes: []error{err}}
	}
	var s Spec
	for _, t := range core.DatabaseOf(db).Tables() {
		s.Tables = append(s.Tables, tableSpec(&t))
	}
	s.setOptions(db.config.TableOptions)
	return s
}

// tableSpec is what the entities on t need together.
func tableSpec(t *schema.Table) TableSpec {
	first := t.Entities[0]
	spec := TableSpec{Name: t.Name, Key: keySpec(first.PK, first.SK), Billing: types.BillingModePayPerRequest}
	for _, s := range t.Entities {
		spec.Entities = append(spec.Entities, s.Name)
		if !slices.Contains(spec.Logical, s.Table) {
			spec.Logical = append(spec.Logical, s.Table)
		}
		if s.Stream != "" {
			spec.Stream = s.Stream // one for the table, as its TTL attribute
		}
		if s.UsesTTL {
			spec.TTL = s.Options.TTL // one for the table: others are refused when a store is built
		}
	}
	for _, x := range indexes(t) {
		one := IndexSpec{Name: x.Index, Key: keySpec(x.PK, x.SK)}
		if x.Local {
			one.Key = keySpec(first.PK, x.SK)
		}
		one.Projection = projection(t, x, spec.Key, one.Key)
		if x.Local {
			spec.LSIs = append(spec.LSIs, one)
		} else {
			spec.GSIs = append(spec.GSIs, one)
		}
	}
	return spec
}

func keySpec(pk, sk *schema.KeyDef) KeySpec { return KeySpec{attributeSpecs(pk), attributeSpecs(sk)} }

// has reports that the attribute with that name is part of the key.
func (k KeySpec) has(name string) bool {
	is := func(a AttributeSpec) bool { return a.Name == name }
	return slices.ContainsFunc(k.Partition, is) || slices.ContainsFunc(k.Sort, is)
}

// attributeSpecs are the stored attributes of a key half; nil is a half that there is not.
func attributeSpecs(h *schema.KeyDef) []AttributeSpec {
	switch {
	case h == nil:
		return nil
	case h.Written():
		return []AttributeSpec{{h.Attr, h.Type}}
	}
	var specs []AttributeSpec
	for _, a := range h.Native {
		specs = append(specs, AttributeSpec{a.Name, a.Scalar})
	}
	return specs
}

// indexes returns the table's indexes, each once, in order of declaration.
func indexes(t *schema.Table) []*schema.Index {
	var all []*schema.Index
	for _, s := range t.Entities {
		for _, x := range s.Indexes {
			if !slices.ContainsFunc(all, func(y *schema.Index) bool { return y.Index == x.Index }) {
				all = append(all, x)
			}
		}
	}
	return all
}

// projection merges what the entities on the index ask for. Beside it the index carries what queries filter by. The keys of
// the table and of the index are in it anyway.
func projection(t *schema.Table, x *schema.Index, keys ...KeySpec) ProjectionSpec {
	var include []string
	add := func(name string) {
		if !slices.Contains(include, name) && !slices.ContainsFunc(keys, func(k KeySpec) bool { return k.has(name) }) {
			include = append(include, name)
		}
	}
	for _, s := range t.Entities {
		for _, y := range s.Indexes {
			if y.Index != x.Index {
				continue
			}
			if y.Project.All {
				return ProjectionSpec{Type: types.ProjectionTypeAll}
			}
			for _, name := range y.Project.Include {
				add(name)
			}
			if s.Templated || marked(t.Entities, y) {
				add(schema.EntityAttr)
			}
			if s.Discriminator != nil {
				add(s.Discriminator.Attr)
			}
			if s.Expires || s.HoldsCopies(y) {
				add(s.Options.TTL)
			}
			if s.HoldsCopies(y) { // a deleted copy is read with the time of its delete
				add(s.DeletedAt.Name)
			}
		}
	}
	if include == nil {
		return ProjectionSpec{Type: types.ProjectionTypeKeysOnly}
	}
	return ProjectionSpec{Type: types.ProjectionTypeInclude, Include: include}
}
