package schema_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/exprtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// shade has a String method, hue turns itself into text both ways, sealed only one.
type (
	shade  int
	hue    string
	sealed string
)

func (shade) String() string                { return "shade" }
func (h hue) MarshalText() ([]byte, error)  { return []byte("h-" + h), nil }
func (h *hue) UnmarshalText(b []byte) error { *h = hue(b[2:]); return nil }
func (sealed) MarshalText() ([]byte, error) { return []byte("sealed"), nil }

// coin encodes itself when it has an address.
type coin struct{ Cents int }

func (*coin) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return nil, errors.New("no coin")
}

type base int

// flag is a byte of its own type. attributevalue panics for a list of them.
type flag byte

func (flag) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) { return nil, nil }

type level byte

// built compiles a struct type made of fields.
func built(fields ...reflect.StructField) error {
	for i := range fields {
		if fields[i].Name == "_" {
			fields[i].PkgPath = "test"
		}
	}
	_, err := schema.Build(reflect.StructOf(fields), options)
	return err
}

func field(name string, typ reflect.Type, tag string) reflect.StructField {
	return reflect.StructField{Name: name, Type: typ, Tag: reflect.StructTag(tag)}
}

// mistakesOf are the codes of the mistakes of a struct with a key and one field A of typ.
func mistakesOf(typ reflect.Type, option string) (codes []string) {
	err := built(field("_", reflect.TypeFor[entity.Key](), `name:"T" pk:"$#{id}"`), field("ID", reflect.TypeFor[string](), `dynamodbav:"id"`),
		field("A", typ, `dynamodbav:"a`+option+`"`))
	for _, m := range mistakes(err) {
		codes = append(codes, m.Code+" "+m.Field)
	}
	return codes
}

// What attributevalue would silently ignore, or reject with the first value, is a mistake of the declaration.
func TestDeclaration_CodecOptionsFitTheirTypes(t *testing.T) {
	t.Parallel()
	type texts []string
	for option, c := range map[string]struct{ right, wrong []any }{
		",stringset": {
			[]any{[]string{}, texts{}, &[]string{}, []*string{}, [3]string{}, []hue{}, []time.Time{}, []coin{}, map[string]struct{}{}, map[hue]struct{}{}},
			[]any{map[int]struct{}{}, map[time.Time]struct{}{}, map[string]bool{}, &map[string]struct{}{}, []int{}, []byte{}, "", 1, []bool{}, [][]byte{}, []any{}, map[string][]string{}, []json.Number{}, time.Time{}},
		},
		",numberset": {
			[]any{[]int{}, []float32{}, []uint64{}, []shade{}, []json.Number{}, []attributevalue.Number{}, &[]*int{}, []coin{}, map[int]struct{}{}, map[float64]struct{}{}, map[json.Number]struct{}{}},
			[]any{map[string]struct{}{}, []string{}, []byte{}, []uint8{}, [4]byte{}, 1, []bool{}, [][]byte{}, []time.Time{}, map[string][]int{}, [][]int{}},
		},
		",binaryset": {
			[]any{[][]byte{}, [][4]byte{}, []*[]byte{}, []json.RawMessage{}, map[[4]byte]struct{}{}},
			[]any{map[string]struct{}{}, []byte{}, []string{}, []int{}, [4]byte{}, "", map[string][]byte{}},
		},
		",string": {
			[]any{1, uint8(1), 1.5, new(int), shade(1), json.Number("")},
			[]any{"", true, []int{}, time.Time{}, map[string]int{}, coin{}, struct{ B int }{}},
		},
		",unixtime":                    {[]any{time.Time{}, &time.Time{}, stamp{}}, []any{"", 1, []time.Time{}, attributevalue.UnixTime{}, struct{ B time.Time }{}}},
		",nullempty":                   {[]any{"", 1, true, []string{}, new(int), map[string]int{}}, []any{time.Time{}, struct{ B int }{}}},
		",omitemptyelem":               {[]any{[]string{}, map[string]int{}, [2]string{}}, []any{"", 1, []byte{}, time.Time{}, struct{ B int }{}}},
		",nullemptyelem":               {[]any{[]string{}, map[string]int{}}, []any{"", []byte{}, new(int)}},
		",nullemptyelem,stringset":     {nil, []any{[]string{}}},
		",omitemptyelem,stringset":     {[]any{[]string{}}, nil},
		",omitempty,nullempty":         {nil, []any{"", 1}},
		",omitempty,stringset":         {[]any{[]string{}}, []any{[]int{}}},
		",omitemptyelem,nullemptyelem": {nil, []any{[]string{}}},
	} {
		for _, v := range c.right {
			assert.Empty(t, mistakesOf(reflect.TypeOf(v), option), "%T%s", v, option)
		}
		for _, v := range c.wrong {
			assert.Equal(t, []string{"EDD-9045 A"}, mistakesOf(reflect.TypeOf(v), option), "%T%s", v, option)
		}
	}
	type Inner struct {
		B []int `dynamodbav:"b,stringset"`
	}
	type Keyed struct {
		B map[string]struct{} `dynamodbav:"b,stringset"`
	}
	for _, nested := range []any{Keyed{}, Inner{}, []Inner{}, map[string]*Inner{}, struct{ Inner }{}} {
		assert.Equal(t, []string{"EDD-9045 A"}, mistakesOf(reflect.TypeOf(nested), ""), "%T", nested)
	}
}

