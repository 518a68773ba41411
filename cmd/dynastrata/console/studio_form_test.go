package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
)

// Money says itself what is stored of it: a number of cents.
type Money struct{ Cents int64 }

func (m Money) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(m.Cents)}, nil
}

func (m *Money) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return fmt.Errorf("an amount is a number of cents")
	}
	return json.Unmarshal([]byte(n.Value), &m.Cents)
}

type sheetPlace struct {
	Street string                `dynamodbav:"street"`
	Notes  []string              `dynamodbav:"notes,omitempty"`
	Since  time.Time             `dynamodbav:"since,omitempty"`
	Floor  *int8                 `dynamodbav:"floor,omitempty"`
	Labels []string              `dynamodbav:"labels,stringset,omitempty"`
	Price  Money                 `dynamodbav:"price"`
	Codes  map[int]float32       `dynamodbav:"codes,omitempty"`
	Photo  []byte                `dynamodbav:"photo,omitempty"`
	Open   bool                  `dynamodbav:"open"`
	Pair   [2]uint8              `dynamodbav:"pair,omitempty"`
	More   map[string]sheetPlace `dynamodbav:"more,omitempty"`
	Ends   time.Time             `dynamodbav:"ends,unixtime,omitempty"`
	Number int                   `dynamodbav:"number,string"`
}

// FormSheet has an attribute of every kind that is no scalar.
type FormSheet struct {
	_ entity.Key `name:"Form" pk:"$#{id}" sk:"$"`

	ID      string              `dynamodbav:"id"`
	Address sheetPlace          `dynamodbav:"address"`
	Places  []sheetPlace        `dynamodbav:"places,omitempty"`
	Raw     []byte              `dynamodbav:"raw,omitempty"`
	Tags    []string            `dynamodbav:"tags,stringset,omitempty"`
	Ranks   map[int]struct{}    `dynamodbav:"ranks,numberset,omitempty"`
	Blobs   [][]byte            `dynamodbav:"blobs,binaryset,omitempty"`
	Any     any                 `dynamodbav:"any,omitempty"`
	Pin     string              `dynamodbav:"pin" entity:"secret"`
	Keys    []string            `dynamodbav:"keys,omitempty" entity:"secret"`
	Codes   []string            `dynamodbav:"codes,stringset,omitempty" entity:"secret"`
	Limits  map[string][]string `dynamodbav:"limits,omitempty"`
}

// Texts of a form become values of the declared types, or an error that names the place.
func TestForm_ReadsNestedValues(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	s := engine.Of(entity.Must(entity.New[FormSheet](db))).Schema
	var all strings.Builder
	for _, c := range [][2]string{
		{"address", `{"street":"a","notes":["b","c"],"since":"2026-04-22T12:00:00Z","floor":-3,"labels":["x","y"],"price":250,"codes":{"7":1.5},"photo":"AQI=","open":true,"pair":"AQI=","ends":1776859200,"number":"12"}`},
		{"address", `{"street":7}`}, {"address", `{"street":"a","notes":["b",{"c":1}]}`}, {"address", `{"street":"a","note":["b"]}`}, {"address", `{"since":"yesterday"}`}, {"address", `{"floor":300}`}, {"address", `{"floor":1.5}`},
		{"address", `{"labels":["x","x"]}`}, {"address", `{"labels":"x"}`}, {"address", `{"price":"250"}`}, {"address", `{"codes":{"seven":1}}`}, {"address", `{"codes":{"7":1e60}}`}, {"address", `{"photo":"*"}`}, {"address", `{"open":1}`}, {"address", `{"pair":"AQ=="}`},
		{"address", `{"more":{"a.b":{"more":{"c":{"notes":[null]}}}}}`}, {"address", `{"ends":"soon"}`}, {"address", `{"number":"x"}`}, {"address", `{"number":12}`}, {"address", "{\n\"street\": }"}, {"address", `{"street":"a"} {}`}, {"address", `{"street":"a"`}, {"address", ""}, {"address", "null"}, {"address", "[]"},
		{"places", `[{"street":"a"},{"street":"b","floor":"c"}]`}, {"places", `{}`}, {"places", `[]`},
		{"raw", "AQID\nBA==\n"}, {"raw", "nothing!"}, {"raw", ""},
		{"tags", "b\n\n a \n"}, {"tags", "a\na\n"}, {"tags", "\n"}, {"ranks", "7\n-8\n"}, {"ranks", "7\n8.5"}, {"ranks", "7\n7"}, {"blobs", "AQI=\nAw=="}, {"blobs", "AQI=\n?"},
		{"any", `{"a":[1,"b",null,true,{"c":1e2}]}`}, {"any", `1e999`}, {"any", `"text"`}, {"limits", `{"a":["b"],"c":null}`}, {"limits", `{"a":"b"}`},
		{"address", strings.Repeat(`{"more":{"a":`, 40) + "1" + strings.Repeat("}}", 40)},
	} {
		v, err := inputValue(s, s.Attr(c[0]), c[1])
		fmt.Fprintf(&all, "%s %q\n", c[0], c[1])
		if err != nil {
			require.ErrorAs(t, err, new(*nestedError))
			fmt.Fprintf(&all, "  error: %v\n", err)
			continue
		}
		text, err := json.Marshal(v)
		if k, keys := v.(map[int]struct{}); keys {
			text, err = json.Marshal(len(k))
		}
		require.NoError(t, err)
		require.Equal(t, s.Attr(c[0]).Type, typeOf(v, s.Attr(c[0]).Type), c[0])
		fmt.Fprintf(&all, "  %s\n", text)
	}
	golden(t, "form.txt", all.String())
}

