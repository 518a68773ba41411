package reading_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// Shipment has fields of many kinds.
type Shipment struct {
	_ entity.Key `name:"Shipment" pk:"$#{depot}" sk:"$#{id}"`

	Depot    string         `dynamodbav:"depot"`
	ID       string         `dynamodbav:"id"`
	Sent     time.Time      `dynamodbav:"sent"`
	Weight   float64        `dynamodbav:"weight"`
	Count    int            `dynamodbav:"count"`
	Tags     []string       `dynamodbav:"tags,stringset,omitempty"`
	Note     *string        `dynamodbav:"note,omitempty"`
	Label    []byte         `dynamodbav:"label"`
	Any      map[string]any `dynamodbav:"any"`
	Fragile  bool           `dynamodbav:"fragile"`
	Contents []struct {
		Name string `dynamodbav:"name"`
	} `dynamodbav:"contents"`
}

// shipmentJSON is a stored shipment.
func shipmentJSON(i int) string {
	id := fmt.Sprintf("p-%04d", i)
	return `{"pk":{"S":"$app#v1#shipment#north"},"sk":{"S":"$app#v1#shipment#` + id + `"},"__edd_e__":{"S":"Shipment"},"depot":{"S":"north"},"id":{"S":"` + id + `"},` +
		`"sent":{"S":"2026-04-22T11:59:30.000000000Z"},"weight":{"N":"12.5"},"count":{"N":"3"},"tags":{"SS":["a","b\n"]},"note":{"S":"leave it"},"label":{"B":"aGVsbG8="},` +
		`"any":{"M":{"n":{"N":"1"},"l":{"L":[{"BOOL":true},{"NULL":true}]}}},"fragile":{"BOOL":true},"contents":{"L":[{"M":{"name":{"S":"cup"}}}]}}`
}

func shipmentsJSON(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = shipmentJSON(i)
	}
	return fmt.Sprintf(`{"Items":[%s],"Count":%d,"ScannedCount":%d}`, strings.Join(all, ","), n, n)
}

// answers is an HTTP client that answers by operation, and keeps the bodies of requests.
type answers struct {
	bodies map[string]string               // {} is the answer to others
	header func(http.Header)               // may be nil; gets those of each request
	change func(body string) (int, string) // may be nil; returns the status and the body of an answer
	texts  []string
}

func (a *answers) Do(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if a.texts = append(a.texts, string(text)); a.header != nil {
		a.header(r.Header)
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	status, body := 200, cmp.Or(a.bodies[operation], "{}")
	if a.change != nil {
		status, body = a.change(body)
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
}

var shipmentAnswers = map[string]string{
	"GetItem": `{"Item":` + shipmentJSON(1) + `}`, "Query": shipmentsJSON(3), "Scan": shipmentsJSON(4), "UpdateItem": `{"Attributes":` + shipmentJSON(1) + `}`,
	"BatchGetItem":       `{"Responses":{"app":[` + shipmentJSON(1) + `,` + shipmentJSON(0) + `]},"UnprocessedKeys":{}}`,
	"TransactWriteItems": `{}`, "BatchWriteItem": `{"UnprocessedItems":{}}`,
	"TransactGetItems": `{"Responses":[{"Item":` + shipmentJSON(1) + `}]}`,
}

func cannedClient(a *answers, opts ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: "eu-west-1", HTTPClient: a, Credentials: aws.AnonymousCredentials{}}, opts...)
}

func shipments(t testing.TB, client entity.Client, codec entity.Codec, configure ...func(*entity.Config)) (*entity.DB, *entity.Store[Shipment]) {
	cfg := entity.Config{Table: "app", Codec: codec, MaxAttempts: 3}
	for _, f := range configure {
		f(&cfg)
	}
	db := entity.Must(entity.Open(client, cfg))
	s := entity.Must(entity.New[Shipment](db))
	return db, s
}