type stamp time.Time

// Pointers to themselves.
type (
	endless *endless
	other   **other
)

// What would be stored as nothing, or could not be read back, is a mistake of the declaration.
func TestDeclaration_TypesAreStoredAndReadBack(t *testing.T) {
	t.Parallel()
	type hidden struct{ base }
	_ = hidden{}.base
	type hiddenPointer struct{ *hiddenBase }
	type locked struct {
		sync.Mutex
		B int
	}
	for _, v := range []any{
		[]netip.Addr{}, struct{ A netip.Addr }{}, []big.Float{}, map[string]sync.Mutex{}, // their content is unexported
		[]fmt.Stringer{}, map[string]error{}, // nothing can be read into them
		map[shade]int{}, map[time.Duration]int{}, map[sealed]int{}, // their text cannot be read
		map[string]coin{}, map[string]struct{ C coin }{}, map[string][1]coin{}, // they have no address there
		hidden{}, hiddenPointer{},
		[]level{}, [2]level{}, &[]level{}, [][]level{}, map[string][2]level{}, struct{ L []level }{}, []flag{}, // elements are no bytes
		new(any), []*any{}, endless(nil), []endless{}, struct{ E *endless }{}, new(endless), map[string]struct{ E other }{}, // they never point to a value
	} {
		assert.Equal(t, []string{"EDD-9052 A"}, mistakesOf(reflect.TypeOf(v), ""), "%T", v)
	}
	for _, v := range []any{
		netip.Addr{}, &netip.Addr{}, new(big.Int), big.Float{}, // they are stored as their text
		map[string]struct{}{}, struct{}{}, locked{}, map[hue]int{}, map[netip.Addr]int{}, map[base]int{}, map[bool]int{}, map[float64]int{},
		level(1), map[level]int{}, map[string]level{}, []*level{},
		coin{}, []coin{}, map[string]*coin{}, map[string][]coin{}, map[string]any{}, attributevalue.UnixTime{}, json.Number(""), [0]int{},
	} {
		assert.Empty(t, mistakesOf(reflect.TypeOf(v), ""), "%T", v)
	}
}

var innermost = []any{"", 1, []string{}, new(int), map[string]int{}, time.Time{}, []byte{}, 1.5, true, Shared{}, &Other{}, []Other{}, map[string]Shared{}, [2]Shared{}, struct {
	Shared
	Z concealed
}{}, struct {
	Shared
	Other
}{}, struct {
	concealed
	Other `dynamodbav:"other"`
}{}, struct{ time.Time }{}, struct {
	At time.Time
}{}, new(any), struct{}{}, [0]int{}, &struct{}{}, map[string]struct{}{}, struct {
	*Tagless
	Z [0]int
}{}, new(time.Time), map[string]*Other{}, [][]string{}, []*int{}, any(nil)}

