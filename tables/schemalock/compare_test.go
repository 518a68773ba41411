package schemalock

import (
	"encoding/json"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/item"
)

type tree struct {
	Name   string `dynamodbav:"name"`
	Leaves []tree `dynamodbav:"leaves,omitempty"`
}

type base struct {
	Inner string `dynamodbav:"inner,omitempty"`
}

// Home is embedded by its address, so that it can be nil.
type Home struct {
	Street string `dynamodbav:"street"`
	City   string `dynamodbav:"city,omitempty"`
}

type mixed struct {
	base
	*Home
	Skipped string `dynamodbav:"-"`
	hidden  string
	Dotted  int `dynamodbav:"a.b c"`
}

// What cannot be followed is named, and names of nested attributes are not mistaken for paths.
func TestLock_FollowsNestedValuesAsFarAsTheyGo(t *testing.T) {
	t.Parallel()
	require.Empty(t, mixed{}.hidden)
	m := beat()
	m.fields = append(m.fields,
		field[tree]("Tree", `dynamodbav:"tree"`),
		field[mixed]("Mixed", `dynamodbav:"mixed"`),
		field[any]("Any", `dynamodbav:"any,omitempty"`),
		field[attributevalue.UnixTime]("Own", `dynamodbav:"own"`),
	)
	var got []string
	for _, f := range m.lock(t).Entities[0].Facts {
		got = append(got, f.What+" = "+f.Value)
	}
	require.Positive(t, slices.Index(got, "attribute any = any optional"), "%v", got)
	for _, want := range []string{
		"attribute mixed = M always", "attribute mixed.a%2Eb%20c = N int64 always", "attribute mixed.city = S optional",
		"attribute mixed.inner = S optional", "attribute mixed.street = S optional", "attribute own = custom always",
		"attribute tree = M always", "attribute tree.leaves = L optional", "attribute tree.leaves[] = M recursive", "attribute tree.name = S always",
	} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, m.lock(t).String(), "kipped")
	require.NotContains(t, m.lock(t).String(), "hidden")
}

// retyped is a change of one attribute's Go type, and the result of Compare: = nothing, + compatible, ! breaking.
type retyped struct {
	from, to reflect.StructField
	want     string
}

// octets are stored as binary, or as text if a tag says so.
type octets [4]byte

func (o octets) MarshalText() ([]byte, error)     { return []byte(netip.AddrFrom4(o).String()), nil }
func (o *octets) UnmarshalText(text []byte) error { *o = octets(text); return nil }

func attr[V any](tag string) reflect.StructField {
	return field[V]("Under", strings.Replace(tag, "under", `dynamodbav:"under`, 1)+`"`)
}

