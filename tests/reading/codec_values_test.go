package reading_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/tests/wiretest"
)

// anything has values of any type, where the library decodes them and where attributevalue does.
type anything struct {
	One   any            `dynamodbav:"one"`
	Named map[string]any `dynamodbav:"named"`
	Many  []any          `dynamodbav:"many"`
	Deep  struct {
		In *any2 `dynamodbav:"in"`
	} `dynamodbav:"deep"`
	Array   [1]any         `dynamodbav:"array"`
	Numbers map[int]any    `dynamodbav:"numbers"`
	Nested  map[int][]any2 `dynamodbav:"nested"`
}

// bag is an entity with them.
type bag struct {
	_  entity.Key `name:"Bag" pk:"pk={id}"`
	ID string     `dynamodbav:"id"`
	anything
}

type any2 struct {
	V any `dynamodbav:"v"`
}

func codecs() map[string]func(*entity.Config) {
	return map[string]func(*entity.Config){
		"own": func(*entity.Config) {}, "sdk": func(c *entity.Config) { c.Codec = entity.SDKCodec },
	}
}

// everyType are values of each type of DynamoDB, with numbers that no float64 is.
func everyType() []types.AttributeValue {
	n, s := dbtest.N, dbtest.S
	all := []types.AttributeValue{
		s(""), s("ä\x00"), &types.AttributeValueMemberB{Value: []byte{0, 255}}, &types.AttributeValueMemberBOOL{Value: true}, &types.AttributeValueMemberNULL{Value: true},
		&types.AttributeValueMemberSS{Value: []string{"", "a"}}, &types.AttributeValueMemberNS{Value: []string{"1", "9007199254740993", "0.1"}},
		&types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 3}}}, &types.AttributeValueMemberL{Value: []types.AttributeValue{}}, &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}},
	}
	for _, text := range []string{"0", "3", "-3", "0.1", "1.5", "123456789012345", "9007199254740992", "9007199254740993", "12345678901234567890123456789012345678", "0.12345678901234567890123456789", "-0.3333333333333333333333333",
		"1000000000000000000000", "100000000000000000000000000000000000001", "0.000000000000000000000000000001"} {
		if _, err := item.ParseDecimal(text); err == nil {
			all = append(all, n(text))
		}
	}
	return append(all, &types.AttributeValueMemberL{Value: append([]types.AttributeValue{}, all...)},
		&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"l": &types.AttributeValueMemberL{Value: all}, "s": all[5], "n": n("9007199254740993")}})
}

func TestAny_TypesOfNumbersAndSets(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[bag](t)
	b.PutItem(dbtest.Item{"pk": dbtest.S("x"), "id": dbtest.S("x"), "many": &types.AttributeValueMemberL{Value: everyType()[5:8]}, "one": &types.AttributeValueMemberL{Value: []types.AttributeValue{
		dbtest.N("3"), dbtest.N("0.1"), dbtest.N("9007199254740992"), dbtest.N("9007199254740993"), dbtest.N("123456789.0123456789"),
	}}})
	read := entity.Must(store.Get(t.Context(), bag{ID: "x"}))
	require.Equal(t, []any{3.0, 0.1, float64(1 << 53), attributevalue.Number("9007199254740993"), attributevalue.Number("123456789.0123456789")}, read.One)
	require.IsType(t, entity.StringSet{}, read.Many[0])
	require.ElementsMatch(t, []attributevalue.Number{"1", "9007199254740993", "0.1"}, read.Many[1].(entity.NumberSet))
	require.IsType(t, [][]byte{}, read.Many[2])
	empty := entity.Must(entitytype.NumberSet{}.MarshalDynamoDBAttributeValue())
	require.Equal(t, &types.AttributeValueMemberNULL{Value: true}, empty)
}

