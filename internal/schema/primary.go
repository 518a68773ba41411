package schema

import (
	"strconv"
	"strings"

	"github.com/dynastrata/dynastrata/internal/tag"
)

// Primary reads entity.Key's tag: name, table, pk, sk, kind, payload and stream.
func (d *Decl) Primary() {
	d.primary = true
	name, ok := d.Need("name")
	if ok || d.Schema.Options.Name != "" {
		d.build.setName(d, name)
	}
	d.Schema.Table, _ = d.Tag("table")
	if t := d.Schema.Options.Table; t != "" {
		d.Schema.Table = t
	}
	if text, ok := d.Need("pk"); ok {
		d.Schema.PK = d.keyDef("pk", text, d.Schema.Options.PK, 1)
	}
	if text, ok := d.Tag("sk"); ok {
		d.Schema.SK = d.keyDef("sk", text, d.Schema.Options.SK, 1)
	}
	if text, ok := d.Tag("kind"); ok {
		d.discriminator(text)
	}
	if text, ok := d.Tag("payload"); ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1_000_000 {
			d.Problem(CodeMalformed, "payload:%q must be a whole number from 1", text)
		}
		d.Schema.Payload = n
	}
	d.stream()
	pk, sk := d.Schema.PK, d.Schema.SK
	if pk == nil {
		return
	}
	if len(pk.Parts) == 0 && (sk == nil || len(sk.Parts) == 0) {
		d.Problem(CodeNoKeyPart, "the primary key has no part from the struct: every item would have the same key")
	}
	if sk != nil && pk.Attr == sk.Attr {
		d.Problem(CodeTableKey, "pk and sk are the same attribute %q", pk.Attr)
	}
	for _, h := range []*KeyDef{pk, sk} {
		if h == nil {
			continue
		}
		for _, a := range h.Parts {
			if a.Append {
				d.Problem(CodeAppendRole, "attribute %q is part of the primary key and cannot have the role append", a.Name)
			}
			if a.Owned() {
				d.Problem(CodeRoleType, "attribute %q is set by the library and cannot be part of the primary key", a.Name)
			}
		}
	}
	// The sort key decides what a partition holds; without one the partition key does.
	d.Schema.Templated = pk.Prefixed && sk == nil || sk != nil && sk.Prefixed
	d.Schema.HasMetadata = d.Schema.Templated && d.Schema.Profile.MarksItems()
}

func (d *Decl) discriminator(text string) {
	attr, value, ok := strings.Cut(text, "=")
	if k, err := tag.ParseKey(attr); !ok || value == "" || err != nil || k.Form != tag.Native || len(k.Attrs) != 1 {
		d.Problem(CodeMalformed, "kind:%q must be attr=value", text)
		return
	}
	if Reserved(attr) {
		d.Problem(CodeReservedAttr, "kind writes the attribute %q, which belongs to the library", attr)
	}
	if d.Schema.byName[attr] != nil {
		d.Problem(CodeReservedAttr, "kind writes the attribute %q, which the struct has too", attr)
	}
	d.Schema.Discriminator = &Discriminator{attr, value}
}
