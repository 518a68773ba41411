package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
)

// Call sends one request of an SDK's client, and reads the items of its answer, which the SDK's output then lacks. Everything else
// of the answer is read by the SDK, and so is the whole answer where anything is unusual: an error, an operation without
// items, or a body that is not in DynamoDB's own form. An answer without what every answer of its operation has, as a broken proxy
// may give, is a *smithy.DeserializationError and not an empty output.
//
// The client must send the request once, and nothing but the SDK's own code may see the items of its input and output.
type Call struct {
	// Own makes this package read the answer. Without it the SDK does. [Ours] is true of the client's options.
	Own bool
	// Text is the request. It does not change. If it is nil, the SDK writes the request from the input of the call. Otherwise it
	// takes no more than the names of tables from that.
	Text []byte
	// Table is where the input of a request with a text has the name of its table, if it names one itself.
	Table *string
	// Page has the items of the answer after the call. It is nil if the output has them.
	Page *Page

	// Watch adds to the steps of the request.
	Watch []func(*middleware.Stack) error

	*awsjson.Protocol // the SDK's, whose place the call takes

	body    bytes.Reader // of the first time that the request is written
	headers [2]string    // the values of its headers
}

// If a newer SDK changes the protocol, this does not compile, or TestCall_AgreesWithTheSDK fails.
var _ smithyhttp.ClientProtocol = (*Call)(nil)

// Ours reports whether a client with these options has the SDK's own protocol, whose place a Call can take.
func Ours(o *dynamodb.Options) bool {
	sdk, ok := o.Protocol.(*awsjson.Protocol)
	return ok && sdk.ID().Name == "awsJson1_0"
}

// Options is the option of the call: without the SDK's retries.
func (c *Call) Options(o *dynamodb.Options) {
	if o.Retryer = (aws.NopRetryer{}); len(o.APIOptions) == 0 {
		o.APIOptions = c.Watch
	} else {
		o.APIOptions = append(o.APIOptions, c.Watch...)
	}
	if !c.Own {
		if !Ours(o) {
			return
		}
		c = new(Call) // the client may send the request several times
	}
	if sdk, ok := o.Protocol.(*awsjson.Protocol); ok {
		c.Protocol, o.Protocol = sdk, c
	}
}

// Item returns the item of the answer, which is typed if the SDK has read it: the zero Item without one, or for one that has no
// attributes, as some emulators answer.
func (c *Call) Item(typed map[string]types.AttributeValue) Item {
	switch p := c.Page; {
	case p == nil && len(typed) > 0:
		return Item{m: typed}
	case p != nil && p.nodes[p.rows[0]].from > 0:
		return Item{page: p, at: p.rows[0]}
	}
	Item{page: c.Page}.Release()
	return Item{}
}

// Items is Item for an answer with several. It returns them all, the zero Item for a missing one.
func (c *Call) Items(typed []map[string]types.AttributeValue) []Item {
	p := c.Page
	if p == nil {
		return OfAll(typed)
	}
	all := make([]Item, len(p.rows))
	for i, at := range p.rows {
		if at >= 0 {
			all[i] = Item{page: p, at: at}
		}
	}
	if len(all) == 0 {
		Item{page: p}.Release()
	}
	return all
}

