package lifecycle

import (
	"strconv"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// SoftDelete declares that Delete keeps a copy of the item, in the tag of a blank field:
//
//	_ lifecycle.SoftDelete `ttl:"30d" unique:"free"`
//
// ttl is how long the copy is kept after the delete; without it, forever. unique is what happens to the unique values of a deleted item:
// "free" (default) releases them, so that a restore can fail; "reserve" keeps them until the copy expires or is purged.
type SoftDelete struct{ _ softDeleteDecl }

// softDelete is the compiled declaration.
type softDelete struct {
	ttl     time.Duration // 0: forever
	reserve bool
}

// FeatureName shows other declarations that the entity is deleted softly.
func (*softDelete) FeatureName() string { return "lifecycle" }

// Kept returns how long copies are kept; 0 is forever.
func (f *softDelete) Kept() time.Duration { return f.ttl }

type softDeleteDecl struct{}

func (softDeleteDecl) Declare(d *schema.Decl) {
	f := &softDelete{ttl: d.Duration("ttl")}
	policy, given := d.Tag("unique")
	if _, twice := schema.Feature[*softDelete](d.Schema); twice {
		d.Problem(schema.CodeMalformed, "a struct has one lifecycle.SoftDelete")
		return
	}
	switch {
	case policy == "reserve":
		f.reserve = true
	case given && policy != "free":
		d.Problem(schema.CodeMalformed, "unique:%q must be free or reserve", policy)
	}
	d.Schema.UsesTTL = d.Schema.UsesTTL || f.ttl > 0
	d.Keep(f)
	d.RelatedItems(len(schema.CopyInfix) + longestTime)
	d.Check(func() {
		if given && len(plan.UniqueConstraints(d.Schema)) == 0 {
			d.Problem(schema.CodeUniquePolicy, "unique:%q needs a unique.Constraint", policy)
		}
		if name, _ := layout.DeletedAttr(d.Schema); d.Schema.DeletedAt == nil && d.Schema.Attr(name) != nil {
			d.Problem(schema.CodeReservedAttr, `deleted copies carry the attribute %q; give the field entity:"deleted_at", or another name`, name)
		}
	})
}

// Record returns the declaration for the schema lock.
func (f *softDelete) Record(s *schema.Schema) schema.Record {
	name, format := layout.DeletedAttr(s)
	policy := "free"
	if f.reserve {
		policy = "reserve"
	}
	return schema.Record{Name: "lifecycle.SoftDelete", Settings: []schema.Setting{
		{Key: "deletedAt", Value: name + " time=" + format.String()}, {Key: "ttl", Value: schema.DurationText(f.ttl)}, {Key: "unique", Value: policy},
	}}
}

const longestTime = len("2006-01-02T15:04:05.000000000Z")

// Reserves reports whether deleted copies keep the unique values of their item.
func (f *softDelete) Reserves() bool { return f.reserve }

// SoftDelete adds the deleted state and the deleted copy to m and returns the put of the copy. The newest copy is the one with the highest
// sort key, so the time of a copy is always after that of the copies that exist, even if the clock is behind that of an earlier delete. The
// copy that was the newest until now gets the write id of the delete, so that a restore that has read it as the newest one fails.
func (f *softDelete) SoftDelete(m *plan.Mutation) ([]plan.Action, error) {
	s := m.Op.Schema
	name, format := layout.DeletedAttr(s)
	at := plan.Later(s, m.Old, m.In.Now)
	if m.In.NewestCopy != nil {
		last, err := format.FromValue(m.In.NewestCopy[name])
		if err != nil {
			return nil, &entitytype.DecodeError{Entity: s.Name, Attr: name, Problem: "in a deleted copy it is not a time"}
		}
		if next := last.Add(format.Unit()); next.After(at) {
			at = next
		}
	}
	if err := m.SetDeleted(at); err != nil {
		return nil, err
	}
	text, err := timeText(format, at)
	if err != nil {
		return nil, &entitytype.InputError{Code: bind.CodeValue, Type: s.Type.String(), Field: name, Problem: err.Error()}
	}
	m.Copy = layout.RelatedItem(s, m.DeletedState, schema.CopyInfix+text, layout.CopyKind)
	if f.ttl > 0 {
		m.Copy[s.Options.TTL] = item.N(strconv.FormatInt(m.In.Now.Unix()+int64(f.ttl/time.Second), 10))
	}
	if err := bind.IndexCopy(s, m.Copy); err != nil {
		return nil, err
	}
	m.Copy, err = bind.Kept(s, m.Copy)
	parts := []plan.Action{{
		Kind: plan.Put, Table: m.Op.Table, Key: layout.KeyOf(s, m.Copy), Item: m.Copy, Cond: s.Absent, WriteID: plan.WriteID(s, m.In),
		Refusal: plan.Again,
	}}
	if m.In.NewestCopy != nil && s.HasMetadata {
		parts = append(parts, plan.Action{
			Kind: plan.Update, Table: m.Op.Table, Key: layout.KeyOf(s, m.In.NewestCopy), Cond: s.Exists, WriteID: plan.WriteID(s, m.In),
			Changes: []expr.Change{{Kind: expr.Set, Path: expr.Attr(schema.WriteAttr), Value: item.S(m.In.WriteID)}},
			Refusal: plan.Again,
		})
	}
	return parts, err
}

// timeText returns a time as it stands in the sort key of a deleted copy.
func timeText(format key.TimeFormat, at time.Time) (string, error) {
	f := key.Field{Kind: key.Time, Time: format}
	return f.Text(key.Value{Kind: key.Time, T: format.Truncate(at)})
}
