package core

import "github.com/dynastrata/dynastrata/internal/schema"

// Catalog is embedded by a database under an unexported name, so that only this module can see what is declared on it.
type Catalog struct{ schemas func() []*schema.Schema }

// NewCatalog wraps a function that lists what is declared at the moment.
func NewCatalog(schemas func() []*schema.Schema) Catalog { return Catalog{schemas} }

func (c Catalog) declared() []*schema.Schema { return c.schemas() }

// Cataloged is a database of this module.
type Cataloged interface{ declared() []*schema.Schema }

// Schemas lists what is declared on a database.
func Schemas(db Cataloged) []*schema.Schema { return db.declared() }