// typeOf returns the type of a value; of an interface its own.
func typeOf(v any, want reflect.Type) reflect.Type {
	if want.Kind() == reflect.Interface {
		return want
	}
	return reflect.TypeOf(v)
}

// The form edits nested values, sets and bytes, and replaces secrets, which no page has.
func TestStudio_EditsNestedValuesAndReplacesSecrets(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	sheets := entity.Must(entity.New[FormSheet](db))
	require.NoError(t, tables.Create(t.Context(), db))
	floor := int8(3)
	entity.Must(sheets.Create(t.Context(), FormSheet{
		ID: "x", Address: sheetPlace{Street: "<b>", Notes: []string{"a"}, Floor: &floor, Price: Money{250}, Number: 12}, Raw: []byte{1, 2}, Tags: []string{"a", "b"}, Ranks: map[int]struct{}{7: {}},
		Pin: "77123", Keys: []string{"77123-2"}, Codes: []string{"77123"},
	}))
	get := func() FormSheet {
		return entity.Must(sheets.Get(t.Context(), FormSheet{ID: "x"}, entity.Consistent()))
	}
	h, err := Studio(t.Context(), App{Client: client, Open: func(context.Context, Connection) (Program, error) {
		return Program{DB: db, Handles: &struct{ Sheets *entity.Store[FormSheet] }{sheets}}, nil
	}}, StudioOptions{Token: studioToken, Write: true})
	require.NoError(t, err)
	g := visiting(t, h) // refuses pages with secrets
	const path = "/edit?entity=Form&p.id=x&verb=edit"
	form := g.open(path)
	g.keep("nested", form)
	for _, part := range []string{"&#34;street&#34;: &#34;&lt;b&gt;&#34;", "\na\nb</textarea>", "\n7</textarea>", "\nAQI=</textarea>", `type="password" id="v-pin" name="v.pin" autocomplete="new-password"`, "[]string: edited by the program only"} {
		require.Contains(t, form.text, part)
	}
	require.Equal(t, 400, g.fill(form, "preview").status, "nothing was changed")
	for field, c := range map[string][2]string{
		"v.address": {`{"street":"a","notes":["b",7]}`, "address.notes[1] must be a text, and is a number"}, "v.tags": {"a\na", "tags[1] is in the set twice"}, "v.raw": {"*", "raw must be a text of base64"},
		"v.ranks": {"seven", "ranks[0] must be a whole number that fits int"},
	} {
		p := g.fill(form, "preview", field, c[0])
		require.Equal(t, 400, p.status)
		require.Contains(t, p.text, c[1])
	}
	plan := g.fill(form, "preview", "v.address", `{"street":"new","notes":["b","c"],"price":300,"number":"13","open":false}`, "v.tags", "c\r\nb", "v.raw", "AwQ=", "v.ranks", "7\n9", "v.any", `{"x":[1]}`, "absent.any", "")
	require.Equal(t, 200, plan.status, plan.text)
	g.keep("nested-plan", plan)
	require.Contains(t, plan.text, ">new<")
	done := g.fill(plan, "write")
	require.Equal(t, 200, done.status, done.text)
	now := get()
	require.Equal(t, sheetPlace{Street: "new", Notes: []string{"b", "c"}, Price: Money{300}, Number: 13}, now.Address)
	require.ElementsMatch(t, []string{"b", "c"}, now.Tags)
	require.Equal(t, []byte{3, 4}, now.Raw)
	require.Equal(t, map[int]struct{}{7: {}, 9: {}}, now.Ranks)
	require.Equal(t, "77123", now.Pin, "what is not chosen stays")

	form = g.open(path)
	require.Contains(t, g.fill(form, "preview", "v.pin", "77123").text, "pin is secret: choose to replace it")
	wrong := g.fill(form, "preview", "secret.keys", "replace", "v.keys", `["77123",77123]`)
	require.Contains(t, wrong.text, "keys must be a value of its type, []string")
	for _, pin := range []string{"77123", "77123-new"} { // also one that is the same: a page must not say that
		plan = g.fill(g.open(path), "preview", "secret.pin", "replace", "v.pin", pin, "secret.keys", "remove")
		require.Equal(t, 200, plan.status, plan.text)
		require.Regexp(t, `(?s)<bdi>pin</bdi></th><td data-label="before"><del><span class="secret">hidden</span></del></td><td data-label="after"><ins><span class="secret">hidden</span>`, plan.text)
		require.Equal(t, 200, g.fill(plan, "write").status)
		require.Equal(t, pin, get().Pin)
		require.Empty(t, get().Keys)
	}
	stale := g.fill(form, "preview", "secret.pin", "replace", "v.pin", "77123-third")
	require.Equal(t, 409, stale.status)
	again := g.fill(stale, "again")
	require.Equal(t, 200, g.fill(again, "write").status)
	require.Equal(t, "77123-third", get().Pin)
	require.Equal(t, 400, g.send(form, "preview", url.Values{"seen": form.fields(t, "preview")["seen"], "secret.codes": {"replace"}, "v.codes": {"x"}}).status, "not among the fields of the form")
}
