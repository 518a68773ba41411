package wire

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Call writes the request of one call of the SDK's client, and reads the items of its answer. Everything else of the answer is read by the SDK,
// and so is the whole answer where anything is unusual:
//
//   - an error, or an operation without items
//   - a body that is not in DynamoDB's own form
//   - a client with a protocol that is not the SDK's own
//
// The SDK's output then has the items, as it has if the client is not the SDK's and ignores options.
type Call struct {
	own  protocol
	page *Page
	out  smithy.Deserializable // the output that lacks the items of page
}

// If a newer SDK changes the protocol, this does not compile, or TestCall_AgreesWithTheSDK fails.
var _ smithyhttp.ClientProtocol = (*protocol)(nil)

// protocol is the SDK's protocol for a call, but for the bodies of requests and the items of answers.
type protocol struct {
	requests
	call *Call
}

// Options is an option of the call.
func (c *Call) Options(o *dynamodb.Options) {
	if own, ok := requestsOf(o); ok {
		c.own = protocol{own, c}
		o.Protocol = &c.own
	}
}

// DeserializeResponse implements smithyhttp.ClientProtocol.
func (p *protocol) DeserializeResponse(ctx context.Context, op *smithy.OperationSchema, types *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable) error {
	p.call.Discard() // of an earlier attempt
	s, ours := shapeOf(out)
	if !ours || resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return p.Protocol.DeserializeResponse(ctx, op, types, resp, out)
	}
	page, err := read(resp.Body, resp.ContentLength)
	if err != nil {
		return &smithy.DeserializationError{Err: err}
	}
	if string(page.body) == "{}" { // as for most writes: there is nothing to read
		page.releaseEmpty()
		return nil
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
		return p.Protocol.DeserializeResponse(ctx, op, types, resp, out)
	}
	if s.member == "" {
		defer page.Release()
		return sdk(page.body)
	}
	rest, err := page.parse(s)
	if err == nil && rest != nil {
		err = sdk(rest)
	}
	if err != nil {
		defer page.Release()
		return sdk(page.body)
	}
	p.call.page, p.call.out = page, out
	return nil
}

var errBroken = errors.New("the body of the answer is malformed")

// shapeOf says where the items of an operation's answer are.
func shapeOf(out smithy.Deserializable) (s shape, ours bool) {
	switch out.(type) {
	case *dynamodb.QueryOutput, *dynamodb.ScanOutput:
		return listed, true
	case *dynamodb.GetItemOutput:
		return single, true
	case *dynamodb.PutItemOutput, *dynamodb.UpdateItemOutput, *dynamodb.DeleteItemOutput:
		return returned, true
	case *dynamodb.TransactGetItemsOutput:
		return snapshot, true
	case *dynamodb.BatchGetItemOutput:
		return batch, true
	case *dynamodb.TransactWriteItemsOutput:
		return shape{}, true // no items
	}
	return shape{}, false
}

// Discard forgets the answer, as at the beginning of another attempt.
func (c *Call) Discard() {
	if c.page != nil {
		c.page.Release()
	}
	c.page, c.out = nil, nil
}

// Page returns the items of the answer, or nil if out, the output of the call, is from elsewhere, such as a middleware, or
// has the items itself.
func (c *Call) Page(out smithy.Deserializable) *Page {
	if c.page == nil || c.out != out {
		return nil
	}
	return c.page
}