// reads calls every verb that returns items, and returns what each gave.
func reads(t testing.TB, client entity.Client, codec entity.Codec, configure ...func(*entity.Config)) map[string]any {
	ctx := t.Context()
	db, s := shipments(t, client, codec, configure...)
	key, results := Shipment{Depot: "north", ID: "p-0001"}, map[string]any{}
	put := func(verb string, v any, err error) { results[verb], results[verb+" error"] = v, fmt.Sprint(err) }
	one, err := s.Get(ctx, key)
	put("Get", one, err)
	all, err := s.Query(Shipment{Depot: "north"}).Collect(ctx)
	put("Query", all, err)
	first, err := s.Query(Shipment{Depot: "north"}).First(ctx)
	put("First", first, err)
	page, err := s.Query(Shipment{Depot: "north"}, entity.Limit(2)).Page(ctx, "")
	put("Page", page, err)
	scanned, err := s.Scan().Collect(ctx)
	put("Scan", scanned, err)
	many, err := s.GetMany(ctx, []Shipment{key, {Depot: "north", ID: "p-0000"}})
	put("GetMany", many, err)
	var got Shipment
	put("TransactGet without a key", got, db.TransactGet(ctx, s.Op().GetInto(&got)))
	got = key
	put("TransactGet", got, db.TransactGet(ctx, s.Op().GetInto(&got)))
	updated, err := s.Update(ctx, key, entity.Set(&entity.Fields[Shipment]().Count, 3))
	put("Update", updated, err)
	return results
}

// outputs is a middleware that counts the items in the SDK's outputs.
type outputs struct{ items int }

func (o *outputs) option(opts *dynamodb.Options) {
	initialize(func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		out, md, err := next.HandleInitialize(ctx, in)
		switch v := out.Result.(type) {
		case *dynamodb.GetItemOutput:
			o.items += min(len(v.Item), 1)
		case *dynamodb.QueryOutput:
			o.items += len(v.Items)
		case *dynamodb.ScanOutput:
			o.items += len(v.Items)
		case *dynamodb.UpdateItemOutput:
			o.items += min(len(v.Attributes), 1)
		case *dynamodb.BatchGetItemOutput:
			o.items += len(v.Responses["app"])
		case *dynamodb.TransactGetItemsOutput:
			o.items += len(v.Responses)
		}
		return out, md, err
	})(opts)
}

// initialize is the option that adds a middleware to the first step of calls.
func initialize(f func(context.Context, middleware.InitializeInput, middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error)) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("test", f), middleware.After)
		})
	}
}

// withoutOptions is a client that ignores the options of calls.
type withoutOptions struct{ entity.Client }

func (c withoutOptions) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return c.Client.GetItem(ctx, in)
}

func (c withoutOptions) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return c.Client.Query(ctx, in)
}

func TestCodec_BothGiveTheSame(t *testing.T) {
	t.Parallel()
	var seen outputs
	want := reads(t, cannedClient(&answers{bodies: shipmentAnswers}, seen.option), entity.SDKCodec)
	assert.Equal(t, 1+3+3+3+4+2+1+1, seen.items, "a middleware sees the items")
	require.Len(t, want["Query"], 3)
	require.Equal(t, "cup", want["Get"].(Shipment).Contents[0].Name)

	seen = outputs{}
	assert.Equal(t, want, reads(t, cannedClient(&answers{bodies: shipmentAnswers}, seen.option), entity.OwnCodec))
	assert.Equal(t, 1+3+3+3+4+2+1+1, seen.items)
	assert.Equal(t, want, reads(t, withoutOptions{cannedClient(&answers{bodies: shipmentAnswers})}, entity.OwnCodec))

	seen = outputs{}
	assert.Equal(t, want, reads(t, cannedClient(&answers{bodies: shipmentAnswers}, seen.option), entity.OwnCodec, ignoresItems))
	assert.Zero(t, seen.items, "its owner said that the middleware ignores items")
	assert.Equal(t, want, reads(t, withoutOptions{cannedClient(&answers{bodies: shipmentAnswers})}, entity.OwnCodec, ignoresItems))
}

func ignoresItems(cfg *entity.Config) { cfg.MiddlewareIgnoresItems = true }

