package entity

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

// Cond is a condition on attributes, made by [Eq], [And] and others. As an option of a query it bounds the next part of the sort key; one
// of [Gt] and [Ge] can be combined with one of [Lt] and [Le]. Conditions on other attributes go into [Filter].
type Cond struct {
	rangeOption
	cond bind.Cond
}

type rangeOption = bind.OrderSetting

func newCond(c bind.Cond) Cond {
	return Cond{rangeOption{Setting: func(o *bind.Options) { o.Range = append(o.Range, c) }}, c}
}

func erase(conds []Cond) []bind.Cond {
	out := make([]bind.Cond, len(conds))
	for i, c := range conds {
		out[i] = c.cond
	}
	return out
}

// compare returns a condition on an attribute. It and change are not inlined: a program would contain them once for each type of field.
//
//go:noinline
func compare(op expr.Op, t bind.Target, vs ...any) Cond {
	return newCond(bind.Cond{Op: op, Target: t, Values: vs})
}

func at(field any) bind.Target { return bind.Target{Pointer: field} }

func untyped[V any](vs []V) []any {
	out := make([]any, len(vs))
	for i, v := range vs {
		out[i] = v
	}
	return out
}

// Eq holds if the attribute equals v. An absent attribute equals nothing, with one exception: if the field is tagged omitempty and v is
// empty, Eq holds if the attribute is absent, NULL or empty, because [Set] with an empty v removes it.
func Eq[V any](field *V, v V) Cond { return compare(expr.Eq, at(field), v) }

// Ne holds if Eq does not: if the attribute differs from v or is absent. If the field is tagged omitempty and v is
// empty, it holds if the attribute is present and not empty.
func Ne[V any](field *V, v V) Cond { return compare(expr.Ne, at(field), v) }

// Lt holds if the attribute is less than v and of the same DynamoDB type.
func Lt[V any](field *V, v V) Cond { return compare(expr.Lt, at(field), v) }

// Le holds if the attribute is at most v and of the same DynamoDB type.
func Le[V any](field *V, v V) Cond { return compare(expr.Le, at(field), v) }

// Gt holds if the attribute is greater than v and of the same DynamoDB type.
func Gt[V any](field *V, v V) Cond { return compare(expr.Gt, at(field), v) }

// Ge holds if the attribute is at least v and of the same DynamoDB type.
func Ge[V any](field *V, v V) Cond { return compare(expr.Ge, at(field), v) }

// Between holds if the attribute is at least lo and at most hi.
func Between[V any](field *V, lo, hi V) Cond { return compare(expr.Between, at(field), lo, hi) }

// In holds if the attribute equals one of vs, as in [Eq]. It takes 1 to 100 values.
func In[V any](field *V, vs ...V) Cond { return compare(expr.In, at(field), untyped(vs)...) }

// BeginsWith holds if the text begins with prefix.
func BeginsWith[S ~string](field *S, prefix string) Cond {
	return compare(expr.BeginsWith, at(field), S(prefix))
}

// Contains holds if the list or set has the element e.
func Contains[S ~[]E, E any](field *S, e E) Cond {
	return compare(expr.Contains, at(field), e)
}

// ContainsKey holds if the set that the struct has as a map has the element key.
func ContainsKey[M ~map[K]struct{}, K comparable](field *M, key K) Cond {
	return compare(expr.Contains, at(field), key)
}

// Exists holds if the attribute is present, even as NULL.
func Exists[V any](field *V) Cond { return compare(expr.Exists, at(field)) }

// NotExists holds if the attribute is absent.
func NotExists[V any](field *V) Cond { return compare(expr.NotExists, at(field)) }

// And holds if all conds hold. It needs at least one.
func And(conds ...Cond) Cond { return newCond(bind.Cond{Op: expr.And, Conds: erase(conds)}) }

// Or holds if one of conds holds. It needs at least one.
func Or(conds ...Cond) Cond { return newCond(bind.Cond{Op: expr.Or, Conds: erase(conds)}) }

// Not holds if c does not.
func Not(c Cond) Cond { return newCond(bind.Cond{Op: expr.Not, Conds: erase([]Cond{c})}) }

