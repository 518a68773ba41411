package migrate

import (
	"context"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/stream"
)

// changed is a source item that was changed, and where it may have been copied to.
type changed struct {
	source  item.Item
	earlier []item.Item
}

// changedBy returns what a change is about. ok is false for a change of a related item.
func changedBy[A any](c *copier, x stream.Change[A]) (one changed, ok bool, err error) {
	switch x.Kind {
	case stream.Created, stream.Restored:
	case stream.Updated, stream.Deleted, stream.Expired, stream.CurrentRemoved:
		if x.Old == nil {
			return one, false, &stream.ImageError{Entity: c.from.s.Name, Operation: x.Record.Operation, View: x.Record.View, Needs: "OldImage"}
		}
	case "":
		return one, false, bind.Invalid(c.from.s, bind.CodeCopyChange, nil, "the change has no kind; stream.Of and stream.On make changes")
	default:
		return one, false, nil
	}
	one.source = item.Item{}
	for _, name := range keyAttributes(c.from.s) {
		if one.source[name] = x.Record.Keys[name]; one.source[name] == nil {
			return one, false, bind.Invalid(c.from.s, bind.CodeCopyChange, nil, "the change has no record with the key of the item")
		}
	}
	for _, image := range []item.Item{x.Record.Old, x.Record.New} {
		if t := c.target(image, time.Unix(0, 0)); t.key != nil { // an expired state was copied before it expired
			one.earlier = append(one.earlier, t.key)
		}
	}
	if len(one.earlier) == 2 && layout.KeyID(one.earlier[0]) == layout.KeyID(one.earlier[1]) {
		one.earlier = one.earlier[:1]
	}
	return one, true, nil
}

// applied applies a change.
func (c *copier) applied(ctx context.Context, one changed, report *Report) error {
	report.Items++
	r, err := c.follow(ctx, one.source, one.earlier, report)
	switch {
	case err != nil:
		return err
	case r.problem == Busy: // the change would be lost
		return entity.ErrConflict
	}
	if r.now.omitted {
		report.Omitted++
	}
	return report.stayed(r, c.text(one.source), false)
}