// A middleware that changes maps of an input in place changes this attempt, and not the next one.
func TestClients_EachAttemptHasMapsOfItsOwn(t *testing.T) {
	t.Parallel()
	tenant := func(m map[string]types.AttributeValue) {
		for name, v := range m {
			if s, ok := v.(*types.AttributeValueMemberS); ok {
				m[name] = dbtest.S("tenant " + s.Value)
			}
		}
	}
	change := func(in any) {
		switch in := in.(type) {
		case *dynamodb.GetItemInput:
			tenant(in.Key)
		case *dynamodb.PutItemInput:
			tenant(in.Item)
		case *dynamodb.UpdateItemInput:
			tenant(in.ExpressionAttributeValues)
		case *dynamodb.DeleteItemInput:
			tenant(in.Key)
		case *dynamodb.QueryInput:
			tenant(in.ExclusiveStartKey)
		case *dynamodb.BatchGetItemInput:
			for _, k := range in.RequestItems["app"].Keys {
				tenant(k)
			}
		case *dynamodb.TransactGetItemsInput:
			tenant(in.TransactItems[0].Get.Key)
			*in.TransactItems[0].Get.TableName += "x"
		case *dynamodb.TransactWriteItemsInput:
			tenant(in.TransactItems[0].Update.ExpressionAttributeValues)
			tenant(in.TransactItems[1].Put.Item)
		case *dynamodb.BatchWriteItemInput:
			for _, w := range in.RequestItems["app"] {
				if w.PutRequest != nil {
					tenant(w.PutRequest.Item)
				} else {
					tenant(w.DeleteRequest.Key)
				}
			}
		}
	}
	c := &answers{bodies: maps.Clone(shipmentAnswers)}
	c.change = func(body string) (int, string) {
		if len(c.texts)%2 == 1 {
			return 400, `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException"}`
		}
		return 200, body
	}
	c.bodies["Query"] = strings.TrimSuffix(shipmentsJSON(1), "}") + `,"LastEvaluatedKey":{"pk":{"S":"a"},"sk":{"S":"b"}}}`
	client := cannedClient(c, func(o *dynamodb.Options) { o.Interceptors.AddBeforeSerialization(interceptor(change)) })
	db, s := shipments(t, client, entity.OwnCodec)
	key, ctx := Shipment{Depot: "north", ID: "p-0001"}, t.Context()
	noted := entity.Set(&entity.Fields[Shipment]().Note, aws.String("fragile"))
	var got Shipment
	for name, call := range map[string]func() error{
		"Get":    func() error { _, err := s.Get(ctx, key); return err },
		"Create": func() error { _, err := s.Create(ctx, key); return err },
		"Update": func() error { _, err := s.Update(ctx, key, noted); return err },
		"Delete": func() error { return s.Delete(ctx, key) },
		"Transact": func() error {
			return db.Transact(ctx, s.Op().Update(key, noted), s.Op().Create(Shipment{Depot: "north", ID: "p-0002"}))
		},
		"Query": func() error {
			return dbtest.ErrorOf(s.Query(Shipment{Depot: "north"}, entity.MaxRequests(2)).Collect(ctx))
		},
		"GetMany":     func() error { _, err := s.GetMany(ctx, []Shipment{key}); return err },
		"TransactGet": func() error { got = key; return db.TransactGet(ctx, s.Op().GetInto(&got)) },
		"PutMany":     func() error { _, err := s.PutMany(ctx, []Shipment{key}, entity.Unconditional()); return err },
		"DeleteMany":  func() error { _, err := s.DeleteMany(ctx, []Shipment{key}); return err },
	} {
		c.texts = nil
		if err := call(); err != nil {
			require.NotContains(t, err.Error(), "Throttling", name)
		}
		require.NotEmpty(t, c.texts, name)
		for i := 0; i+1 < len(c.texts); i += 2 {
			require.JSONEq(t, c.texts[i], c.texts[i+1], name)
		}
		require.NotContains(t, strings.Join(c.texts, "\n"), "tenant tenant", name)
		require.Contains(t, strings.Join(c.texts, "\n"), "tenant ", name)
	}
}