// What is read into any is written as it was: every digit, and sets as sets.
func TestAny_RandomValuesAreEncodedAsTheyWereRead(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 0))
	values := everyType()
	for range testsize.Pick(2_000, 15_000) {
		values = append(values, wiretest.Value(r, 3))
	}
	var c item.Codec
	compiled := c
	compiled.Compile(reflect.TypeFor[anything]())
	kept := 0
	entry := func(name string, v types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{name: v}}
	}
	list := func(v types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{v}}
	}
	for _, v := range values {
		if item.CheckStorable(item.Item{"v": v}) != nil || !storable(v) {
			continue
		}
		was := item.Item{
			"one": v, "named": entry("a", v), "many": list(v), "array": list(v), "deep": entry("in", entry("v", v)), "numbers": entry("7", v), "nested": entry("7", list(entry("v", v))),
		}
		for _, c := range []*item.Codec{&c, &compiled} {
			var got anything
			require.NoError(t, decode(c, was, &got))
			for _, same := range []any{got.Named["a"], got.Many[0], got.Deep.In.V, got.Array[0], got.Numbers[7], got.Nested[7][0].V} {
				require.Equal(t, got.One, same, "one type wherever it stands")
			}
			back := entity.Must(encode(c, got))
			kept++
			for name := range was {
				require.True(t, item.Equal(was[name], back[name]), "%s: %#v is %#v", name, was[name], back[name])
			}
		}
	}
	require.Greater(t, kept, 1_000)
}

// storable reports whether v has neither an empty set nor an empty name.
func storable(v types.AttributeValue) bool {
	switch v := v.(type) {
	case *types.AttributeValueMemberSS:
		return len(v.Value) > 0
	case *types.AttributeValueMemberNS:
		return len(v.Value) > 0
	case *types.AttributeValueMemberBS:
		return len(v.Value) > 0
	case *types.AttributeValueMemberL:
		return !slices.ContainsFunc(v.Value, func(e types.AttributeValue) bool { return !storable(e) })
	case *types.AttributeValueMemberM:
		for name, e := range v.Value {
			if name == "" || !storable(e) {
				return false
			}
		}
	}
	return true
}

func encode(c *item.Codec, v any) (item.Item, error) { return c.Encode(reflect.ValueOf(v)) }

func decode(c *item.Codec, it item.Item, into any) error { return c.Decode(it, reflect.ValueOf(into)) }

// A method that returns no value would leave its type to be stored as its fields. It is refused before any request.
type (
	mute      struct{ Content string }
	muteByPtr struct{ Content string }
	muteText  string
	lateText  string
	spoken    struct {
		_      entity.Key       `name:"Spoken" pk:"$#{id}"`
		ID     string           `dynamodbav:"id"`
		A      mute             `dynamodbav:"a"`
		B      *muteByPtr       `dynamodbav:"b,omitempty"`
		C      []mute           `dynamodbav:"c,omitempty"`
		D      map[string]*mute `dynamodbav:"d,omitempty"`
		E      any              `dynamodbav:"e,omitempty"`
		F      muteText         `dynamodbav:"f,omitempty"`
		G      struct{ M mute } `dynamodbav:"g"`
		H      lateText         `dynamodbav:"h"`
		Closed shut             `dynamodbav:"closed" entity:"text"`
	}
	shut string
)

func said(content string) (types.AttributeValue, error) {
	if content == "" {
		return nil, nil
	}
	if content == "null" {
		return &types.AttributeValueMemberNULL{Value: true}, nil
	}
	return dbtest.S("said " + content), nil
}

func (m mute) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) { return said(m.Content) }
func (m *muteByPtr) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return said(m.Content)
}
func (m muteText) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return said(string(m[1:]))
}
func (m lateText) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return said(string(m))
}
func (m *mute) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error { return nil }
func (s shut) MarshalText() ([]byte, error) {
	if s == "nil" {
		return nil, nil
	}
	return append([]byte("s"), s...), nil
}

func (s *shut) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("no text")
	}
	*s = shut(text[1:])
	return nil
}

func TestMarshaler_ThatReturnsNoValueIsRefused(t *testing.T) {
	t.Parallel()
	for name, config := range codecs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, store := dbtest.OpenStore[spoken](t, config)
			fine := spoken{ID: "x", A: mute{"a"}, H: "h"}
			fine.G.M = mute{"g"}
			sent := len(b.Sent())
			for what, change := range map[string]func(*spoken){
				"a value":            func(v *spoken) { v.A = mute{} },
				"a pointer":          func(v *spoken) { v.B = &muteByPtr{} },
				"an element":         func(v *spoken) { v.C = []mute{{"c"}, {}} },
				"an entry":           func(v *spoken) { v.D = map[string]*mute{"d": {}} },
				"inside an any":      func(v *spoken) { v.E = []any{mute{}} },
				"a pointer in any":   func(v *spoken) { v.E = &muteByPtr{} },
				"a text":             func(v *spoken) { v.F = "-" },
				"a zero text":        func(v *spoken) { v.H = "" },
				"a field":            func(v *spoken) { v.G.M = mute{} },
				"text, not readable": func(v *spoken) { v.Closed = "nil" },
			} {
				v := fine
				change(&v)
				_, err := store.Put(t.Context(), v)
				require.Equal(t, "EDD-9102", dbtest.InputCode(err), "%s: %v", what, err)
			}
			_, err := store.Update(t.Context(), fine, entity.Set(&entity.Fields[spoken]().A, mute{}))
			require.Equal(t, "EDD-9102", dbtest.InputCode(err))
			require.Len(t, b.Sent(), sent, "no request")
			fine.B, fine.C, fine.D = &muteByPtr{"null"}, []mute{{"null"}}, map[string]*mute{"d": nil}
			b.OK(store.Put(t.Context(), fine))
			it := b.Items()[0]
			require.NotContains(t, it, "b", "NULL under omitempty is absent")
			require.NotContains(t, it, "f", "an empty value under omitempty is not asked")
			require.Equal(t, dbtest.S("said a"), it["a"])
		})
	}
}