// fitting are options of tags for some types.
var fitting = map[reflect.Type][]string{
	reflect.TypeFor[[]string](): {",stringset", ",stringset,omitempty", ",nullempty", ",omitemptyelem", ",nullemptyelem"}, reflect.TypeFor[int](): {",string", ",string,omitempty", ",nullempty"},
	reflect.TypeFor[time.Time](): {",unixtime", ",unixtime,omitempty"}, reflect.TypeFor[*int](): {",string"}, reflect.TypeFor[map[string]int](): {",nullempty", ",omitemptyelem"}, reflect.TypeFor[string](): {",nullempty"},
}

// nestedStruct returns a random struct type for a field. ignored reports that a tag in it says what attributevalue ignores.
func nestedStruct(r *rand.Rand, depth int) (t reflect.Type, ignored bool) {
	var fields []reflect.StructField
	for i := range 1 + r.IntN(4) {
		bad := false
		t := reflect.TypeOf(innermost[r.IntN(len(innermost))])
		if t == nil {
			t = reflect.TypeFor[any]()
		}
		options := append([]string{"", "", ",omitempty"}, fitting[t]...)
		if depth > 0 && r.IntN(3) == 0 {
			var inner reflect.Type
			inner, bad = nestedStruct(r, depth-1)
			options = options[:3]
			t = []reflect.Type{inner, reflect.PointerTo(inner), reflect.SliceOf(inner), reflect.MapOf(reflect.TypeFor[string](), inner)}[r.IntN(4)]
		}
		name := []string{"", "x", "y", "Y", "F0", "q" + fmt.Sprint(i), "r" + fmt.Sprint(i), "-"}[r.IntN(8)]
		if t.Size() == 0 {
			name = "z" + fmt.Sprint(i) // nothing would be lost of two with one name
		}
		tag := `dynamodbav:"` + name + options[r.IntN(len(options))] + `"`
		if name == "-" {
			tag, bad = `dynamodbav:"-"`, false
		}
		if r.IntN(25) == 0 {
			tag, ignored = []string{`dynamodbav:"x`, `dynamodbav:"q` + fmt.Sprint(i) + `,omitempt"`, `json:"a"dynamodbav:"b"`}[r.IntN(3)], true
		}
		ignored = ignored || bad
		fields = append(fields, field(fmt.Sprint("F", i), t, tag))
	}
	if r.IntN(4) == 0 {
		fields = append([]reflect.StructField{{Name: "Shared", Type: reflect.TypeFor[Shared](), Anonymous: true}}, fields...)
	}
	return reflect.StructOf(append(fields, field("Kept", reflect.TypeFor[string](), `dynamodbav:"kept"`))), ignored // so that there is something to lose
}

// fillAll gives every field that can be set, and is not to be left out, a value of its own.
func fillAll(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("v", *n))
	case reflect.Int:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Interface:
		v.Set(reflect.ValueOf(fmt.Sprint("any", *n)))
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillAll(v.Elem(), n)
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			fillAll(v.Index(i), n)
		}
	case reflect.Map:
		e := reflect.New(v.Type().Elem()).Elem()
		fillAll(e, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), e)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(*n), 0).UTC()))
			return
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if (f.IsExported() || f.Anonymous) && f.Tag.Get("dynamodbav") != "-" && (v.Field(i).CanSet() || f.Type.Kind() == reflect.Struct) {
				fillAll(v.Field(i), n)
			}
		}
	}
}

// addressable calls f with the index of each field of v that a program can take the address of, and of what such a field points to.
func addressable(v reflect.Value, index []int, f func(index []int, behind bool)) {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[time.Time]() {
		return
	}
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		if sf.Name == "_" || !sf.IsExported() && !sf.Anonymous || sf.Tag.Get("dynamodbav") == "-" {
			continue
		}
		index := append(slices.Clone(index), i)
		if item.Flattened(sf) == nil {
			f(index, false)
			if sf.Type.Kind() == reflect.Pointer {
				f(index, true)
			}
		}
		addressable(v.Field(i), index, f)
	}
}

// fieldAt returns the field at an index of a struct, or what it points to.
func fieldAt(v reflect.Value, index []int, behind bool) reflect.Value {
	if v = v.FieldByIndex(index); behind {
		v = v.Elem()
	}
	return v
}