// Where is a condition of the SDK's package expression, for what the conditions of this package do not have: size,
// attribute_type, a part of a text, one attribute compared with another. It goes into [If], [Filter] and CheckExists,
// and into [And], [Or] and [Not] together with others.
//
//	entity.If(entity.Where(expression.Name("tags").Size().LessThan(expression.Value(10))))
//	entity.Filter(entity.Where(expression.Name("spent").GreaterThan(expression.Name("budget"))))
//
// It is about attributes as they are stored:
//
//   - Names are those of the dynamodbav tags, and of the attributes that keys are stored in. Any other is an *[InputError].
//     expression.Name takes dots as steps into maps, and an index in brackets at the end of a step as a step into a list.
//     NameNoDotSplit does not split at dots, but does at an index: NameNoDotSplit("x[0]") is the first element of x. For such
//     a map key use [MapEntry].
//   - Values are sent as package attributevalue encodes them when Where is called, not as a field of this struct is stored.
//     Pass a time, a text type or a key in lower case in its stored form. A value whose type the attribute cannot have is an
//     *[InputError], and so are bounds of BETWEEN in reverse order, which DynamoDB refuses.
//   - An empty value does not match an absent attribute, as it may in [Eq].
//
// A condition that is empty, or that the package cannot build, is an *[InputError] of the call that it is passed to. So
// is size or a comparison of attributes if the library evaluates the condition itself: in [DB.GetCollection], in a list
// of versions, in a transaction with several operations on one item, and in Create, Put and Upsert of a struct with
// lifecycle.TTL, unless it does not decide what the conditions give without an item.
func Where(c expression.ConditionBuilder) Cond {
	built, err := build(c)
	return newCond(bind.Cond{Op: bind.Where, Built: built, Err: err})
}

// build renders the condition with the SDK and parses the result. It recovers from panics: the SDK calls operands that
// may be nil, and methods of the values.
func build(c expression.ConditionBuilder) (built expr.Cond, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("building the condition panicked: an operand is nil, or a value cannot be encoded")
		}
	}()
	e, err := expression.NewBuilder().WithCondition(c).Build()
	var unset expression.UnsetParameterError
	var invalid expression.InvalidParameterError
	switch {
	case errors.As(err, &unset) || errors.As(err, &invalid):
		return expr.Cond{}, err // it names functions and types of the package
	case err != nil: // it may quote a value
		return expr.Cond{}, fmt.Errorf("the condition cannot be built (%T)", err)
	}
	if built, err = expr.Parse(*e.Condition(), e.Names(), e.Values()); err != nil {
		return expr.Cond{}, err
	}
	return built, item.CheckStorable(e.Values())
}

// number is any numeric type.
type number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

//go:noinline
func change(kind expr.Kind, t bind.Target, v any) ChangeOption {
	return bind.Option{Setting: func(o *bind.Options) {
		o.Changes = append(o.Changes, bind.Change{Kind: kind, Target: t, Value: v})
	}}
}

// Set sets the attribute to v. If the field is tagged omitempty and v is empty, it removes the attribute, as a write of a whole value does.
func Set[V any](field *V, v V) ChangeOption { return change(expr.Set, at(field), v) }

// SetIfNotExists sets the attribute to v if it is absent.
func SetIfNotExists[V any](field *V, v V) ChangeOption {
	return change(expr.SetIfNotExists, at(field), v)
}

// Remove removes the attribute if it is present.
func Remove[V any](field *V) ChangeOption {
	return change(expr.Remove, at(field), nil)
}

// Add adds d to the number; an absent attribute counts as 0. After a lost response it is not repeated: see [IsAmbiguous].
func Add[N number](field *N, d N) ChangeOption {
	return change(expr.Add, at(field), d)
}

// ListAppend adds es at the end of the list; an absent attribute counts as the empty list. After a lost response it is
// not repeated: see [IsAmbiguous].
func ListAppend[S ~[]E, E any](field *S, es ...E) ChangeOption {
	return change(expr.ListAppend, at(field), S(es))
}

// ListPrepend adds es at the beginning of the list, in their order; an absent attribute counts as the empty list. After
// a lost response it is not repeated: see [IsAmbiguous].
func ListPrepend[S ~[]E, E any](field *S, es ...E) ChangeOption {
	return change(expr.ListPrepend, at(field), S(es))
}

// AddToSet adds es to the set of a field tagged stringset, numberset or binaryset.
func AddToSet[S ~[]E, E any](field *S, es ...E) ChangeOption {
	return change(expr.AddToSet, at(field), S(es))
}

// DeleteFromSet removes es from the set. A set that becomes empty is removed.
func DeleteFromSet[S ~[]E, E any](field *S, es ...E) ChangeOption {
	return change(expr.DeleteFromSet, at(field), S(es))
}

// AddKeys adds keys to the set that the struct has as a map, of a field tagged stringset, numberset or binaryset.
func AddKeys[M ~map[K]struct{}, K comparable](field *M, keys ...K) ChangeOption {
	return change(expr.AddToSet, at(field), keys)
}

// DeleteKeys removes keys from the set that the struct has as a map. A set that becomes empty is removed.
func DeleteKeys[M ~map[K]struct{}, K comparable](field *M, keys ...K) ChangeOption {
	return change(expr.DeleteFromSet, at(field), keys)
}

// Path names an attribute inside a map or a list, which has no address in Go. V is the type of its value. It has the
// conditions and changes of a field as methods. The library checks only what it knows from the struct's types: if the
// stored value has another type, a condition is false and a change is a *[ConditionError].
type Path[V any] struct{ target bind.Target }