// once counts how often it is asked.
type once struct{ asked *int }

func (o once) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	*o.asked++
	return dbtest.S("x"), nil
}

func TestMarshaler_OfAFieldIsAskedOnce(t *testing.T) {
	t.Parallel()
	n := 0
	require.NoError(t, dbtest.ErrorOf(encode(&item.Codec{}, struct{ A once }{once{&n}})))
	require.Equal(t, 1, n)
}

func TestCollect_OfNothingIsAnEmptyList(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[bag](t)
	ctx := context.Background()
	asJSON := func(v any, err error) {
		t.Helper()
		require.NoError(t, err)
		text, err := json.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, "[]", string(text))
	}
	asJSON(store.Query(bag{ID: "none"}).Collect(ctx))
	asJSON(store.Scan().Collect(ctx))
	asJSON(store.GetMany(ctx, nil))
	type part struct {
		One any `dynamodbav:"one"`
	}
	asJSON(entity.Project[part](store.Query(bag{ID: "none"})).Collect(ctx))
	all := []bag{{ID: "before"}}
	require.NoError(t, b.DB.GetCollection(ctx, store.Query(bag{ID: "none"}).Into(&all)))
	asJSON(all, nil)
	page, err := store.Query(bag{ID: "none"}).Page(ctx, "")
	asJSON(page.Items, err)
}

// Parcel has a field of each kind whose values can be small and kept.
type Parcel struct {
	_ entity.Key `name:"Parcel" pk:"$#{Depot}" sk:"$#{ID}"`

	Depot, ID string
	List      []string
	Set       []string `dynamodbav:"Set,stringset"`
	Text      *string
	Map       map[string]string
	Bytes     []byte
	Number    *int
	Time      *time.Time
	Texts     []*string
	Inner     *struct {
		A string
		B []string
	}
	Any any

	Fill     []string
	FillText *string
	FillMap  map[string]string
}

// parcelsJSON is an answer whose items have small values, and others of n bytes. The tags are of the list.
func parcelsJSON(items, n int, tags ...string) string {
	texts := make([]string, len(tags))
	for i, tag := range tags {
		texts[i] = `{"S":"` + tag + `"}`
	}
	var all []string
	for i := range items {
		fill := func(k int) string { return `{"S":"` + strings.Repeat(fmt.Sprintf("%02d%d", i, k), n/3) + `"}` }
		all = append(all, fmt.Sprintf(`{"pk":{"S":"$app#v1#parcel#north"},"sk":{"S":"$app#v1#parcel#%d"},"Depot":{"S":"north"},"ID":{"S":"p-%03[1]d"},"List":{"L":[%[2]s]},"FillText":%[3]s,`+
			`"Set":{"SS":["s-%03[1]d"]},"Fill":{"L":[%[4]s,%[5]s]},"Text":{"S":"t-%03[1]d"},"Map":{"M":{"m-%03[1]d":{"S":"v-%03[1]d"}}},"Bytes":{"B":"aGVsbG8="},"Number":{"N":"%[1]d"},`+
			`"Time":{"S":"2026-04-22T11:59:30.000000000Z"},"Texts":{"L":[{"S":"u-%03[1]d"}]},"Inner":{"M":{"A":{"S":"a-%03[1]d"},"B":{"L":[{"S":"b-%03[1]d"}]}}},"Any":{"M":{"x":{"S":"x-%03[1]d"}}},`+
			`"FillMap":{"M":{"k":%[6]s}}}`, i, strings.Join(texts, ","), fill(1), fill(2), fill(3), fill(4)))
	}
	return `{"Items":[` + strings.Join(all, ",") + fmt.Sprintf(`],"Count":%d}`, items)
}

