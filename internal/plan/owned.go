package plan

import (
	"context"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/bind"
)

// Later returns now, or one unit after the stored updated_at if that is not before now, so that updated_at always increases.
func Later(s *schema.Schema, image item.Item, now time.Time) time.Time {
	if s.UpdatedAt == nil {
		return now
	}
	stored, err := s.UpdatedAt.Format.FromValue(image[s.UpdatedAt.Name])
	if err != nil || stored.Before(s.UpdatedAt.Format.Truncate(now)) {
		return now
	}
	return stored.Add(s.UpdatedAt.Format.Unit())
}

var (
	writePath = expr.Attr(schema.WriteAttr)
	// clearRestoreMark removes the mark of a restored item, which belongs to the write that restored it.
	clearRestoreMark = expr.Change{Kind: expr.Remove, Path: expr.Attr(schema.OpAttr)}
)

// WithWriteID adds the change of the write id to changes. It returns the id that is stored, "" for entities without hidden attributes.
func WithWriteID(s *schema.Schema, changes []expr.Change, writeID string) ([]expr.Change, string) {
	if !s.HasMetadata {
		return changes, ""
	}
	changes = append(changes, expr.Change{Kind: expr.Set, Path: writePath, Value: &types.AttributeValueMemberS{Value: writeID}})
	if s.SoftDeletes {
		changes = append(changes, clearRestoreMark)
	}
	return changes, writeID
}

// WriteID returns the write id that an action stores, or "" for entities without hidden attributes.
func WriteID(s *schema.Schema, in *Input) string {
	if s.HasMetadata {
		return in.WriteID
	}
	return ""
}

// InContext returns what an operation stores in the attributes with the role context. An attribute without a value is not in it.
// Errors: *entitytype.InputError for a required attribute without a value, or a text that cannot be stored;
// *entitytype.ValidationError for a value that is refused, as if the caller had set it.
func InContext(ctx context.Context, s *schema.Schema) (item.Item, error) {
	values := make(item.Item, len(s.Contexts))
	for _, a := range s.Contexts {
		text, ok := s.Options.FromContext(ctx, a.Role.Context)
		if !ok || text == "" {
			if a.Role.Has(schema.Required) {
				return nil, bind.Invalid(s, bind.CodeNoContext, a, "the attribute is required, and Config.FromContext has no %s for the context of the call", a.Role.Context)
			}
			continue
		}
		av, err := bind.EncodeValue(s, a, text)
		if err != nil {
			return nil, err
		}
		if a.Rule != nil || !a.Basic {
			if refused := bind.ValidateField(s, a, reflect.ValueOf(text).Convert(a.Type), av); len(refused) > 0 {
				return nil, bind.JoinErrors(refused)
			}
		}
		values[a.Name] = av
	}
	return values, nil
}

// ShownContext stands for what a context has in a plan that is printed, and not run.
func ShownContext(s *schema.Schema) item.Item {
	if s.Contexts == nil {
		return nil
	}
	values := make(item.Item, len(s.Contexts))
	for _, a := range s.Contexts {
		values[a.Name] = item.S("<" + a.Role.Context + " of the context>")
	}
	return values
}

// setContext gives it what the context of the call has.
func (in *Input) setContext(s *schema.Schema, it item.Item) {
	for _, a := range s.Contexts {
		if av := in.Context[a.Name]; av != nil {
			it[a.Name] = av
		} else {
			delete(it, a.Name)
		}
	}
}

// SetUpdated gives it, a new state of an item, the attributes that every update sets, besides the version: updated_at with the time
// at, and what the context of the call has.
func (in *Input) SetUpdated(s *schema.Schema, it item.Item, at time.Time) error {
	if a := s.UpdatedAt; a != nil {
		av, err := a.Format.Value(at)
		if err != nil {
			return bind.ValueError(s, a, err)
		}
		it[a.Name] = av
	}
	in.setContext(s, it)
	return nil
}
