package lifecycle

import (
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// TTL declares that the items of a struct expire, in the tag of a blank field:
//
//	_ lifecycle.TTL `attr:"expires_at" after:"30d"`
//	_ lifecycle.TTL `attr:"expires_at" from:"last_seen_at" after:"30d"`
//
// attr is the attribute that the table's time to live is enabled on: a field of the struct, an integer of 64 bits in
// seconds since 1970 or a time with the format time=unix, or an attribute of its own that the struct does not have.
//
// Without from, an item lives for after since it came into being or was last replaced by a Put; Update leaves its end
// alone, and Upsert gives one only to an item that has none. With from, it lives for after since the time in that
// attribute, on whatever path this is written; while the attribute is absent or zero, for ever. from is a time of any
// format, or an integer of 64 bits whose tag says what it counts: entity:"time=unix" or entity:"time=unixms".
//
// A value other than zero that the caller gives in the field attr wins over both; an Update that sets it to zero or removes
// it lets the item live for ever. [After] replaces after, and [NoExpiry] makes items live for ever to which the caller gives
// no end.
//
// An end after the year 5137 is refused with EDD-9118: it is a count of milliseconds, which DynamoDB would take for seconds.
//
// An item whose end has come is gone for every verb, whether or not DynamoDB has removed it yet.
type TTL struct{}

// After replaces what [TTL] declares as after, for times to live that come from a configuration: whole seconds, greater
// than zero. entity.New refuses it for a struct without TTL, and for a store that exists with another one.
func After(d time.Duration) entity.StoreOption {
	return forStore{Do: func(s *opt.Spec) { s.After = &d }}
}

// NoExpiry is [After] for a time to live that the configuration does not set: items live for ever, except those that the caller
// gives an end in the attribute itself. The table's time to live is enabled all the same. entity.New refuses it for a struct
// without TTL, beside After, and for a store that exists without it.
func NoExpiry() entity.StoreOption {
	return forStore{Do: func(s *opt.Spec) { s.NoExpiry = true }}
}

type forStore = opt.ForStore

// expiry is the compiled declaration.
type expiry struct {
	attr  string
	field *schema.Attr // the field attr; nil when the struct has none
	from  *schema.Attr // nil: the clock
	after time.Duration
	noExpiry bool // only the caller gives items an end
}

// Declare is called by this module when a store is built.
func (TTL) Declare(d *schema.Decl) {
	s := d.Schema
	e := &expiry{after: d.Duration("after"), noExpiry: s.Options.Never}
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
		e.readFrom(d, from)
	}
	d.Keep(e)
	s.Expires, s.UsesTTL = true, true
	if named {
		e.attr, s.Options.TTL = name, name
		e.readAttr(d)
	}
	d.Check(func() { e.finish(d) })
}

// readAttr checks the attribute that items expire by.
func (e *expiry) readAttr(d *schema.Decl) {
	if k, err := tag.ParseKey(e.attr); err != nil || k.Form != tag.Native || len(k.Attrs) != 1 {
		d.Problem(schema.CodeMalformed, "attr:%q must be the name of one attribute", e.attr)
		return
	}
	if schema.Reserved(e.attr) {
		d.Problem(schema.CodeReservedAttr, "attr %q belongs to the library", e.attr)
	}
	e.field = d.Schema.Attr(e.attr)
	a := e.field
	if a == nil {
		if d.NamedInJSON(e.attr) != nil { // else the struct may well lack it
			d.Problem(schema.CodeUnknownAttr, "attr names the attribute %q, which the struct does not have%s", e.attr, d.Meant(e.attr))
		}
		return
	}
	switch {
	case a.Time && a.Format == key.Unix, a.Epoch && a.Format == key.Unix, a.Wide() && a.Role.Time == "" && !a.Tag.String:
	default:
		d.Problem(schema.CodeRoleType, "attr %q counts seconds since 1970: it must be an integer of 64 bits, or a time with entity:\"time=unix\"", e.attr)
	}
	if a.Owned() || a.Append || a.WriteOnce() || a.Role.Has(tag.Required) {
		d.Problem(schema.CodeRoleType, "attr %q is set by the library when the caller does not: it cannot have another role", e.attr)
	}
	if a == e.from {
		d.Problem(schema.CodeMalformed, "from and attr are the same attribute")
	}
}