func TestCompare_FindsItemsThatCouldNotBeRead(t *testing.T) {
	t.Parallel()
	type key8 struct {
		In map[int8][2]uint8 `dynamodbav:"in"`
	}
	type key64 struct {
		In map[int][3]uint8 `dynamodbav:"in"`
	}
	for name, c := range map[string]retyped{
		"narrower":                  {attr[int64]("under"), attr[uint8]("under"), "!under"},
		"sign lost":                 {attr[int64]("under"), attr[uint64]("under"), "!under"},
		"unsigned to same size":     {attr[uint64]("under"), attr[int64]("under"), "!under"},
		"unsigned to next size":     {attr[uint32]("under"), attr[int64]("under"), "+under"},
		"wider":                     {attr[int8]("under"), attr[int16]("under"), "+under"},
		"wider unsigned":            {attr[uint8]("under"), attr[uint16]("under"), "+under"},
		"int is int64":              {attr[int]("under"), attr[int64]("under"), ""},
		"uint is uint64":            {attr[uint]("under"), attr[uint64]("under"), ""},
		"float smaller":             {attr[float64]("under"), attr[float32]("under"), "!under"},
		"float larger":              {attr[float32]("under"), attr[float64]("under"), "+under"},
		"fractions lost":            {attr[float32]("under"), attr[int64]("under"), "!under"},
		"fractions gained":          {attr[int32]("under"), attr[float64]("under"), "+under"},
		"fractions gained inexact":  {attr[uint32]("under"), attr[float32]("under"), "!under"},
		"large whole to float":      {attr[int64]("under"), attr[float64]("under"), "!under"},
		"any number":                {attr[float64]("under"), attr[attributevalue.Number]("under"), "+under"},
		"one of two texts":          {attr[json.Number]("under"), attr[attributevalue.Number]("under"), ""},
		"any number no more":        {attr[attributevalue.Number]("under"), attr[float64]("under"), "!under"},
		"as text":                   {attr[int64]("under,string"), attr[int8]("under,string"), "!under"},
		"as text, wider":            {attr[int8]("under,string"), attr[int]("under,string"), "+under"},
		"text of a number":          {attr[int8]("under,string"), attr[string]("under"), "+under"},
		"number of a text":          {attr[string]("under"), attr[int64]("under,string"), "!under"},
		"text of its own":           {attr[string]("under"), attr[netip.Addr]("under"), "!under"},
		"text of its own no more":   {attr[netip.Addr]("under"), attr[string]("under"), "+under"},
		"binary to text of its own": {attr[octets]("under"), attr[octets](`under" entity:"text`), "!under"},
		"order of its text":         {attr[octets](`under" entity:"text`), attr[octets](`under" entity:"text=ordered`), ""},
		"map to number keys":        {attr[map[string]string]("under"), attr[map[int]string]("under"), "!under"},
		"map from number keys":      {attr[map[int]string]("under"), attr[map[string]string]("under"), "!under"},
		"map to bool keys":          {attr[map[string]string]("under"), attr[map[bool]string]("under"), "!under"},
		"map to keys of their own":  {attr[map[string]string]("under"), attr[map[stamp]string]("under"), "!under"},
		"map to smaller keys":       {attr[map[int]string]("under"), attr[map[int8]string]("under"), "!under"},
		"map to larger keys":        {attr[map[int8]string]("under"), attr[map[int]string]("under"), "+under"},
		"map to struct":             {attr[map[string]string]("under"), attr[struct{}]("under"), "!under !under{}"},
		"map of smaller numbers":    {attr[map[string]int]("under"), attr[map[string]int8]("under"), "!under{}"},
		"set of whole numbers":      {attr[[]float64]("under,numberset"), attr[[]int]("under,numberset"), "!under"},
		"set of smaller numbers":    {attr[[]int64]("under,numberset"), attr[[]*int8]("under,numberset"), "!under"},
		"set of larger numbers":     {attr[[]int8]("under,numberset"), attr[[]int64]("under,numberset"), "+under"},
		"set with a length":         {attr[[]int8]("under,numberset"), attr[[3]int8]("under,numberset"), "!under"},
		"set of bytes with lengths": {attr[[][]byte]("under,binaryset"), attr[[][4]byte]("under,binaryset"), "!under"},
		"set of shorter bytes":      {attr[[][8]byte]("under,binaryset"), attr[[][4]byte]("under,binaryset"), "!under"},
		"set of bytes at length":    {attr[[][4]byte]("under,binaryset"), attr[[][]byte]("under,binaryset"), "+under"},
		"set of other elements":     {attr[[]string]("under,stringset"), attr[[]attributevalue.UnixTime]("under,stringset"), "!under"},
		"list of smaller numbers":   {attr[[]int64]("under"), attr[[]int8]("under"), "!under[]"},
		"list of larger numbers":    {attr[[]int8]("under"), attr[[]int64]("under"), "+under[]"},
		"shorter array":             {attr[[4]int]("under"), attr[[2]int]("under"), "!under"},
		"longer array":              {attr[[2]int]("under"), attr[[4]int]("under"), "+under"},
		"array of a list":           {attr[[]int]("under"), attr[[4]int]("under"), "!under"},
		"list of an array":          {attr[[4]int]("under"), attr[[]int]("under"), "+under"},
		"shorter bytes":             {attr[[4]byte]("under"), attr[[2]byte]("under"), "!under"},
		"longer bytes":              {attr[[2]byte]("under"), attr[[4]byte]("under"), "!under"},
		"bytes of any length":       {attr[[2]byte]("under"), attr[[]byte]("under"), "+under"},
		"bytes of one length":       {attr[[]byte]("under"), attr[[2]byte]("under"), "!under"},
		"deep inside, larger keys":  {attr[[]key8]("under"), attr[[]key64]("under"), "+under[].in !under[].in{}"},
		"deep inside, smaller keys": {attr[[]key64]("under"), attr[[]key8]("under"), "!under[].in !under[].in{}"},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); requireChanges(t, c.from, c.to, c.want) })
	}
}