// Middleware that ignores items still runs, sees the names of tables, and may change headers.
func TestClients_MiddlewareThatIgnoresItems(t *testing.T) {
	t.Parallel()
	var tables []string
	traced := func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Build.Add(middleware.BuildMiddlewareFunc("trace", func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
				in.Request.(*smithyhttp.Request).Header.Set("X-Trace", "7")
				return next.HandleBuild(ctx, in)
			}), middleware.After)
		})
		o.Interceptors.AddBeforeSerialization(interceptor(func(in any) {
			switch in := in.(type) {
			case *dynamodb.GetItemInput:
				tables = append(tables, *in.TableName)
				assert.Empty(t, in.Key)
				assert.Equal(t, aws.Bool(true), in.ConsistentRead)
			case *dynamodb.QueryInput:
				tables = append(tables, *in.TableName)
				assert.Empty(t, in.ExpressionAttributeValues)
				assert.Equal(t, []any{aws.Int32(5), aws.Bool(false)}, []any{in.Limit, in.ScanIndexForward}, "what tracing shows")
			case *dynamodb.UpdateItemInput:
				tables = append(tables, *in.TableName)
			case *dynamodb.TransactWriteItemsInput:
				tables = append(tables, *in.TransactItems[0].Update.TableName, *in.TransactItems[1].Delete.TableName)
			case *dynamodb.BatchWriteItemInput:
				tables = slices.AppendSeq(tables, maps.Keys(in.RequestItems))
			}
		}))
	}
	headers := map[string]int{}
	db, s := shipments(t, cannedClient(&answers{bodies: shipmentAnswers, header: func(h http.Header) { headers[h.Get("X-Trace")]++ }}, traced), entity.OwnCodec, ignoresItems)
	key := Shipment{Depot: "north", ID: "p-0001"}
	require.NoError(t, dbtest.ErrorOf(s.Get(t.Context(), key, entity.Consistent())))
	require.NoError(t, dbtest.ErrorOf(s.Query(Shipment{Depot: "north"}, entity.Limit(5), entity.Desc()).Collect(t.Context())))
	set := entity.Set(&entity.Fields[Shipment]().Count, 3)
	require.NoError(t, dbtest.ErrorOf(s.Update(t.Context(), key, set)))
	require.NoError(t, db.Transact(t.Context(), s.Op().Update(key, set), s.Op().Delete(Shipment{Depot: "north", ID: "p-0002"})))
	require.NoError(t, dbtest.ErrorOf(s.PutMany(t.Context(), []Shipment{key}, entity.Unconditional())))
	assert.Equal(t, []string{"app", "app", "app", "app", "app", "app"}, tables)
	assert.Equal(t, map[string]int{"7": 5}, headers)

	prefixed := func(o *dynamodb.Options) {
		o.Interceptors.AddBeforeSerialization(interceptor(func(in any) { in.(*dynamodb.GetItemInput).TableName = aws.String("prod-app") }))
	}
	a := &answers{bodies: shipmentAnswers}
	_, s = shipments(t, cannedClient(a, prefixed), entity.OwnCodec, ignoresItems)
	require.ErrorContains(t, dbtest.ErrorOf(s.Get(t.Context(), key)), "MiddlewareIgnoresItems")
	assert.Empty(t, a.texts, "it would have read another table than the middleware says")
	_, err := entity.Open(cannedClient(&answers{}), entity.Config{Codec: entity.SDKCodec, MiddlewareIgnoresItems: true})
	require.ErrorContains(t, err, "MiddlewareIgnoresItems")
}

// What a middleware puts into the output counts.
func TestCodec_AMiddlewareCanReplaceItems(t *testing.T) {
	t.Parallel()
	cached := map[string]types.AttributeValue{"depot": &types.AttributeValueMemberS{Value: "cached"}}
	for name, replace := range map[string]func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error){
		"instead": func(context.Context, middleware.InitializeInput, middleware.InitializeHandler) (out middleware.InitializeOutput, md middleware.Metadata, err error) {
			out.Result = &dynamodb.GetItemOutput{Item: cached}
			return out, md, nil
		},
		"after the answer": func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, md, err := next.HandleInitialize(ctx, in)
			out.Result.(*dynamodb.GetItemOutput).Item = cached
			return out, md, err
		},
		"in another output": func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, md, err := next.HandleInitialize(ctx, in)
			out.Result = &dynamodb.GetItemOutput{Item: cached}
			return out, md, err
		},
	} {
		client := cannedClient(&answers{bodies: shipmentAnswers}, initialize(replace))
		_, s := shipments(t, client, entity.OwnCodec)
		got, err := s.Get(t.Context(), Shipment{Depot: "north", ID: "p-0001"})
		require.NoError(t, err, name)
		assert.Equal(t, "cached", got.Depot, name)
	}
}

