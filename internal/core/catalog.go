package core

import (
	"reflect"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// Catalog is embedded by a database under an unexported name, so that only this module can see what is declared on it.
type Catalog struct{ schemas func() []*schema.Schema }

// NewCatalog wraps a function that lists what is declared at the moment.
func NewCatalog(schemas func() []*schema.Schema) Catalog { return Catalog{schemas} }

func (c Catalog) declared() []*schema.Schema { return c.schemas() }

func (c Catalog) opened() bool { return c.schemas != nil }

// Cataloged is a database of this module.
type Cataloged interface {
	declared() []*schema.Schema
	opened() bool
}

// Schemas lists what is declared on a database. The error says that it was not opened.
func Schemas(db Cataloged) ([]*schema.Schema, error) {
	if v := reflect.ValueOf(db); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() || !db.opened() {
		return nil, Unopened(reflect.TypeOf(db))
	}
	return db.declared(), nil
}