type stamp time.Time

func (stamp) MarshalText() ([]byte, error) { return nil, nil }
func (*stamp) UnmarshalText([]byte) error  { return nil }

// requireChanges compares a model with field from with one that has to in its place.
func requireChanges(t *testing.T, from, to reflect.StructField, want string) {
	t.Helper()
	before, after := beat(), beat()
	before.fields, after.fields = append(before.fields, from), append(after.fields, to)
	var got []string
	for _, c := range Compare(before.lock(t), after.lock(t)) {
		mark := "+"
		if c.Breaking {
			mark = "!"
		}
		got = append(got, mark+strings.TrimPrefix(c.What, "attribute "))
	}
	require.ElementsMatch(t, strings.Fields(want), got)
}

// edges are the extreme numbers of each range, and for fractions one between.
var edges = map[string][]any{
	"int8": {int8(math.MinInt8), int8(math.MaxInt8)}, "int16": {int16(math.MinInt16), int16(math.MaxInt16)},
	"int32": {int32(math.MinInt32), int32(math.MaxInt32)}, "int64": {int64(math.MinInt64), int64(math.MaxInt64)},
	"uint8": {uint8(math.MaxUint8)}, "uint16": {uint16(math.MaxUint16)}, "uint32": {uint32(math.MaxUint32)}, "uint64": {uint64(math.MaxUint64)},
	"float32": {float32(0.1), float32(math.MaxFloat32)}, "float64": {0.1, 1e120},
	"decimal": {attributevalue.Number("12345678901234567890123456789012345678")},
}

// A range contains another exactly if the codec brings its extreme numbers back.
func TestHolds_IsWhatTheCodecReads(t *testing.T) {
	t.Parallel()
	require.Len(t, edges, len(numbers))
	for old, values := range edges {
		for now := range edges {
			as := reflect.StructOf([]reflect.StructField{{Name: "V", Type: reflect.TypeOf(edges[now][0])}})
			comes := true
			for _, v := range values {
				from := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "V", Type: reflect.TypeOf(v)}})).Elem()
				from.Field(0).Set(reflect.ValueOf(v))
				var codec item.Codec
				first, err := codec.Encode(from)
				require.NoError(t, err)
				read := reflect.New(as)
				if codec.Decode(first, read) != nil {
					comes = false
					continue
				}
				again, err := codec.Encode(read.Elem())
				require.NoError(t, err)
				comes = comes && item.Equal(first["V"], again["V"])
			}
			require.Equal(t, comes, containsRange(now, old), "%s as %s", old, now)
		}
	}
}

// locked returns the lock of entities of one database.
func locked(t *testing.T, text string) Lock {
	t.Helper()
	l, err := Parse([]byte(header(newest) + "\n" + text))
	require.NoError(t, err)
	return l
}

const invoice = `
entity Invoice
  table = (default)
  key partition = pk S $app#v1#invoice#{customer string}
  index gsi1 = global
  index gsi1 partition = gsi1pk S $app#v1#invoice#{month string}
  index gsi1 sort = gsi1sk S $app#v1#invoice#{number int:19}
  index gsi1 projection = keys amount
  index lsi1 = local
  index lsi1 sort = ranked S verbatim {rank int:5}
  index lsi1 projection = all
`

// receipt is another entity of the table, with more facts.
func receipt(table, more string) string {
	return "\nentity Receipt\n  table = " + table + "\n  key partition = pk S $app#v1#receipt#{customer string}\n" + more
}