func parcels(t *testing.T, codec entity.Codec, body string) []Parcel {
	return entity.Must(collect[Parcel](t.Context(), codec, Parcel{Depot: "north"}, func() io.Reader { return strings.NewReader(body) }))
}

// inUse returns the bytes in use after a collection of garbage, also of that in pools.
func inUse() int {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A small value that is kept holds little of what came with it, or before it.
func TestCodec_KeptValuesHoldFewOthers(t *testing.T) { // not parallel: it measures memory
	const most, own, answers = 4 << 10, 512, 64 // many answers, since the rest of the process uses memory too
	items, sizes := testsize.Pick(8, 24), []int{60, 900, 8_000}
	if !testsize.Long() {
		sizes = sizes[1:2]
	}
	picks := map[string]func(*Parcel) any{
		"list":    func(p *Parcel) any { return p.List },
		"set":     func(p *Parcel) any { return p.Set },
		"*string": func(p *Parcel) any { return p.Text },
		"string":  func(p *Parcel) any { return p.ID },
		"map":     func(p *Parcel) any { return p.Map },
		"bytes":   func(p *Parcel) any { return p.Bytes },
		"*int":    func(p *Parcel) any { return p.Number },
		"time":    func(p *Parcel) any { return p.Time },
		"texts":   func(p *Parcel) any { return p.Texts },
		"struct":  func(p *Parcel) any { return p.Inner },
		"any":     func(p *Parcel) any { return p.Any },
	}
	tags := []string{"tag-1", "tag-2", "tag-3", "tag-4", "tag-5", "tag-6", "tag-7", "tag-8"}
	for _, codec := range []entity.Codec{entity.OwnCodec, entity.SDKCodec} {
		for _, n := range sizes {
			body := parcelsJSON(items, n, "small")
			parcels(t, codec, body) // what is made once
			for name, pick := range picks {
				kept, before := make([]any, answers), inUse()
				for i := range kept {
					kept[i] = pick(&parcels(t, codec, body)[items/2])
				}
				each := (inUse() - before) / answers
				runtime.KeepAlive(kept)
				t.Logf("codec %v, %5d bytes: %-8s holds %d bytes", codec, n, name, each)
				assert.LessOrEqual(t, each, most+own, "codec %v, %d bytes, %s", codec, n, name)
			}
		}
		kept := make([]any, answers) // lists whose texts came one by one in earlier answers
		before := inUse()
		for i := range kept {
			earlier := make([]string, len(tags))
			for k, tag := range tags {
				earlier[k] = fmt.Sprintf("%s-%d", tag, i)
				parcels(t, codec, parcelsJSON(4, 900, earlier[k]))
			}
			kept[i] = parcels(t, codec, parcelsJSON(4, 900, earlier...))[2].List
		}
		each := (inUse() - before) / answers
		runtime.KeepAlive(kept)
		t.Logf("codec %v: a list of texts of earlier answers holds %d bytes", codec, each)
		assert.LessOrEqual(t, each, most+own, "codec %v, earlier answers", codec)
	}
}

// slowBody is a body whose Read has returned while its content is still being written into the buffer, as behind the SDK's
// AddResponseReadTimeoutMiddleware.
type slowBody struct {
	buffers *[][]byte
	end     func() (int, error)
}

func (b slowBody) Read(p []byte) (int, error) {
	*b.buffers = append(*b.buffers, p)
	return b.end()
}

// lateWriter is a body that is complete. Before it ends, the slow bodies write what they had.
type lateWriter struct {
	io.Reader
	buffers *[][]byte
	late    string
}

func (b lateWriter) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		for _, p := range *b.buffers {
			copy(p, b.late)
		}
	}
	return n, err
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// collect queries a client whose answers have these bodies. A panic is an error.
func collect[T any](ctx context.Context, codec entity.Codec, of T, body func() io.Reader) (all []T, err error) {
	client := dynamodb.New(dynamodb.Options{Region: "eu-west-1", Credentials: aws.AnonymousCredentials{}, HTTPClient: doer(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body()), ContentLength: -1}, nil
	})})
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	db := entity.Must(entity.Open(client, entity.Config{Table: "app", Codec: codec, MaxAttempts: 1}))
	return entity.Must(entity.New[T](db)).Query(of).Collect(ctx)
}

