package wire

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
)

// Call sends one request of an SDK's client, and reads the items of its answer, which the SDK's output then lacks. Everything else
// of the answer is read by the SDK, and so is the whole answer where anything is unusual: an error, an operation without
// items, or a body that is not in DynamoDB's own form.
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

	own  protocol
	sent payload // of the first time that the request is written
}

// If a newer SDK changes the protocol, this does not compile, or TestCall_AgreesWithTheSDK fails.
var _ smithyhttp.ClientProtocol = (*protocol)(nil)

// protocol is the SDK's protocol for a call, but for the bodies of requests and the items of answers. Without a call it is the
// SDK's, but for answers that are none.
type protocol struct {
	*awsjson.Protocol
	call *Call
}

// Ours reports whether a client with these options has the SDK's own protocol, which a Call can replace.
func Ours(o *dynamodb.Options) bool {
	sdk, ok := o.Protocol.(*awsjson.Protocol)
	return ok && sdk.ID().Name == "awsJson1_0"
}

// Options is an option of a call whose request is written, and whose answer is read, by the SDK. An answer without what every
// answer of its operation has, as a broken proxy may give, is a *smithy.DeserializationError and not an empty output.
func Options(o *dynamodb.Options) {
	if Ours(o) {
		o.Protocol = &protocol{Protocol: o.Protocol.(*awsjson.Protocol)}
	}
}

// Options is the option of the call: without the SDK's retries.
func (c *Call) Options(o *dynamodb.Options) {
	o.Retryer = aws.NopRetryer{}
	sdk, ok := o.Protocol.(*awsjson.Protocol)
	switch {
	case !c.Own:
		Options(o)
	case ok:
		c.own = protocol{sdk, c}
		o.Protocol = &c.own
	}
}

// DeserializeResponse implements smithyhttp.ClientProtocol.
func (p *protocol) DeserializeResponse(ctx context.Context, op *smithy.OperationSchema, registry *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable) error {
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return p.Protocol.DeserializeResponse(ctx, op, registry, resp, out)
	}
	if p.call != nil {
		p.call.Page = nil // of an earlier answer, if a middleware sends the request again
	}
	page, err := read(resp.Body, resp.ContentLength)
	if err != nil {
		return &smithy.DeserializationError{Err: err}
	}
	items := shapeOf(out)
	if string(page.body) == "{}" { // as for most writes: there is nothing to read
		page.releaseEmpty()
		return unanswered(out, nil)
	}
	if !bytes.HasPrefix(bytes.TrimLeft(page.body, " \t\r\n"), []byte("{")) {
		page.Release()
		return &smithy.DeserializationError{Err: errBroken}
	}
	sdk := func(body []byte) (err error) {
		stream := resp.Body
		defer func() {
			resp.Body = stream
			if recover() != nil { // the SDK's parser panics on some bodies that are not JSON
				err = &smithy.DeserializationError{Err: errBroken}
			}
		}()
		resp.Body = io.NopCloser(bytes.NewReader(body))
		return p.Protocol.DeserializeResponse(ctx, op, registry, resp, out)
	}
	if p.call != nil {
		rest, err := page.parse(items)
		if err == nil && rest != nil {
			err = sdk(rest)
		}
		if err == nil {
			if p.call.Page = page; items.counted {
				return unanswered(out, page)
			}
			return nil
		}
	}
	defer page.Release()
	if err := sdk(page.body); err != nil {
		return err
	}
	return unanswered(out, nil)
}

var (
	errBroken  = errors.New("the body of the answer is empty or malformed")
	errLacking = errors.New("the answer lacks what the request asked for")
)

// unanswered returns an error if an answer lacks what every answer of its operation has. page has its items, nil if out has them.
func unanswered(out smithy.Deserializable, page *Page) error {
	lacks := false
	switch out := out.(type) {
	case *dynamodb.QueryOutput:
		lacks = uncounted(&out.Count, page, out.Items)
	case *dynamodb.ScanOutput:
		lacks = uncounted(&out.Count, page, out.Items)
	case *dynamodb.BatchGetItemOutput:
		lacks = page == nil && out.Responses == nil
	case *dynamodb.TransactGetItemsOutput:
		lacks = page == nil && out.Responses == nil
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
func uncounted(count *int32, page *Page, items []map[string]types.AttributeValue) bool {
	if *count >= 0 {
		return false
	}
	if *count = int32(len(items)); page != nil {
		*count = int32(page.Len())
	}
	return page == nil && items == nil
}

// shapeOf says where the items of an operation's answer are. It removes the count from the output of a query or scan, which
// would be 0 if the answer has none.
func shapeOf(out smithy.Deserializable) shape {
	switch out := out.(type) {
	case *dynamodb.QueryOutput:
		out.Count = -1
		return listed
	case *dynamodb.ScanOutput:
		out.Count = -1
		return listed
	case *dynamodb.GetItemOutput:
		return single
	case *dynamodb.PutItemOutput, *dynamodb.UpdateItemOutput, *dynamodb.DeleteItemOutput:
		return returned
	case *dynamodb.TransactGetItemsOutput:
		return snapshot
	case *dynamodb.BatchGetItemOutput:
		return batch
	}
	return shape{}
}