// MapEntry is the value under key in a map field. To change an entry, the map must be stored; if it is absent, the
// error is a *[ConditionError] that names the map. The entry is found under the text that the key is stored as: that of its
// MarshalText, else a string as it is, and a number or bool as fmt prints it. A key without a text is an *[InputError].
func MapEntry[M ~map[K]V, K comparable, V any](field *M, key K) Path[V] {
	k := item.MapKey(key)
	return Path[V]{bind.Target{Pointer: field, Entry: &k, Key: key}}
}

// Elem is the element at index i of a list field. The list must be stored. Set at an index beyond the end appends to
// the list, several of them in the order of their indexes. Remove shifts the elements that follow.
func Elem[S ~[]E, E any](field *S, i int) Path[E] {
	return Path[E]{bind.Target{Pointer: field, Elem: &i}}
}

// Attr is the attribute at a textual path such as "features.colour" or "items[0].qty". Its first name must be an
// attribute of the struct. A value must have the type that the struct has there; a number may have another Go type if nothing
// is lost. Below an interface, a type that encodes itself, or a name that no field has, any type is accepted.
func Attr[V any](path string) Path[V] { return Path[V]{bind.Target{Text: path}} }

// Inside is the value at a textual path below p, such as "ports[0].hits" or "[2]". Use it with [MapEntry] for map keys
// that contain dots or brackets. Values are checked as those of [Attr].
func Inside[V, P any](p Path[P], path string) Path[V] {
	t := p.target
	switch {
	case t.Inside == "" || path != "" && path[0] == '[':
		t.Inside += path
	default:
		t.Inside += "." + path
	}
	if path == "" {
		t.Inside = "." // refused
	}
	return Path[V]{t}
}

// Set is [Set] for the path.
func (p Path[V]) Set(v V) ChangeOption { return change(expr.Set, p.target, v) }

// SetIfNotExists is [SetIfNotExists] for the path.
func (p Path[V]) SetIfNotExists(v V) ChangeOption { return change(expr.SetIfNotExists, p.target, v) }

// Remove is [Remove] for the path.
func (p Path[V]) Remove() ChangeOption { return change(expr.Remove, p.target, nil) }

// Add is [Add] for the path, whose value is a number.
func (p Path[V]) Add(d V) ChangeOption { return change(expr.Add, p.target, d) }

// ListAppend is [ListAppend] for the path, whose value is a list; es is a slice of at least one element.
func (p Path[V]) ListAppend(es V) ChangeOption { return change(expr.ListAppend, p.target, es) }

// ListPrepend is [ListPrepend] for the path, whose value is a list; es is a slice of at least one element.
func (p Path[V]) ListPrepend(es V) ChangeOption { return change(expr.ListPrepend, p.target, es) }

// AddToSet is [AddToSet] for the path; es is a slice of at least one element. If no field says that a set is stored,
// strings make a string set, slices of bytes a binary set, and numbers a number set.
func (p Path[V]) AddToSet(es V) ChangeOption { return change(expr.AddToSet, p.target, es) }

// DeleteFromSet is [DeleteFromSet] for the path; es is as for AddToSet.
func (p Path[V]) DeleteFromSet(es V) ChangeOption { return change(expr.DeleteFromSet, p.target, es) }

// Eq is [Eq] for the path.
func (p Path[V]) Eq(v V) Cond { return compare(expr.Eq, p.target, v) }

// Ne is [Ne] for the path.
func (p Path[V]) Ne(v V) Cond { return compare(expr.Ne, p.target, v) }

// Lt is [Lt] for the path.
func (p Path[V]) Lt(v V) Cond { return compare(expr.Lt, p.target, v) }

// Le is [Le] for the path.
func (p Path[V]) Le(v V) Cond { return compare(expr.Le, p.target, v) }

// Gt is [Gt] for the path.
func (p Path[V]) Gt(v V) Cond { return compare(expr.Gt, p.target, v) }

// Ge is [Ge] for the path.
func (p Path[V]) Ge(v V) Cond { return compare(expr.Ge, p.target, v) }

// Between is [Between] for the path.
func (p Path[V]) Between(lo, hi V) Cond { return compare(expr.Between, p.target, lo, hi) }

// In is [In] for the path.
func (p Path[V]) In(vs ...V) Cond { return compare(expr.In, p.target, untyped(vs)...) }

// BeginsWith is [BeginsWith] for the path, whose value is a text.
func (p Path[V]) BeginsWith(prefix string) Cond { return compare(expr.BeginsWith, p.target, prefix) }

// Contains is [Contains] for the path: e is an element of its list or set.
func (p Path[V]) Contains(e any) Cond { return compare(expr.Contains, p.target, e) }

// Exists is [Exists] for the path.
func (p Path[V]) Exists() Cond { return compare(expr.Exists, p.target) }

// NotExists is [NotExists] for the path.
func (p Path[V]) NotExists() Cond { return compare(expr.NotExists, p.target) }
