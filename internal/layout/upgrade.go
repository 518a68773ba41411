package layout

import (
	"errors"
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// PayloadOf returns the payload version of an item; absent means 1, and malformed 0.
func PayloadOf(it item.Item) int {
	n, ok := it[schema.PayloadAttr].(*types.AttributeValueMemberN)
	if !ok {
		return 1
	}
	v, err := strconv.Atoi(n.Value)
	if err != nil {
		return 0
	}
	return v
}

// Outdated reports whether an item, of which only the payload version counts, is upgraded when it is read.
func Outdated(s *schema.Schema, it item.Item) bool {
	return s.Upgrades != nil && PayloadOf(it) < s.Payload
}

// UpToDate holds for items that need no upgrade, and if there is no item or it has expired.
func UpToDate(s *schema.Schema, now time.Time) expr.Cond {
	return expr.Any(AbsentOrExpired(s, now), expr.Compare(expr.Ge, expr.Attr(schema.PayloadAttr), item.N(strconv.Itoa(s.Payload))))
}

var errTooOld = errors.New("no upgrade reads it")

// Upgraded returns an item as it would be if it had been stored with today's payload version: the attributes of the first
// step's struct are replaced by those that the steps make of them. Parts of the primary key, attributes that the library
// keeps, and those that neither struct has stay as stored. An item that needs no upgrade is returned as it is. Errors are
// of type *entitytype.UpgradeError and *entitytype.DecodeError.
func Upgraded(s *schema.Schema, it item.Item) (item.Item, error) {
	if it == nil || !Outdated(s, it) {
		return it, nil
	}
	from := PayloadOf(it)
	steps := s.Upgrades.Starting(from)
	if steps == nil {
		return nil, &entitytype.UpgradeError{Entity: s.Name, From: from, Err: errTooOld}
	}
	old := reflect.New(steps[0].Old)
	if err := steps[0].Codec.Decode(it, old); err != nil {
		misfit := &entitytype.DecodeError{Entity: s.Name, Problem: "the item of an earlier payload version cannot be decoded"}
		if f, ok := err.(*item.FieldError); ok {
			misfit.Attr, misfit.Problem = f.Attr, f.Problem
		}
		return nil, misfit
	}
	v, failed, err := steps.Apply(old.Elem().Interface())
	if err != nil {
		return nil, &entitytype.UpgradeError{Entity: s.Name, From: failed, Err: err}
	}
	was, err := steps[0].Codec.Loose().Encode(old.Elem())
	if err == nil {
		var is item.Item
		if is, err = s.Codec.Loose().Encode(reflect.ValueOf(v)); err == nil {
			return replaced(s, it, was, is), nil
		}
	}
	return nil, &entitytype.UpgradeError{Entity: s.Name, From: from, Err: errors.New("the result cannot be stored")}
}

// replaced returns an item with the attributes of was replaced by those of is.
func replaced(s *schema.Schema, it, was, is item.Item) item.Item {
	out := item.Clone(it)
	key := KeyOf(s, it)
	for name := range was {
		if _, part := key[name]; !part && s.Attr(name) == nil && name != s.Options.TTL {
			delete(out, name)
		}
	}
	for _, a := range s.Attrs {
		if s.KeyPart(a) || a.Owned() || a.Name == s.Options.TTL {
			continue
		}
		if av, ok := is[a.Name]; ok {
			out[a.Name] = av
		} else {
			delete(out, a.Name)
		}
	}
	out[schema.PayloadAttr] = item.N(strconv.Itoa(s.Payload))
	return out
}