type timedOut struct{}

func (timedOut) Error() string { return "read on body reach timeout limit" }
func (timedOut) Timeout() bool { return true }

// A buffer that a failed read may still write into serves no other answer, of another client or tenant.
func TestCodec_AnswersHaveNoBytesOfOthers(t *testing.T) { // not parallel: other tests would take the buffers
	const rounds = 50
	own, others := shipmentsJSON(3), strings.ReplaceAll(shipmentsJSON(3), "p-000", "x-999")
	for _, codec := range []entity.Codec{entity.OwnCodec, entity.SDKCodec} {
		for name, end := range map[string]func(context.CancelFunc) (int, error){
			"error":        func(context.CancelFunc) (int, error) { return 0, timedOut{} },
			"cancellation": func(cancel context.CancelFunc) (int, error) { cancel(); return 0, context.Canceled },
			"panic":        func(context.CancelFunc) (int, error) { panic("a body of the program") },
		} {
			changed := 0
			for range rounds {
				var buffers [][]byte
				ctx, cancel := context.WithCancel(t.Context())
				_, err := collect(ctx, codec, Shipment{Depot: "north"}, func() io.Reader {
					return slowBody{&buffers, func() (int, error) { return end(cancel) }}
				})
				cancel()
				require.Error(t, err)
				require.NotEmpty(t, buffers)
				all, err := collect(t.Context(), codec, Shipment{Depot: "north"}, func() io.Reader {
					return lateWriter{strings.NewReader(own), &buffers, others}
				})
				if err != nil || len(all) != 3 || all[0].ID != "p-0000" {
					changed++
				}
			}
			assert.Zero(t, changed, "codec %v, %s: of %d answers", codec, name, rounds)
		}
	}
}

// Explosive panics when it is decoded, if it says so.
type Explosive string

func (e *Explosive) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	*e = Explosive(av.(*types.AttributeValueMemberS).Value)
	if *e == "now" {
		panic("exploded")
	}
	return nil
}

// What ends the use of an answer early, a break, a panic or a context, does not damage the values of other answers.
func TestCodec_AnswersThatAreLeftEarly(t *testing.T) {
	t.Parallel()
	type Crate struct {
		_ entity.Key `name:"Crate" pk:"$#{Depot}" sk:"$#{ID}"`

		Depot, ID string
		Fuse      Explosive
		Notes     []string
	}
	crates := func(fuse string) string {
		var b strings.Builder
		for i := range 20 {
			fmt.Fprintf(&b, `,{"Depot":{"S":"north"},"ID":{"S":"c-%d"},"Fuse":{"S":"%s"},"Notes":{"L":[{"S":"%d"},{"S":"fragile"}]}}`, i, fuse, i)
			if i == 10 && fuse == "later" {
				fuse = "now"
			}
		}
		return `{"Items":[` + b.String()[1:] + `],"Count":20}`
	}
	query := func(fuse string) entity.Query[Crate] {
		db := entity.Must(entity.Open(cannedClient(&answers{bodies: map[string]string{"Query": crates(fuse)}}), entity.Config{Table: "app"}))
		s := entity.Must(entity.New[Crate](db))
		return s.Query(Crate{Depot: "north"})
	}
	whole, explosive := query("never"), query("later")
	var kept [][]Crate
	for range 50 {
		all := entity.Must(whole.Collect(t.Context()))
		kept = append(kept, all)
		var some []Crate
		for crate, err := range whole.All(t.Context()) {
			require.NoError(t, err)
			if some = append(some, crate); len(some) == 7 {
				break
			}
		}
		kept = append(kept, some)
		assert.PanicsWithValue(t, "exploded", func() { _, _ = explosive.Collect(t.Context()) })
		assert.PanicsWithValue(t, "exploded", func() {
			for range explosive.All(t.Context()) {
			}
		})
		assert.PanicsWithValue(t, "exploded", func() { _, _ = explosive.Page(t.Context(), "") })
		ctx, cancel := context.WithCancel(t.Context())
		for range whole.All(ctx) {
			cancel()
		}
		cancel()
	}
	for _, crates := range kept {
		for i, c := range crates {
			require.Equal(t, Crate{Depot: "north", ID: fmt.Sprintf("c-%d", i), Fuse: "never", Notes: []string{fmt.Sprint(i), "fragile"}}, c)
		}
	}
}
