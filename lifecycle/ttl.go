package lifecycle

import (
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// TTL declares that the items of a struct expire, in the tag of a blank field:
//
//	_ lifecycle.TTL `attr:"expires_at" after:"30d"`
//	_ lifecycle.TTL `attr:"expires_at" from:"last_seen_at" after:"30d"`
//
// attr is the attribute on which the table's time to live is enabled. It is either a field of the struct, a 64-bit
// integer in seconds since 1970 or a time with the format time=unix, or an attribute that the struct does not have.
//
// Without from, an item expires a time of after since it was created or last replaced by a Put. Update leaves its
// expiry as it is, and Upsert sets one only if the item has none. With from, it expires a time of after since the time
// in that attribute, whichever verb writes it, and never while the attribute is absent or zero. from is a time of any
// format, or a 64-bit integer whose tag gives its unit: entity:"time=unix" or entity:"time=unixms".
//
// A non-zero value that the caller sets in the field attr takes precedence; an Update that sets it to zero or removes
// it makes the item live forever. [After] replaces after. With [NoExpiry], items expire only if the caller says when.
//
// An expiry after the year 5137 is refused with EDD-9118: it is a count of milliseconds, which DynamoDB would read as seconds.
//
// No verb returns or changes an expired item, whether or not DynamoDB has removed it yet. Its unique values can be claimed
// by other items at once. Its history stays for the ttl of versioned.Retain. A struct with [SoftDelete] cannot have TTL.
type TTL struct{ _ ttlDecl }

// After replaces the after of [TTL], for a time to live that comes from a configuration. d is a number of whole seconds
// greater than zero. entity.New refuses it for a struct without TTL, and for a store that exists with another one.
func After(d time.Duration) entity.StoreOption {
	return bind.Option{Setting: func(o *bind.Options) { o.After = &d }}
}

// NoExpiry is [After] for a configuration that sets no time to live: items expire only if the caller sets the
// attribute. The table's time to live is enabled all the same. entity.New refuses it for a struct without TTL, together
// with After, and for a store that exists without it.
func NoExpiry() entity.StoreOption {
	return bind.Option{Setting: func(o *bind.Options) { o.NoExpiry = true }}
}

// expiry is the compiled declaration.
type expiry struct {
	attr     string
	field    *schema.Attr // the field attr; nil when the struct has none
	from     *schema.Attr // nil: the clock
	after    time.Duration
	noExpiry bool // items expire only if the caller says when
}

type ttlDecl struct{}

func (ttlDecl) Declare(d *schema.Decl) {
	s := d.Schema
	e := &expiry{after: d.Duration("after"), noExpiry: s.Options.NoExpiry}
	name, named := d.Need("attr")
	from, hasFrom := d.Tag("from")
	if _, twice := schema.Feature[*expiry](s); twice {
		d.Problem(schema.CodeMalformed, "a struct has one lifecycle.TTL")
		return
	}
	_, hasAfter := d.Tag("after")
	switch given := s.Options.After; {
	case given != nil && (*given <= 0 || *given%time.Second != 0):
		d.Problem(schema.CodeBadDuration, "After must be a number of whole seconds greater than zero")
	case given != nil:
		e.after = *given
	case !hasAfter && !e.noExpiry:
		d.Problem(schema.CodeMalformed, `tag key "after" is missing, and so are the options lifecycle.After and lifecycle.NoExpiry`)
	}
	if hasFrom {
		e.from = d.Attribute("from", from)
		switch a := e.from; {
		case a == nil || a.Time:
		case !a.Epoch:
			d.Problem(schema.CodeRoleType, "from %q must be a time, or an integer of 64 bits whose tag gives its unit: entity:\"time=unix\" or entity:\"time=unixms\"", from)
		case a.Role.Has(schema.Version):
			d.Problem(schema.CodeRoleType, "from %q counts versions", from)
		}
	}
	d.Keep(e)
	s.Expires, s.UsesTTL = true, true
	if named {
		e.attr, s.Options.TTL = name, name
		e.readAttr(d)
	}
	d.Check(func() { e.finish(d) })
}

// readAttr resolves and checks the attribute that items expire by.
func (e *expiry) readAttr(d *schema.Decl) {
	if k, err := schema.ParseKey(e.attr); err != nil || k.Form != schema.Native || len(k.Attrs) != 1 {
		d.Problem(schema.CodeMalformed, "attr:%q must be the name of one attribute", e.attr)
		return
	}
	if schema.Reserved(e.attr) {
		d.Problem(schema.CodeReservedAttr, "attr %q belongs to the library", e.attr)
	}
	e.field = d.Schema.Attr(e.attr)
	a := e.field
	if a == nil {
		if other, _ := d.NamedOtherwise(e.attr); other != nil { // otherwise the struct need not have it
			d.Problem(schema.CodeUnknownAttr, "attr names the attribute %q, which the struct does not have%s", e.attr, d.Meant(e.attr))
		}
		return
	}
	switch {
	case a.Time && a.Format == key.Unix, a.Epoch && a.Format == key.Unix, a.Wide() && a.Role.Time == "" && !a.Tag.String:
	default:
		d.Problem(schema.CodeRoleType, "attr %q counts seconds since 1970: it must be an integer of 64 bits, or a time with entity:\"time=unix\"", e.attr)
	}
	if a.Owned() || a.Append || a.WriteOnce() || a.Role.Has(schema.Required) {
		d.Problem(schema.CodeRoleType, "attr %q is set by the library when the caller does not: it cannot have another role", e.attr)
	}
	if a == e.from {
		d.Problem(schema.CodeMalformed, "from and attr are the same attribute")
	}
}

// finish checks the declaration against the keys and the other declarations.
func (e *expiry) finish(d *schema.Decl) {
	s := d.Schema
	bad := func(problem string) { d.Problem(schema.CodeExpiringEntity, "%s", problem) }
	if _, moves := schema.Feature[plan.SoftDeleter](s); moves {
		bad("an item that is deleted softly cannot expire: DynamoDB would remove it without a copy")
	}
	if s.Handle != "" {
		bad("the current item of a series cannot expire; timeseries.Events has a ttl for events")
	}
	if e.field != nil && e.field.NeededBy() != "" {
		d.Problem(schema.CodeMissingPart, `%s, a part of the key of the index %s, is absent from items that live forever: missing:"error" would refuse them`, e.field.Field, e.field.NeededBy())
	}
	if x := s.Discriminator; x != nil && x.Attr == e.attr {
		d.Problem(schema.CodeKeyAttrCollision, "kind is stored in %q too", e.attr)
	}
	for _, h := range append([]*schema.KeyDef{s.PK, s.SK}, s.IndexKeys()...) {
		if h != nil && h.Native != nil && e.field != nil && h.Has(e.field) {
			bad("the attribute that items expire by cannot itself be a key, by which DynamoDB does not filter; an index can have a copy of it")
		}
	}
	if e.field != nil && s.PK != nil && s.KeyPart(e.field) {
		bad("the attribute that items expire by cannot be part of the primary key")
	}
}

// Stamps returns the name of the attribute that items expire by.
func (e *expiry) Stamps() string { return e.attr }

// Kept returns how long items live; 0 is forever.
func (e *expiry) Kept() time.Duration {
	if e.noExpiry {
		return 0
	}
	return e.after
}

// Derives reports whether items get an expiry that the caller did not set.
func (e *expiry) Derives() bool { return !e.noExpiry }

// From returns the attribute that an item's expiry is counted from; nil for the clock.
func (e *expiry) From() *schema.Attr { return e.from }

// Stamp returns the expiry of an item, counted from the attribute from or, without one, from now. It is nil for an item
// that does not expire.
func (e *expiry) Stamp(from types.AttributeValue, now time.Time) (types.AttributeValue, error) {
	if e.noExpiry {
		return nil, nil
	}
	if e.from != nil {
		if item.Absent(from) || e.from.Epoch && isZero(from) { // in an integer, 0 means no time
			return nil, nil
		}
		var err error
		if now, err = e.from.Format.FromValue(from); err != nil {
			return nil, &item.FieldError{Attr: e.from.Name, Problem: "no expiry can be computed from it: it " + err.Error()}
		}
		if now.IsZero() {
			return nil, nil
		}
	}
	return item.N(strconv.FormatInt(now.Unix()+int64(e.after/time.Second), 10)), nil
}

// Chosen reports whether av is an expiry that a caller has set.
func (e *expiry) Chosen(av types.AttributeValue) bool {
	if item.Absent(av) || isZero(av) {
		return false
	}
	t, err := key.Unix.FromValue(av)
	return err != nil || !t.IsZero()
}

// isZero reports whether av is the number 0.
func isZero(av types.AttributeValue) bool {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	return err == nil && math.Abs(f) == 0
}

// Record returns the declaration for the schema lock.
func (e *expiry) Record(*schema.Schema) schema.Record {
	from := "clock"
	if e.from != nil {
		from = e.from.Name
	}
	return schema.Record{Name: "lifecycle.TTL", Settings: []schema.Setting{
		{Key: "attr", Value: e.attr}, {Key: "after", Value: schema.DurationText(e.Kept())}, {Key: "from", Value: from},
	}}
}