// values returns values to set a field to: another one, the zero value, and an empty one that is not nil.
func values(t reflect.Type) []reflect.Value {
	n, other := 1000, reflect.New(t).Elem()
	fillAll(other, &n)
	all := []reflect.Value{other, reflect.Zero(t)}
	switch t.Kind() {
	case reflect.Slice:
		all = append(all, reflect.MakeSlice(t, 0, 0))
	case reflect.Map:
		all = append(all, reflect.MakeMap(t))
	case reflect.Pointer:
		all = append(all, reflect.New(t.Elem()))
	}
	return all
}

// created returns the item that Create stores for v, and updated the one that an Update with a Set of the field at p leaves of it.
func created(s *schema.Schema, v reflect.Value) (item.Item, error) {
	op := plan.NewCreate(s, "t", v, &bind.Options{})
	if op.Err != nil {
		return nil, op.Err
	}
	p, err := op.Plan(context.Background(), nil, &planned)
	if err != nil {
		return nil, err
	}
	return p.Actions[0].Item, nil
}

func updated(s *schema.Schema, key reflect.Value, stored item.Item, field, to reflect.Value) (item.Item, error) {
	op := plan.NewUpdate(s, "t", key, &bind.Options{Changes: []bind.Change{{Kind: expr.Set, Target: bind.Target{Pointer: field.Addr().Interface()}, Value: to.Interface()}}})
	if op.Err != nil {
		return nil, op.Err
	}
	p, err := op.Plan(context.Background(), nil, &planned)
	switch {
	case err != nil:
		return nil, err
	case len(p.Actions) != 1 || p.Actions[0].Kind != plan.Update || !exprtest.Holds(p.Actions[0].Cond, stored):
		return nil, fmt.Errorf("the plan does not apply: %+v", p.Actions)
	}
	return expr.Apply(stored, p.Actions[0].Changes)
}

var planned = plan.Input{Now: time.Unix(1e9, 0).UTC(), WriteID: "w"}