// changing is a client that returns other outputs than the SDK's.
type changing struct {
	entity.Client
	get   func(*dynamodb.GetItemOutput) *dynamodb.GetItemOutput
	query func(*dynamodb.QueryOutput) *dynamodb.QueryOutput
}

func (c changing) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := c.Client.GetItem(ctx, in, opts...)
	return c.get(out), err
}

func (c changing) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := c.Client.Query(ctx, in, opts...)
	return c.query(out), err
}

func (c changing) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out, err := c.Client.BatchGetItem(ctx, in, opts...)
	return &dynamodb.BatchGetItemOutput{Responses: out.Responses}, err
}

func (c changing) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	out, err := c.Client.TransactGetItems(ctx, in, opts...)
	return &dynamodb.TransactGetItemsOutput{Responses: out.Responses}, err
}

func (c changing) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := c.Client.UpdateItem(ctx, in, opts...)
	return &dynamodb.UpdateItemOutput{Attributes: out.Attributes}, err
}

// A client that copies outputs, keeps them for later calls, or selects items in them, never makes items disappear.
func TestCodec_ItemsInCopiesAreNotMissed(t *testing.T) {
	t.Parallel()
	kept := &dynamodb.GetItemOutput{}
	for name, c := range map[string]changing{
		"copy": {
			get:   func(out *dynamodb.GetItemOutput) *dynamodb.GetItemOutput { own := *out; return &own },
			query: func(out *dynamodb.QueryOutput) *dynamodb.QueryOutput { own := *out; return &own },
		},
		"cache": {
			get: func(out *dynamodb.GetItemOutput) *dynamodb.GetItemOutput {
				if kept.Item == nil {
					kept = out
				}
				return kept
			},
			query: func(out *dynamodb.QueryOutput) *dynamodb.QueryOutput {
				return &dynamodb.QueryOutput{Items: slices.Clone(out.Items), Count: out.Count}
			},
		},
		"selection": {
			get: func(out *dynamodb.GetItemOutput) *dynamodb.GetItemOutput {
				if out.Item["depot"] == nil {
					out.Item = nil
				}
				return out
			},
			query: func(out *dynamodb.QueryOutput) *dynamodb.QueryOutput {
				out.Items = slices.DeleteFunc(out.Items, func(it map[string]types.AttributeValue) bool { return it["depot"] == nil })
				return out
			},
		},
	} {
		c.Client = cannedClient(&answers{bodies: shipmentAnswers})
		want := reads(t, c.Client, entity.SDKCodec)
		assert.Equal(t, want, reads(t, c, entity.SDKCodec), name)

		kept = &dynamodb.GetItemOutput{}
		assert.Equal(t, want, reads(t, c, entity.OwnCodec), name)
	}
}

// The requests of a batch are the same for every client, and what looks at inputs finds the keys.
func TestCodec_KeysOfABatch(t *testing.T) {
	t.Parallel()
	var seen int
	look := func(in any) { seen += len(in.(*dynamodb.BatchGetItemInput).RequestItems["app"].Keys) }
	for name, c := range map[string]struct {
		codec  entity.Codec
		client func(*dynamodb.Options)
		wrap   bool
		seen   int
	}{
		"the SDK's client": {entity.OwnCodec, func(*dynamodb.Options) {}, false, 0},
		"the SDK's codec":  {entity.SDKCodec, func(*dynamodb.Options) {}, false, 0},
		"a middleware": {entity.OwnCodec, initialize(func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			look(in.Parameters)
			return next.HandleInitialize(ctx, in)
		}), false, 3},
		"an interceptor": {entity.OwnCodec, func(o *dynamodb.Options) { o.Interceptors.AddBeforeSerialization(interceptor(look)) }, false, 3},
		"a wrapper":      {entity.OwnCodec, func(*dynamodb.Options) {}, true, 3},
	} {
		seen = 0
		b := &answers{}
		b.change = func(string) (int, string) { // the first answer leaves a key unprocessed
			if len(b.texts) == 2 {
				return 200, `{"Responses":{"app":[` + shipmentJSON(0) + `]}}`
			}
			return 200, `{"Responses":{"app":[` + shipmentJSON(1) + `]},"UnprocessedKeys":{"app":{"Keys":[{"pk":{"S":"$app#v1#shipment#north"},"sk":{"S":"$app#v1#shipment#p-0000"}}]}}}`
		}
		sdk := cannedClient(b, c.client)
		client := entity.Client(sdk)
		if c.wrap {
			client = looking{sdk, look}
		}
		_, s := shipments(t, client, c.codec)
		found, err := s.GetMany(t.Context(), []Shipment{{Depot: "north", ID: "p-0001"}, {Depot: "north", ID: "p-0000"}})
		require.NoError(t, err, name)
		require.Len(t, found, 2)
		assert.Equal(t, []string{"p-0001", "p-0000"}, []string{found[0].ID, found[1].ID}, name)
		require.Len(t, b.texts, 2)
		key := func(id string) string {
			return `{"pk":{"S":"$app#v1#shipment#north"},"sk":{"S":"$app#v1#shipment#` + id + `"}}`
		}
		for i, keys := range []string{key("p-0001") + "," + key("p-0000"), key("p-0000")} {
			assert.JSONEq(t, `{"RequestItems":{"app":{"ConsistentRead":false,"Keys":[`+keys+`]}},"ReturnConsumedCapacity":"NONE"}`, b.texts[i], name)
		}
		assert.Equal(t, c.seen, seen, name)
	}
}

