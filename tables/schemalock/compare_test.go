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
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
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
		"wider":                     {attr[int8]("under"), attr[int16]("under"), "+under"},
		"int is int64":              {attr[int]("under"), attr[int64]("under"), ""},
		"uint is uint64":            {attr[uint]("under"), attr[uint64]("under"), ""},
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

// modelChange changes one part of a model. want has a line for each expected change, with a ! before breaking ones; if empty,
// the lock stays the same.
type modelChange struct {
	of     func() model
	change func(*model)
	want   string
}

// The changes of a model that most mutations are: another tag of a declaration or a field, another type, a declaration or a field more.

func declares(i int, tag string) func(*model) { return func(m *model) { m.declare(i, tag) } }

func tags(field, tag string) func(*model) { return func(m *model) { m.tag(field, tag) } }

func becomes[V any](field, tag string) func(*model) {
	return func(m *model) { retype[V](m, field, tag) }
}

func adds(d reflect.StructField) func(*model) { return func(m *model) { m.decls = append(m.decls, d) } }

func holds(f reflect.StructField) func(*model) {
	return func(m *model) { m.fields = append(m.fields, f) }
}

// mutations changes every part of a declaration that a lock contains, and every part that it leaves out.
var mutations = map[string]modelChange{
	"namespace":        {person, func(m *model) { m.options.Namespace = "other" }, "!key partition\n!key sort\n!unique.Constraint(email) key\n!index gsi1 partition\n!index gsi1 sort"},
	"namespaceVersion": {beat, func(m *model) { m.options.NamespaceVersion = 2 }, "!key partition\n!key sort\n!timeseries.Events events"},
	"pk attribute":     {beat, func(m *model) { m.options.PK = "p" }, "!key partition"},
	"sk attribute":     {beat, func(m *model) { m.options.SK = "s" }, "!key sort"},
	"ttl attribute":    {beat, func(m *model) { m.options.TTL = "t" }, "!ttl"},
	"precision":        {beat, func(m *model) { m.options.Precision = key.Milli }, "!timeseries.Events events\n!attribute at"},
	"interop": {
		func() model {
			m := beat()
			m.options.Precision = key.Milli
			return m
		},
		func(m *model) { m.options.Profile = schema.NewProfile(true) }, "!items\n!key partition\n!timeseries.Events events",
	},
	"native type": {reading, becomes[int]("Hardware", `dynamodbav:"hardware_id"`), "!key partition\n!attribute hardware_id"},
	"name option": {beat, func(m *model) { m.options.Name = "Pulse" }, "+Pulse\n-Beat"},

	"name":               {beat, declares(0, `name:"Pulse" table:"beats" pk:"$#{device}" sk:"$"`), "+Pulse\n-Beat"},
	"table":              {beat, declares(0, `name:"Beat" table:"b" pk:"$#{device}" sk:"$"`), "!table"},
	"partition":          {beat, declares(0, `name:"Beat" table:"beats" pk:"$#d_{device}" sk:"$"`), "!key partition"},
	"sort":               {beat, declares(0, `name:"Beat" table:"beats" pk:"$#{device}" sk:"$#x"`), "!key sort\n!timeseries.Events events"},
	"part order":         {person, declares(0, `name:"Person" pk:"$#{number}" sk:"$#{tenant}"`), "!key partition\n!key sort"},
	"part width":         {person, declares(0, `name:"Person" pk:"$#{tenant}" sk:"$#{number:08}"`), "!key sort"},
	"part lower":         {person, declares(0, `name:"Person" pk:"$#{tenant|lower}" sk:"$#{number}"`), "!key partition"},
	"part unsigned":      {person, becomes[uint64]("Number", `dynamodbav:"number" entity:"zero"`), "!key sort\n!attribute number"},
	"payload up":         {beat, declares(0, `name:"Beat" table:"beats" pk:"$#{device}" sk:"$" payload:"2"`), "payload"},
	"payload down":       {reading, declares(0, `name:"Reading" table:"readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}" kind:"item=reading"`), "!payload"},
	"kind":               {reading, declares(0, `name:"Reading" table:"readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}" kind:"item=other" payload:"2"`), "!kind"},
	"kind dropped":       {reading, declares(0, `name:"Reading" table:"readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}" payload:"2"`), "!kind"},
	"verbatim text":      {reading, declares(0, `name:"Reading" table:"readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}-{batch_id}" kind:"item=reading" payload:"2"`), "!key sort"},
	"verbatim attribute": {reading, declares(0, `name:"Reading" table:"readings" pk:"hardware_id" sk:"other={timestamp_ms:013}#{batch_id}" kind:"item=reading" payload:"2"`), "!key sort"},
	"verbatim to dollar": {reading, declares(0, `name:"Reading" table:"readings" pk:"hardware_id" sk:"$#{timestamp_ms:013}#{batch_id}" payload:"2"`), "!items\n!key sort\n!kind"},
	"stream":             {beat, declares(0, `name:"Beat" table:"beats" pk:"$#{device}" sk:"$" stream:"both"`), ""},

	"index name":             {person, declares(1, `name:"ofTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}"`), "index gsi1 name"},
	"index renamed in table": {person, declares(1, `name:"byTeam" index:"gsi9" pk:"$#{team}" sk:"$#{joined}"`), "index gsi9\nindex gsi1"},
	"index partition":        {person, declares(1, `name:"byTeam" index:"gsi1" pk:"$#{name}" sk:"$#{joined}"`), "!index gsi1 partition"},
	"index sort":             {person, declares(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{rank}"`), "!index gsi1 sort"},
	"index sort dropped":     {person, declares(1, `name:"byTeam" index:"gsi1" pk:"$#{team}"`), "!index gsi1 sort"},
	"index part format":      {person, tags("Joined", `dynamodbav:"joined,omitempty" entity:"time=ms"`), "!index gsi1 sort\n!attribute joined"},
	"native index order":     {reading, declares(1, `name:"byDay" index:"day" pk:"zone+day" sk:"timestamp_ms"`), "!index day partition"},
	"index lean":             {person, declares(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" project:"name"`), "index gsi1 projection"},
	"index shards":           {person, declares(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" shards:"4"`), "!index gsi1 shards"},
	"index leaner":           {person, declares(2, `name:"byEmail" index:"gsi2" pk:"gsi2pk={email|lower}" project:"name,email,tenant"`), "index gsi2 projection"},
	"index richer":           {person, declares(2, `name:"byEmail" index:"gsi2" pk:"gsi2pk={email|lower}" project:"name,team,email,tenant,rank"`), "!index gsi2 projection"},
	"index rich":             {person, declares(2, `name:"byEmail" index:"gsi2" pk:"gsi2pk={email|lower}"`), "!index gsi2 projection"},
	"projection order":       {person, declares(2, `name:"byEmail" index:"gsi2" pk:"gsi2pk={email|lower}" project:"team, email, tenant, name"`), ""},
	"when":                   {person, declares(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" when:"active=true"`), "!index gsi1 when"},
	"when dropped":           {choosy, declares(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}"`), "!index gsi1 when"},
	"when constant":          {choosy, declares(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" when:"rank=2|11,active=true,!score_"`), "!index gsi1 when"},
	"when present":           {choosy, declares(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" when:"rank=2|10,active=true,score_"`), "!index gsi1 when"},
	"when order":             {choosy, declares(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" when:"!score_, active=true,rank=10|2"`), ""},
	"when type":              {choosy, becomes[int8]("Rank", `dynamodbav:"rank"`), "!attribute rank\n!index lsi1 sort"},
	"index dropped":          {person, func(m *model) { m.decls = append(m.decls[:1:1], m.decls[2:]...) }, "index gsi1"},
	"local index dropped":    {person, func(m *model) { m.decls = append(m.decls[:3:3], m.decls[4:]...) }, "index lsi1"},
	"local index made":       {person, declares(3, `name:"byRank" index:"lsi2" sk:"ranked={rank:05}"`), "!index lsi2\nindex lsi1"},

	"orderBy":        {beat, func(m *model) { m.tag("At", `dynamodbav:"time"`); m.declare(1, `orderBy:"time" ttl:"7d"`) }, "!timeseries.Events events\n!timeseries.Events orderBy\nattribute time\n!attribute at"},
	"orderBy format": {beat, tags("At", `dynamodbav:"at" entity:"time=ms"`), "!timeseries.Events events\n!attribute at"},
	"orderBy type":   {beat, becomes[int64]("At", `dynamodbav:"at"`), "!timeseries.Events events\n!attribute at"},
	"events ttl":     {beat, declares(1, `orderBy:"at" ttl:"8d"`), "timeseries.Events ttl"},
	"events no ttl":  {beat, declares(1, `orderBy:"at"`), "timeseries.Events ttl\nttl"},
	"late":           {beat, declares(1, `orderBy:"at" ttl:"7d" late:"record" maxAhead:"1h"`), ""},
	"events id":      {beat, func(m *model) { m.tag("Owner", `dynamodbav:"owner"`); m.declare(1, `orderBy:"at" id:"owner" ttl:"7d"`) }, "!timeseries.Events events\n!timeseries.Events id\nattribute owner"},
	"events shards":  {beat, declares(1, `orderBy:"at" ttl:"7d" shards:"8"`), "!timeseries.Events shards"},
	"events reshard": {shardedBeat, declares(1, `orderBy:"at" shards:"9"`), "!timeseries.Events shards"},
	"events joined":  {shardedBeat, declares(1, `orderBy:"at"`), "!timeseries.Events shards"},
	"events alone":   {shardedBeat, declares(1, `orderBy:"at" shards:"8" current:"none"`), "!timeseries.Events current"},
	"events dropped": {beat, func(m *model) { m.decls = m.decls[:1]; m.tag("Level", `dynamodbav:"level,omitempty"`) }, "!timeseries.Events\nttl\n!attribute level"},
	"append dropped": {beat, func(m *model) {
		m.tag("Level", `dynamodbav:"level,omitempty"`)
		m.tag("Owner", `dynamodbav:"owner" entity:"append"`)
	}, "!attribute level\nattribute owner"},
	"retention":      {person, declares(4, `ttl:"1h"`), "versioned.Retain ttl"},
	"retain to lock": {person, func(m *model) { m.decls[4] = declaration[versioned.Lock](``) }, "versioned.Lock\n!versioned.Retain\n!index gsi2 projection"},
	"bin ttl":        {person, declares(5, `unique:"free"`), "lifecycle.SoftDelete ttl"},
	"policy":         {person, declares(5, `ttl:"30d" unique:"reserve"`), "lifecycle.SoftDelete unique"},
	"deletedAt":      {person, holds(field[time.Time]("Deleted", `dynamodbav:"gone,omitempty" entity:"deleted_at"`)), "!lifecycle.SoftDelete deletedAt\nattribute gone"},
	"bin dropped":    {person, func(m *model) { m.decls = append(m.decls[:5:5], m.decls[6]) }, "!lifecycle.SoftDelete"},
	"unique case":    {person, declares(6, `name:"email" fields:"tenant,{email|lower}"`), "!unique.Constraint(email) key"},
	"unique fields":  {person, declares(6, `name:"email" fields:"email"`), "!unique.Constraint(email) key"},
	"unique name":    {person, declares(6, `name:"mail" fields:"tenant,email"`), "unique.Constraint(mail)\n!unique.Constraint(email)"},
	"unique ttl":     {person, declares(6, `name:"email" fields:"tenant,email" ttl:"1h"`), "unique.Constraint(email) ttl"},
	"unique dropped": {person, func(m *model) { m.decls = m.decls[:6]; m.declare(5, `ttl:"30d"`) }, "!unique.Constraint(email)"},
	"unique added":   {person, adds(declaration[unique.Constraint](`name:"name" fields:"name"`)), "unique.Constraint(name)"},
	"expiry":         {reading, declares(2, `attr:"expiration_time" after:"30d"`), "lifecycle.TTL after\nlifecycle.TTL from"},
	"expiry attr":    {reading, declares(2, `attr:"ends" from:"timestamp_ms" after:"90d"`), "!ttl\n!lifecycle.TTL attr"},
	"expiry dropped": {reading, func(m *model) { m.decls = m.decls[:2] }, "!lifecycle.TTL\nttl"},
	"series declared": {func() model { m := beat(); m.decls = m.decls[:1]; m.tag("Level", `dynamodbav:"level"`); return m }, func(m *model) {
		m.decls = append(m.decls, declaration[timeseries.Events](`orderBy:"at"`))
		m.tag("Level", `dynamodbav:"level" entity:"append"`)
	}, "!timeseries.Events\nattribute level"},
	"expiry declared":                         {func() model { m := reading(); m.decls = m.decls[:2]; return m }, adds(declaration[lifecycle.TTL](`attr:"expiration_time" after:"1d"`)), "lifecycle.TTL\nttl"},
	"expiry declared for values and versions": {lasting, adds(declaration[lifecycle.TTL](`attr:"_ttl" after:"1d"`)), "lifecycle.TTL\nunique.Constraint(email) expires\nversioned.Retain expires"},
	"expiry dropped for values and versions": {func() model {
		m := lasting()
		m.decls = append(m.decls, declaration[lifecycle.TTL](`attr:"_ttl" after:"1d"`))
		return m
	}, func(m *model) { m.decls = m.decls[:6] }, "!lifecycle.TTL\n!unique.Constraint(email) expires\n!versioned.Retain expires"},
	"retain declared": {func() model { m := person(); m.decls = m.decls[:4]; return m }, func(m *model) {
		m.decls = append(m.decls, declaration[versioned.Retain](``), declaration[lifecycle.SoftDelete](``))
	}, "versioned.Retain\nlifecycle.SoftDelete"},

	"attribute":          {person, tags("Score", `dynamodbav:"points"`), "attribute points\n!attribute score"},
	"attribute dropped":  {person, func(m *model) { m.drop("Score") }, "!attribute score"},
	"attribute added":    {person, holds(field[string]("Note", `dynamodbav:"note,omitempty"`)), "attribute note"},
	"zero added":         {person, holds(field[string]("Note", `dynamodbav:"note"`)), "attribute note"},
	"required added":     {person, holds(field[string]("Note", `dynamodbav:"note" entity:"required"`)), "!attribute note"},
	"required":           {person, tags("Team", `dynamodbav:"team" entity:"required"`), "!attribute team"},
	"required no more":   {person, tags("Name", `dynamodbav:"name"`), "attribute name"},
	"omitempty":          {person, tags("Team", `dynamodbav:"team"`), "attribute team"},
	"pointer":            {person, becomes[*string]("Team", `dynamodbav:"team,omitempty"`), ""},
	"type":               {person, becomes[string]("Score", `dynamodbav:"score"`), "!attribute score"},
	"number as text":     {person, tags("Score", `dynamodbav:"score,string"`), "!attribute score"},
	"fractions":          {person, becomes[int]("Score", `dynamodbav:"score"`), "!attribute score"},
	"no fractions":       {beat, becomes[*float64]("Level", `dynamodbav:"level,omitempty" entity:"append"`), "!attribute level"},
	"integer size":       {beat, becomes[*int64]("Level", `dynamodbav:"level,omitempty" entity:"append"`), ""},
	"set to list":        {person, tags("Tags", `dynamodbav:"tags,omitempty"`), "!attribute tags"},
	"time format":        {person, tags("Created", `dynamodbav:"created" entity:"created_at,time=us"`), "!attribute created"},
	"time as number":     {person, tags("Created", `dynamodbav:"created" entity:"created_at,time=unix"`), "!attribute created"},
	"number of time":     {reading, tags("Expires", `dynamodbav:"expiration_time,omitempty" entity:"time=unix"`), "!attribute expiration_time"},
	"what is counted":    {reading, tags("Timestamp", `dynamodbav:"timestamp_ms" entity:"time=unix"`), "!index day sort\n!attribute timestamp_ms"},
	"default":            {person, tags("Team", `dynamodbav:"team,omitempty" entity:"default=core"`), ""},
	"generated id":       {person, tags("Email", `dynamodbav:"email,omitempty" entity:"secret,id=ulid"`), ""},
	"context added":      {writer, tags("Name", `dynamodbav:"name" entity:"required,context=actor"`), "attribute name"},
	"context renamed":    {witness, tags("Name", `dynamodbav:"name" entity:"required,context=user"`), "attribute name"},
	"context dropped":    {witness, tags("Name", `dynamodbav:"name" entity:"required"`), "!attribute name"},
	"created_at dropped": {person, tags("Created", `dynamodbav:"created"`), "!attribute created"},
	"created_at moved":   {person, tags("Created", `dynamodbav:"born" entity:"created_at"`), "attribute born\n!attribute created"},
	"created_at added":   {beat, holds(field[time.Time]("Created", `dynamodbav:"created" entity:"created_at"`)), "attribute created"},
	"immutable dropped":  {person, tags("Tenant", `dynamodbav:"tenant"`), "attribute tenant"},
	"set_once":           {person, tags("Team", `dynamodbav:"team,omitempty" entity:"set_once"`), "attribute team"},
	"zero dropped":       {person, tags("Number", `dynamodbav:"number"`), "!attribute number"},
	"secret":             {person, tags("Email", `dynamodbav:"email,omitempty"`), "attribute email"},
	"elements":           {person, tags("Places", `dynamodbav:"places,omitempty,omitemptyelem"`), "attribute places"},
	"nested": {person, becomes[[]struct {
		Street string `dynamodbav:"street"`
		Town   string `dynamodbav:"town,omitempty"`
	}]("Places", `dynamodbav:"places,omitempty"`), "attribute places[].town\n!attribute places[].city"},
	"nested type": {person, becomes[[]struct {
		Street int    `dynamodbav:"street"`
		City   string `dynamodbav:"city,omitempty"`
	}]("Places", `dynamodbav:"places,omitempty"`), "!attribute places[].street"},
	"nested Go names": {person, becomes[[]*struct {
		Town string `dynamodbav:"city,omitempty"`
		Line string `dynamodbav:"street"`
	}]("Places", `dynamodbav:"places,omitempty"`), ""},
	"nested dropped":    {person, func(m *model) { m.drop("Places") }, "!attribute places"},
	"nested time":       {person, func(m *model) { retype[map[string]string](m, "Seen", `dynamodbav:"seen,omitempty"`) }, "!attribute seen{}"},
	"Go name":           {person, func(m *model) { m.fields[2].Name = "Squad" }, ""},
	"Go order":          {person, func(m *model) { m.fields[0], m.fields[9] = m.fields[9], m.fields[0] }, ""},
	"declaration order": {person, func(m *model) { m.decls[1], m.decls[6] = m.decls[6], m.decls[1] }, ""},
}

func TestCompare_ClassifiesEveryPartOfADeclaration(t *testing.T) {
	t.Parallel()
	for name, m := range mutations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := m.of(), m.of()
			m.change(&after)
			old, now := before.lock(t), after.lock(t)
			if m.want == "" {
				require.Equal(t, old.String(), now.String())
			} else {
				require.NotEqual(t, old.String(), now.String())
			}
			var got []string
			changes := Compare(old, now)
			for _, c := range changes {
				require.NotEmpty(t, c.Why, c.What)
				require.NotEqual(t, c.Old, c.New)
				mark := ""
				if c.Breaking {
					mark = "!"
				}
				switch {
				case c.What != "":
					got = append(got, mark+c.What)
				case c.New != "":
					require.False(t, c.Breaking)
					got = append(got, "+"+c.Entity)
				default:
					require.True(t, c.Breaking)
					got = append(got, "-"+c.Entity)
				}
			}
			var want []string
			for line := range strings.SplitSeq(m.want, "\n") {
				if line != "" {
					want = append(want, line)
				}
			}
			require.ElementsMatch(t, want, got, "%v", changes)
		})
	}
}

// The order of clauses and constants in the tag does not matter; attributes are written as elsewhere, constants as they are stored.
func TestLock_WritesAConditionInOneForm(t *testing.T) {
	t.Parallel()
	require.Contains(t, choosy().lock(t).String(), "  index gsi1 when = !score_,active=true,rank=10|2\n")
	m := choosy()
	m.declare(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" when:"joined=2026-01-02T15:04:05Z,score%=a b|c"`)
	m.tag("Scored", `dynamodbav:"score%,omitempty"`)
	require.Contains(t, m.lock(t).String(), `  index gsi1 when = joined="2026-01-02T15:04:05Z",score%2525="a b"|"c"`+"\n")
}
