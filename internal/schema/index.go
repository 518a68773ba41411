package schema

import (
	"strings"

	"github.com/dynastrata/dynastrata/internal/tag"
)

// maxIndexAttributes is how many attributes a native GSI key may have on each side.
const maxIndexAttributes = 4

// Global reads entity.GSI's tag: name, index, pk, sk and project.
func (d *Decl) Global() {
	x := d.newIndex()
	if text, ok := d.Need("pk"); ok {
		x.PK = d.half("pk", text, x.Index+d.Schema.Options.PK, maxIndexAttributes)
	}
	if text, ok := d.Tag("sk"); ok {
		x.SK = d.half("sk", text, x.Index+d.Schema.Options.SK, maxIndexAttributes)
	}
	if x.Project = d.projection(); !x.Project.All {
		d.Check(func() { x.projected(d) })
	}
	if x.PK != nil && x.Index != "" {
		d.Schema.Indexes = append(d.Schema.Indexes, x)
	}
}

// LocalIndex reads entity.LSI's tag: name, index and sk.
func (d *Decl) LocalIndex() {
	x := d.newIndex()
	x.Local, x.Project, x.PK = true, Projection{All: true}, d.Schema.PK
	if d.Schema.SK == nil {
		d.Problem(CodeTableKey, "a local index needs a table with a sort key")
	}
	if text, ok := d.Need("sk"); ok {
		if x.SK = d.half("sk", text, "", 1); x.SK != nil && x.SK.Prefixed {
			d.Problem(CodeMalformed, "the sort key of a local index is an attribute or attr={template}")
			return
		}
	}
	if x.SK != nil && x.PK != nil && x.Index != "" {
		d.Schema.Indexes = append(d.Schema.Indexes, x)
	}
}

func (d *Decl) newIndex() *Index {
	x := &Index{}
	x.Name, _ = d.Need("name")
	x.Index, _ = d.Need("index")
	if x.Name != "" {
		if err := tag.Name(x.Name); err != nil {
			d.Problem(CodeMalformed, "name %q: %v", x.Name, err)
		}
		for _, other := range d.Schema.Indexes {
			if other.Name == x.Name {
				d.Problem(CodeDuplicateName, "there is an index with the name %q already", x.Name)
			}
			if other.Index == x.Index {
				d.Problem(CodeDuplicateName, "the index %q is declared twice", x.Index)
			}
		}
	}
	return x
}

// projection reads project: "all" (the default), "keys", or attribute names.
func (d *Decl) projection() Projection {
	text, ok := d.Tag("project")
	switch {
	case !ok || text == "all":
		return Projection{All: true}
	case text == "keys":
		return Projection{}
	}
	var p Projection
	for _, name := range strings.Split(text, ",") {
		if a := d.part("project", strings.TrimSpace(name)); a != nil {
			p.Include = append(p.Include, a.Name)
		}
	}
	return p
}