// A type is accepted if and only if a value survives: the codec writes and reads it whole, and an update of each field at its address
// changes that field, as a write of the whole value would, and nothing else. What is refused, attributevalue does not read back, or
// ignores a tag of it. A field without a size has no address of its own, and its address is refused.
func TestDeclaration_AcceptsWhatSurvives(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 0))
	accepted, refused, addresses, sets, nowhere := 0, 0, 0, 0, 0
	sdk := options
	sdk.SDKCodec = true
	for range testsize.Pick(300, 6_000) {
		inner, ignored := nestedStruct(r, 2)
		fields := []reflect.StructField{
			{Name: "_", PkgPath: "test", Type: reflect.TypeFor[entity.Key](), Tag: `name:"T" pk:"$#{id}"`}, field("ID", reflect.TypeFor[string](), `dynamodbav:"id"`),
		}
		if r.IntN(2) == 0 {
			fields = append(fields, field("In", inner, `dynamodbav:"in"`))
		} else { // the fields of the entity itself
			for i := range inner.NumField() {
				f := inner.Field(i)
				fields = append(fields, reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag, Anonymous: f.Anonymous})
			}
		}
		typ := reflect.StructOf(fields)
		filled := func() reflect.Value {
			n, v := 0, reflect.New(typ).Elem()
			fillAll(v, &n)
			return v
		}
		own, err := schema.Build(typ, options)
		left, errLeft := schema.Build(typ, sdk)
		require.Equal(t, err == nil, errLeft == nil, "%v", typ)
		if err != nil {
			refused++
			n, v, got := 0, reflect.New(inner), reflect.New(inner)
			fillAll(v.Elem(), &n)
			it, fails := attributevalue.MarshalMap(v.Elem().Interface())
			if fails == nil {
				fails = attributevalue.UnmarshalMap(it, got.Interface())
			}
			require.True(t, ignored || fails != nil || !reflect.DeepEqual(v.Interface(), got.Interface()), "%v is refused, but survives: %v", typ, err)
			continue
		}
		accepted++
		require.False(t, ignored, "%v has a tag that is ignored", typ)
		both := func(it item.Item) any {
			read := [2]reflect.Value{reflect.New(typ), reflect.New(typ)}
			for i, s := range []*schema.Schema{own, left} {
				require.NoError(t, s.Codec.Decode(it, read[i]), "%v", typ)
			}
			require.Equal(t, read[0].Interface(), read[1].Interface(), "%v is decoded in two ways", typ)
			return read[0].Elem().Interface()
		}
		stored, err := created(own, filled())
		require.NoError(t, err, "%v", typ)
		require.Equal(t, filled().Interface(), both(stored), "%v", typ)
		f := schema.Prototype(typ).Elem()
		addressable(f, nil, func(index []int, behind bool) {
			p := fieldAt(f, index, behind)
			if slices.Equal(index, []int{1}) { // the key
				return
			}
			addresses++
			for i, to := range values(p.Type()) {
				s := []*schema.Schema{own, left}[r.IntN(2)]
				got, err := updated(s, filled(), stored, p, to)
				if p.Type().Size() == 0 {
					require.ErrorContains(t, err, "has no size", "%v", typ)
					nowhere++
					continue
				}
				want := filled()
				fieldAt(want, index, behind).Set(to)
				whole, errWhole := created(s, want)
				where := fmt.Sprintf("%v at %v (%v) = %v", typ, index, behind, to)
				require.Equal(t, errWhole == nil, err == nil, "%s: %v, %v", where, errWhole, err)
				if err != nil {
					continue
				}
				sets++
				require.Equal(t, both(whole), both(got), "%s", where)
				if i == 0 {
					require.Equal(t, want.Interface(), both(got), "%s", where)
				}
				if n := s.Node(p.Addr()); n.Tag.Set != "" && n.Tag.OmitEmpty && to.Len() == 0 && !n.Top {
					continue // attributevalue stores a NULL inside another value, which is read as nothing too
				}
				for _, a := range s.Attrs {
					require.Equal(t, whole[a.Name], got[a.Name], "%s", where)
				}
			}
		})
	}
	t.Logf("%d accepted with %d addresses, %d times Set; %d addresses without a size; %d refused", accepted, addresses, sets, nowhere, refused)
	require.Greater(t, accepted, 50)
	require.Greater(t, refused, 50)
	require.Positive(t, nowhere)
}

// box is an entity with a field of each kind.
type box struct {
	_      entity.Key        `name:"Box" pk:"$#{id}" sk:"$"`
	ID     string            `dynamodbav:"id"`
	Text   string            `dynamodbav:"text"`
	Number float64           `dynamodbav:"number"`
	List   []Other           `dynamodbav:"list"`
	Map    map[string]Shared `dynamodbav:"map"`
	Bytes  []byte            `dynamodbav:"bytes"`
	Array  [2]Other          `dynamodbav:"array"`
	Any    any               `dynamodbav:"any"`
	Time   *time.Time        `dynamodbav:"time"`
	In     struct {
		Shared
		Twice *Other            `dynamodbav:"twice,omitempty"`
		At    time.Time         `dynamodbav:"at,unixtime"`
		Set   []string          `dynamodbav:"set,stringset,omitempty"`
		Deep  map[string]*Other `dynamodbav:"deep,omitempty"`
		Any   any               `dynamodbav:"any,omitempty"`
		N     *int              `dynamodbav:"n,string"`
	} `dynamodbav:"in"`
	Pointer *struct {
		*Tagless
		In struct {
			concealed
			Z Other   `dynamodbav:"z"`
			B []byte  `dynamodbav:"b,omitempty"`
			L [][]int `dynamodbav:"l"`
		} `dynamodbav:"in"`
	} `dynamodbav:"pointer"`
}

// A Set of each field survives DynamoDB and both codecs.
func TestDeclaration_WhatIsAcceptedSurvivesInDynamoDB(t *testing.T) {
	t.Parallel()
	for _, codec := range []entity.Codec{entity.OwnCodec, entity.SDKCodec} {
		t.Run(fmt.Sprint(codec), func(t *testing.T) { t.Parallel(); survives(t, codec) })
	}
}

