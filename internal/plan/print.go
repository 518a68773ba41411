package plan

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/layout"
)

func actionLines(s *schema.Schema, actions []Action) string {
	r := layout.Printer(s)
	var b strings.Builder
	for i, a := range actions {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "  %-6s ", [...]string{"put", "update", "delete", "check"}[a.Kind])
		if a.Label != "" {
			b.WriteString(a.Label)
			continue
		}
		b.WriteString(layout.KeyText(s, a.Key))
		switch {
		case len(a.Changes) > 0:
			b.WriteString("\n         " + r.Update(a.Changes))
		case a.Kind == Put:
			b.WriteString("\n         " + layout.ItemText(s, a.Item, a.Key))
		}
		if cond := r.Cond(a.Cond); cond != "" {
			b.WriteString("\n         if " + cond)
		}
	}
	return b.String()
}

// preparing is printed for a value whose Prepare method has still to be called.
const preparing = "\n  prepare the value first, by its Prepare method"

// TextDeferred prints the plan of op, which writes a value as it was given, before its Prepare method is called.
func (op *Op) TextDeferred(in *Input) string {
	title := op.Verb + " " + op.Schema.Name + " on " + op.Table + preparing
	if op.Err != nil { // what is missing may come from Prepare
		return title
	}
	_, actions, _ := strings.Cut(op.Text(in), "\n")
	if actions == "" {
		return title
	}
	return title + "\n" + actions
}

// Text prints the plan of op for in, one line per request and action. It hides values of secret attributes.
func (op *Op) Text(in *Input) string {
	if op.Err != nil {
		return op.Verb + " " + op.Schema.Name + ": " + op.Err.Error()
	}
	title := op.Verb + " " + op.Schema.Name + " on " + op.Table
	if op.Read || op.More {
		r := layout.Printer(op.Schema)
		title += "\n  read   " + cmp.Or(op.KeyText(), "the item") + " consistently\n  write  what follows from it, if it is unchanged"
		if len(op.Changes) > 0 {
			title += "\n         " + r.Update(op.Changes)
		}
		if cond := r.Cond(op.If); cond != "" {
			title += "\n         if " + cond
		}
		return title
	}
	if op.Old != nil {
		in.Joined = false // outside a transaction the item is not read
	}
	if op.Past {
		title += "\n  read   what earlier lives of the item have left"
	}
	p, err := Make(context.Background(), nil, op, in)
	if err != nil {
		return title + ": " + err.Error()
	}
	return title + "\n" + actionLines(op.Schema, p.Actions)
}
