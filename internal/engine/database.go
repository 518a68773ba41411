package engine

import (
	"reflect"
	"sync"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Database is an entity.DB for what belongs to it. Those that share declarations are different.
type Database struct {
	*declarations
	Runner       *Runner
	TableOptions map[string]entitytype.TableOptions // by logical name
}

// declarations lists the entities that are declared on an entity.DB.
type declarations struct {
	mu     sync.Mutex
	tables map[string]*schema.Table
	order  []string          // tables in order of first use
	views  map[string]string // name of a timeline → its fingerprint
}

// Declared is embedded by an entity.DB under an unexported name, so that only this module can open it.
type Declared struct{ db *Database }

// NewDeclared returns an empty database, whose requests r sends.
func NewDeclared(r *Runner, options map[string]entitytype.TableOptions) Declared {
	return Declared{&Database{&declarations{tables: map[string]*schema.Table{}, views: map[string]string{}}, r, options}}
}

// SharedDeclared returns a database with the declarations of another one, which is open, and requests of its own.
func SharedDeclared(db DatabaseHandle, r *Runner) Declared {
	d := db.database()
	return Declared{&Database{d.declarations, r, d.TableOptions}}
}

func (d Declared) database() *Database { return d.db }

// DatabaseHandle is a database of this module.
type DatabaseHandle interface{ database() *Database }

// DatabaseOf opens a database. It returns nil for a nil or zero one.
func DatabaseOf(db DatabaseHandle) *Database {
	if v := reflect.ValueOf(db); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return db.database()
}

// Add declares s on the table with this physical name. It returns an error if s conflicts with the entities of the table.
func (d *declarations) Add(table string, s *schema.Schema) error {
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

// Tables returns the tables with entities, in order of first use.
func (d *declarations) Tables() []schema.Table {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]schema.Table, len(d.order))
	for i, name := range d.order {
		all[i] = *d.tables[name]
	}
	return all
}

// On returns the entities of the table with this physical name.
func (d *declarations) On(table string) []*schema.Schema {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.tables[table]; t != nil {
		return t.Entities
	}
	return nil
}

// View registers a timeline under a name. It returns false if the name is taken by a timeline with another fingerprint.
func (d *declarations) View(name, print string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if other, taken := d.views[name]; taken {
		return other == print
	}
	d.views[name] = print
	return true
}