const (
	global = "  index gsi1 = global\n  index gsi1 partition = gsi1pk S $app#v1#receipt#{day string}\n  index gsi1 sort = gsi1sk S $app#v1#receipt\n"
	local  = "  index lsi1 = local\n  index lsi1 sort = ranked S verbatim {total int:5}\n"
)

// Every change of shards moves items; the reason says who misses what, and what to run.
func TestCompare_ShardsOfAnIndex(t *testing.T) {
	t.Parallel()
	of := func(shards string) Lock {
		if shards != "" {
			shards = "  index gsi1 shards = " + shards + "\n"
		}
		return locked(t, strings.ReplaceAll(invoice, "  index gsi1 sort", shards+"  index gsi1 sort"))
	}
	for _, c := range []struct{ old, now, why string }{
		{"", "4", "declare a second index"}, {"4", "", "declare a second index"}, {"8", "4", "declare a second index"},
		{"4", "8", "until they are replaced; these miss none"}, {"9", "10", "until they are replaced; these miss none"},
	} {
		changes := Compare(of(c.old), of(c.now))
		require.Len(t, changes, 1)
		require.True(t, changes[0].Breaking)
		require.Equal(t, "index gsi1 shards", changes[0].What)
		require.Contains(t, changes[0].Why, c.why)
		require.Contains(t, changes[0].Why, "migrate.Rewrite")
	}
	require.Empty(t, Compare(of("4"), of("4")))
}

func TestCompare_WhatAnEntityAsksOfASharedTable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table, facts string
		breaking     string // what; "" if nothing is
	}{
		"no index":                     {"(default)", "", ""},
		"less of a shared index":       {"(default)", global + "  index gsi1 projection = keys\n", ""},
		"as much of a shared index":    {"(default)", global + "  index gsi1 projection = keys amount\n", ""},
		"more of a shared index":       {"(default)", global + "  index gsi1 projection = keys total\n", "index gsi1 projection"},
		"all of a shared index":        {"(default)", global + "  index gsi1 projection = all\n", "index gsi1 projection"},
		"all of another table's":       {"other", global + "  index gsi1 projection = all\n", ""},
		"a shared local index":         {"(default)", local + "  index lsi1 projection = keys\n", ""},
		"a new global index":           {"(default)", "  index gsi2 = global\n  index gsi2 partition = gsi2pk S $app#v1#receipt#{day string}\n  index gsi2 projection = all\n", ""},
		"a new local index":            {"(default)", "  index lsi2 = local\n  index lsi2 sort = at S verbatim {at time=s}\n  index lsi2 projection = keys\n", "index lsi2"},
		"a local index of a new table": {"other", "  index lsi2 = local\n  index lsi2 sort = at S verbatim {at time=s}\n  index lsi2 projection = keys\n", ""},
		"another kind":                 {"(default)", "  index gsi1 = local\n  index gsi1 sort = gsi1sk S $app#v1#receipt\n  index gsi1 projection = keys\n", "index gsi1"},
		"another partition key":        {"(default)", "  index gsi1 = global\n  index gsi1 partition = day S $app#v1#receipt#{day string}\n  index gsi1 projection = keys\n", "index gsi1 partition"},
		"another type of sort key":     {"(default)", "  index gsi1 = global\n  index gsi1 partition = gsi1pk S $app#v1#receipt\n  index gsi1 sort = native gsi1sk N\n  index gsi1 projection = keys\n", "index gsi1 sort"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			breaking := func(old, now Lock) (what []string) {
				for _, c := range Compare(old, now) {
					require.NotEmpty(t, c.Why)
					if c.Breaking {
						assert.Equal(t, "Receipt", c.Entity)
						what = append(what, c.What)
					}
				}
				return what
			}
			var want []string
			if c.breaking != "" {
				want = []string{c.breaking}
			}
			with := locked(t, invoice+receipt(c.table, c.facts))
			assert.Equal(t, want, breaking(locked(t, invoice), with), "a new entity")
			if c.table == "(default)" {
				assert.Equal(t, want, breaking(locked(t, invoice+receipt(c.table, "")), with), "an entity that is there")
			}
			assert.Empty(t, breaking(with, with))
		})
	}
}