func survives(t *testing.T, codec entity.Codec) {
	_, boxes := dbtest.OpenStore[box](t, func(c *entity.Config) { c.Codec = codec })
	prototype, sets := reflect.ValueOf(entity.Fields[box]()).Elem(), 0
	filled := func() (v box) {
		n := 0
		fillAll(reflect.ValueOf(&v).Elem(), &n)
		return v
	}
	addressable(prototype, nil, func(index []int, behind bool) {
		if slices.Equal(index, []int{1}) {
			return
		}
		p := fieldAt(prototype, index, behind)
		for _, to := range values(p.Type()) {
			first, want := filled(), filled()
			want.ID = fmt.Sprint(sets)
			first.ID = want.ID
			fieldAt(reflect.ValueOf(&want).Elem(), index, behind).Set(to)
			entity.Must(boxes.Create(t.Context(), first))
			got, err := boxes.Update(t.Context(), box{ID: want.ID}, bind.Option{Setting: func(o *bind.Options) {
				o.Changes = append(o.Changes, bind.Change{Kind: expr.Set, Target: bind.Target{Pointer: p.Addr().Interface()}, Value: to.Interface()})
			}})
			require.NoError(t, err, "%v = %v", index, to)
			require.Equal(t, got, entity.Must(boxes.Get(t.Context(), box{ID: want.ID})))
			whole := want
			whole.ID += " whole"
			entity.Must(boxes.Create(t.Context(), whole))
			whole, whole.ID = entity.Must(boxes.Get(t.Context(), whole)), want.ID
			require.Equal(t, whole, got, "%v = %v", index, to)
			sets++
		}
	})
	require.Greater(t, sets, 60)
}

// loose has fields without a size, and fields for anything.
type loose struct {
	_       entity.Key `name:"Loose" pk:"$#{id}" sk:"$"`
	ID      string     `dynamodbav:"id"`
	A, B    struct{}
	C       [0]int
	Skipped struct{} `dynamodbav:"-"`
	D, E    *struct{}
	Top     any `dynamodbav:"top,omitempty"`
	In      struct {
		Any any `dynamodbav:"any,omitempty"`
	} `dynamodbav:"in"`
}

// Fields without a size can have one address: neither is taken for the other.
func TestAddress_AFieldWithoutASizeHasNone(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[loose](t)
	f, ctx, key := entity.Fields[loose](), t.Context(), loose{ID: "a"}
	v := entity.Must(s.Create(ctx, key))
	for _, c := range []entity.ChangeOption{
		entity.Set(&f.A, struct{}{}), entity.Remove(&f.B), entity.Set(&f.C, [0]int{}), entity.Set(&f.Skipped, struct{}{}), entity.Set(f.D, struct{}{}),
	} {
		dbtest.RequireInput(t, dbtest.ErrorOf(s.Update(ctx, key, c)), "EDD-9105", "", "has no size, and so no address of its own; name it with entity.Attr")
	}
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Update(ctx, key, entity.Set(&f.D, nil), entity.If(entity.Exists(&f.A)))), "EDD-9105", "", "struct {} has no size")
	v.E = &struct{}{}
	require.Equal(t, v, entity.Must(s.Update(ctx, key, entity.Set(&f.E, v.E), entity.Attr[struct{}]("A").Set(struct{}{}), entity.If(entity.Attr[struct{}]("B").Exists()))))
}

// A nil in an any with omitempty is left out by a change, as by a write of the whole value, and equals what is absent.
func TestSet_OfNilLeavesOutAnAny(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[loose](t)
	f, ctx, v := entity.Fields[loose](), t.Context(), loose{ID: "a"}
	entity.Must(s.Create(ctx, v))
	entity.Must(s.Update(ctx, v, entity.Set(&f.Top, any("x")), entity.Set(&f.In.Any, any(1.5)), entity.If(entity.Eq(&f.Top, nil), entity.Eq(&f.In.Any, nil))))
	require.Contains(t, b.Current("a"), "top")
	entity.Must(s.Update(ctx, v, entity.Set(&f.Top, nil), entity.Set(&f.In.Any, nil)))
	require.NotContains(t, b.Current("a"), "top")
	require.Equal(t, &types.AttributeValueMemberM{Value: item.Item{}}, b.Current("a")["in"])
}
