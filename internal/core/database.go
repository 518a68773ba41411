package core

import (
	"reflect"
	"sync"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// Database is what is declared on an entity.DB.
type Database struct {
	mu     sync.Mutex
	tables map[string]*schema.Table
	order  []string          // tables in the order in which they were first used
	views  map[string]string // name of a timeline → what it is
}

// Declared is embedded by an entity.DB under an unexported name, so that only this module can open it.
type Declared struct{ db *Database }

// NewDeclared returns an empty database.
func NewDeclared() Declared {
	return Declared{&Database{tables: map[string]*schema.Table{}, views: map[string]string{}}}
}

func (d Declared) database() *Database { return d.db }

// Databased is a database of this module.
type Databased interface{ database() *Database }

// DatabaseOf opens a database; nil of one that is nil or a zero value.
func DatabaseOf(db Databased) *Database {
	if v := reflect.ValueOf(db); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return db.database()
}

// Add declares s on a table, by its physical name, after checking s against what is there.
func (d *Database) Add(table string, s *schema.Schema) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tables[table]
	if t == nil {
		t = &schema.Table{Name: table}
	}
	if err := t.Add(s); err != nil {
		return err
	}
	if d.tables[table] == nil {
		d.tables[table] = t
		d.order = append(d.order, table)
	}
	return nil
}

// Tables are the tables that entities are declared on, in the order in which they were first used.
func (d *Database) Tables() []schema.Table {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]schema.Table, len(d.order))
	for i, name := range d.order {
		all[i] = *d.tables[name]
	}
	return all
}

// On are the entities that are declared on a table, by its physical name.
func (d *Database) On(table string) []*schema.Schema {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.tables[table]; t != nil {
		return t.Entities
	}
	return nil
}

// View registers a timeline under a name; it reports whether the name is free, or taken by what is the same.
func (d *Database) View(name, print string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if other, taken := d.views[name]; taken {
		return other == print
	}
	d.views[name] = print
	return true
}

// Schemas lists what is declared on a database, by table and in order of declaration. The error says that it was not
// opened.
func Schemas(db Databased) ([]*schema.Schema, error) {
	d := DatabaseOf(db)
	if d == nil {
		return nil, Unopened(reflect.TypeOf(db))
	}
	var all []*schema.Schema
	for _, t := range d.Tables() {
		all = append(all, t.Entities...)
	}
	return all, nil
}