// readFrom resolves the attribute that an item's time is counted from.
func (e *expiry) readFrom(d *schema.Decl, name string) {
	e.from = d.Attribute("from", name)
	switch a := e.from; {
	case a == nil || a.Time:
	case !a.Epoch:
		d.Problem(schema.CodeRoleType, "from %q must be a time, or an integer of 64 bits whose tag says what it counts: entity:\"time=unix\" or entity:\"time=unixms\"", name)
	case a.Role.Has(tag.Version):
		d.Problem(schema.CodeRoleType, "from %q counts versions", name)
	}
}

// finish checks the declaration against the keys and the other declarations.
func (e *expiry) finish(d *schema.Decl) {
	s := d.Schema
	bad := func(problem string) { d.Problem(schema.CodeExpiringEntity, "%s", problem) }
	if len(plan.UniqueConstraints(s)) > 0 {
		bad("an item with unique values cannot expire: DynamoDB would remove it and leave its values claimed")
	}
	if _, retains := schema.Feature[plan.Snapshotter](s); retains {
		bad("an item with snapshots cannot expire: DynamoDB would remove it without a trace in its history")
	}
	if _, moves := schema.Feature[plan.SoftDeleter](s); moves {
		bad("an item that is deleted softly cannot expire: DynamoDB would remove it without a copy")
	}
	if s.Handle != "" {
		bad("the current item of a series cannot expire; timeseries.Events has a ttl for events")
	}
	if e.field != nil && e.field.NeededBy() != "" {
		d.Problem(schema.CodeMissingPart, `%s, of which the key of the index %s is made, is absent from items that live for ever: missing:"error" cannot be kept`, e.field.Field, e.field.NeededBy())
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

// Stamps is the attribute that items expire by.
func (e *expiry) Stamps() string { return e.attr }

// Kept is how long items live; 0: for ever.
func (e *expiry) Kept() time.Duration {
	if e.noExpiry {
		return 0
	}
	return e.after
}

// Derives reports that items get an end without their caller.
func (e *expiry) Derives() bool { return !e.noExpiry }

// From is the attribute that an item's time is counted from; nil for the clock.
func (e *expiry) From() *schema.Attr { return e.from }

// Stamp is the end of an item: after its from, or after now. It is nil for an item that does not expire.
func (e *expiry) Stamp(from types.AttributeValue, now time.Time) (types.AttributeValue, error) {
	if e.noExpiry {
		return nil, nil
	}
	if e.from != nil {
		if item.Absent(from) || !e.isSet(from) {
			return nil, nil
		}
		var err error
		if now, err = e.from.Format.FromValue(from); err != nil {
			return nil, &item.FieldError{Attr: e.from.Name, Problem: "an end cannot be counted from it: it " + err.Error()}
		}
		if now.IsZero() {
			return nil, nil
		}
	}
	return item.N(strconv.FormatInt(now.Unix()+int64(e.after/time.Second), 10)), nil
}

// given reports that an integer is not zero, which stands for no time.
func (e *expiry) isSet(av types.AttributeValue) bool {
	return !e.from.Epoch || !isZero(av)
}

// Chosen reports that av is an end that a caller chose.
func (e *expiry) Chosen(av types.AttributeValue) bool {
	if item.Absent(av) || isZero(av) {
		return false
	}
	t, err := key.Unix.FromValue(av)
	return err != nil || !t.IsZero()
}

// zero reports that av is the number 0.
func isZero(av types.AttributeValue) bool {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	return err == nil && math.Abs(f) == 0
}

// Notes say what a printed plan adds for a mutation.
func (e *expiry) Notes(k plan.Kind) []string {
	if k != plan.Updated || e.from == nil {
		return nil
	}
	return []string{"set    " + e.attr + " in step with " + e.from.Name}
}

// Record gives the schema lock the declaration.
func (e *expiry) Record(*schema.Schema) schema.Record {
	from := "clock"
	if e.from != nil {
		from = e.from.Name
	}
	return schema.Record{Name: "lifecycle.TTL", Settings: []schema.Setting{
		{Key: "attr", Value: e.attr}, {Key: "after", Value: schema.ForHowLong(e.Kept())}, {Key: "from", Value: from},
	}}
}