// interceptor looks at inputs.
type interceptor func(in any)

func (f interceptor) BeforeSerialization(_ context.Context, in *smithyhttp.InterceptorContext) error {
	f(in.Input)
	return nil
}

// looking is a client that looks at inputs.
type looking struct {
	entity.Client
	look func(in any)
}

func (c looking) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	c.look(in)
	return c.Client.BatchGetItem(ctx, in, opts...)
}

func (c looking) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	c.look(in)
	return c.Client.PutItem(ctx, in, opts...)
}

func (c looking) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	c.look(in)
	return c.Client.UpdateItem(ctx, in, opts...)
}

// A database that answers a transaction with more or fewer items than it was asked for is not believed.
func TestCodec_AnswersOfAnotherLength(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"Responses":[]}`, `{}`, `{"Responses":[{"Item":` + shipmentJSON(0) + `},{}]}`} {
		for _, codec := range []entity.Codec{entity.SDKCodec, entity.OwnCodec} {
			db, s := shipments(t, cannedClient(&answers{bodies: map[string]string{"TransactGetItems": body}}), codec)
			key := Shipment{Depot: "north", ID: "p-0001"}
			require.Error(t, db.TransactGet(t.Context(), s.Op().GetInto(&key)), body)
			require.Zero(t, key.Count)
		}
	}
}

// An answer that cannot be read is asked for again; an item that does not fit is not.
func TestCodec_ErrorsAreTheSame(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body     string
		requests int
	}{
		"cut":       {`{"Items":[{"pk"`, 3},
		"malformed": {`{"Items":[{"depot":{"S":1}}]}`, 3},
		"empty":     {"", 3},
		"no items":  {"{}", 3},
		"misfit":    {`{"Items":[{"depot":{"S":"a"},"count":{"S":"three"}}],"Count":1}`, 1},
		"time":      {`{"Items":[{"sent":{"S":"yesterday"}}],"Count":1}`, 1},
		"overflow":  {`{"Items":[{"count":{"N":"1e400"}}],"Count":1}`, 1},
	} {
		var texts []string
		for _, codec := range []entity.Codec{entity.SDKCodec, entity.OwnCodec} {
			a := &answers{bodies: map[string]string{"Query": c.body}}
			_, s := shipments(t, cannedClient(a), codec)
			all, err := s.Query(Shipment{Depot: "north"}).Collect(t.Context())
			assert.Empty(t, all, name)
			assert.Equal(t, c.requests, len(a.texts), "%s: %v", name, err)
			var misfit *entity.DecodeError
			texts = append(texts, fmt.Sprint(errors.As(err, &misfit), err))
		}
		assert.Equal(t, texts[0], texts[1], name)
	}
	assert.ErrorContains(t, dbtest.ErrorOf(entity.Open(nil, entity.Config{Table: "app", Codec: 7})), "Codec")
}
