package entity

import (
	"errors"
	"fmt"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// MultiRegion says how the tables of a [DB] are replicated; see [Config] and docs/tables.md.
type MultiRegion int

// The kinds of replication.
const (
	SingleRegion MultiRegion = iota // the tables are in one Region
	MREC                            // global tables with multi-Region eventual consistency
	MRSC                            // global tables with multi-Region strong consistency: no transactions, no time to live, no local indexes
)

// regional returns an error for each part of a declaration that cannot work under the replication of db.
func (db *DB) regional(s *schema.Schema, spec *bind.Options) error {
	if db.config.MultiRegion != MRSC {
		return nil
	}
	var errs []error
	bad := func(code, format string, args ...any) {
		errs = append(errs, &SchemaError{Code: code, Type: s.Type.String(), Problem: fmt.Sprintf(format, args...) + " (Config.MultiRegion is MRSC)"})
	}
	if why := plan.Transactional(s); why != "" {
		bad(schema.CodeNoTransactions, "%s, and tables with strong consistency over Regions have no transactions", why)
	}
	if spec.Derived && spec.Own {
		bad(schema.CodeNoTransactions, "the rows of a timeline are stored in transactions, and tables with strong consistency over Regions have none")
	}
	if s.UsesTTL && !spec.Derived {
		bad(schema.CodeNotReplicated, "items expire, and tables with strong consistency over Regions have no time to live")
	}
	for _, x := range s.Indexes {
		if x.Local {
			bad(schema.CodeNotReplicated, "the index %s is local, and tables with strong consistency over Regions have global indexes only", x.Name)
		}
	}
	return errors.Join(errs...)
}