// Tables is Items for an answer with items of several tables, in the order of their names.
func (c *Call) Tables(typed map[string][]map[string]types.AttributeValue) (all []Table) {
	if c.Page == nil {
		for name, items := range typed {
			all = append(all, Table{Name: name, Items: OfAll(items)})
		}
	} else {
		tables := c.Page.tables
		items := c.Items(nil) // after which a page without items has no tables
		for _, t := range tables {
			t.Items = items[t.from:t.to:t.to]
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(x, y Table) int { return strings.Compare(x.Name, y.Name) })
	return all
}

func (c *Call) DeserializeResponse(ctx context.Context, op *smithy.OperationSchema, registry *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable) error {
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return c.Protocol.DeserializeResponse(ctx, op, registry, resp, out)
	}
	c.Page = nil // of an earlier answer, if a middleware sends the request again
	a, err := receive(resp.Body, resp.ContentLength)
	if err != nil {
		return &smithy.DeserializationError{Err: err}
	}
	var count *int32 // of a query or scan; without one in the answer it would be 0
	member, read := "", (func(*answer) bool)(nil)
	switch out := out.(type) {
	case *dynamodb.QueryOutput:
		out.Count, count, member, read = -1, &out.Count, "Items", (*answer).items
	case *dynamodb.ScanOutput:
		out.Count, count, member, read = -1, &out.Count, "Items", (*answer).items
	case *dynamodb.GetItemOutput:
		member = "Item"
	case *dynamodb.PutItemOutput, *dynamodb.UpdateItemOutput, *dynamodb.DeleteItemOutput:
		member = "Attributes"
	case *dynamodb.TransactGetItemsOutput:
		member, read = "Responses", (*answer).snapshot
	case *dynamodb.BatchGetItemOutput:
		member, read = "Responses", (*answer).batch
	}
	if c.Own && member != "" && string(a.body) != "{}" {
		rest, ok := a.parse(member, read)
		if rest != nil {
			ok = c.bySDK(ctx, op, registry, resp, out, rest) == nil
		}
		if ok {
			if count != nil && *count < 0 {
				*count = int32(len(a.rows))
			}
			c.Page = &Page{a}
			return nil
		}
	}
	defer Item{page: &Page{a}}.Release()
	switch {
	case string(a.body) == "{}": // as for most writes: there is nothing to read
	case !bytes.HasPrefix(bytes.TrimLeft(a.body, " \t\r\n"), []byte("{")):
		return &smithy.DeserializationError{Err: errBroken}
	default:
		if err := c.bySDK(ctx, op, registry, resp, out, a.body); err != nil {
			return err
		}
	}
	return lacking(out)
}

// bySDK is DeserializeResponse of the SDK for another body than the answer has.
func (c *Call) bySDK(ctx context.Context, op *smithy.OperationSchema, registry *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable, body []byte) (err error) {
	stream := resp.Body
	defer func() {
		resp.Body = stream
		if recover() != nil { // the SDK's parser panics on some bodies that are not JSON
			err = &smithy.DeserializationError{Err: errBroken}
		}
	}()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return c.Protocol.DeserializeResponse(ctx, op, registry, resp, out)
}

var (
	errBroken  = errors.New("the body of the answer is empty or malformed")
	errLacking = errors.New("the answer lacks what the request asked for")
)

// lacking returns an error if an answer that the SDK has read lacks what every answer of its operation has.
func lacking(out smithy.Deserializable) error {
	lacks := false
	switch out := out.(type) {
	case *dynamodb.QueryOutput:
		lacks = uncounted(&out.Count, out.Items)
	case *dynamodb.ScanOutput:
		lacks = uncounted(&out.Count, out.Items)
	case *dynamodb.BatchGetItemOutput:
		lacks = out.Responses == nil
	case *dynamodb.TransactGetItemsOutput:
		lacks = out.Responses == nil
	case *dynamodb.BatchWriteItemOutput:
		lacks = out.UnprocessedItems == nil
	case *dynamodb.DescribeTableOutput:
		lacks = out.Table == nil
	case *dynamodb.DescribeTimeToLiveOutput:
		lacks = out.TimeToLiveDescription == nil
	case *dynamodb.UpdateTimeToLiveOutput:
		lacks = out.TimeToLiveSpecification == nil
	case *dynamodb.DescribeContinuousBackupsOutput:
		lacks = out.ContinuousBackupsDescription == nil
	case *dynamodb.UpdateContinuousBackupsOutput:
		lacks = out.ContinuousBackupsDescription == nil
	}
	if lacks {
		return &smithy.DeserializationError{Err: errLacking}
	}
	return nil
}

// uncounted reports whether an answer has neither a count nor items, which are counted otherwise.
func uncounted(count *int32, items []map[string]types.AttributeValue) bool {
	if *count >= 0 {
		return false
	}
	*count = int32(len(items))
	return items == nil
}
