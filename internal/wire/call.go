package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dynastrata/dynastrata/entitytype"
)

// Call writes the request of one call of a client, and reads the items of its answer. Everything else of the answer is read by
// the SDK, and so is the whole answer where anything is unusual:
//
//   - an error, or an operation without items
//   - a body that is not in DynamoDB's own form
//   - a client with a protocol that is not the SDK's own
//
// The SDK's output then has the items, as it has if the client is not the SDK's and ignores options. Otherwise it has a
// placeholder.
//
// A client can be more than the SDK's: it may send the request several times, even concurrently or to several tables, and
// return any of the outputs. So the items of each answer are kept with its output.
type Call struct {
	// Keys, if it is set, has the keys of a BatchGetItem by table. Its input has the tables, with empty lists of keys.
	Keys map[string][]Key
	// Placeholders, if it is set, has the names and values of the expressions of a write, of each action of a TransactWriteItems.
	// Its input lacks them.
	Placeholders []Placeholders
	// Sole says that nothing but the SDK's own code and this package sees the output.
	Sole bool

	mu     sync.Mutex // guards the fields below
	own    protocol
	first  answer
	others []answer
}

// answer is an output of the SDK and its items. page is nil if the output has them itself.
type answer struct {
	out  smithy.Deserializable
	page *Page
}

// If a newer SDK changes the protocol, this does not compile, or TestCall_AgreesWithTheSDK fails.
var _ smithyhttp.ClientProtocol = (*protocol)(nil)

// protocol is the SDK's protocol for a call, but for the bodies of requests and the items of answers. Without a call it is the
// SDK's, but for answers that are none.
type protocol struct {
	requests
	call *Call
}

// Options is an option of a call whose request is written, and whose answer is read, by the SDK. An answer without what every
// answer of its operation has, as a broken proxy may give, is a *smithy.DeserializationError and not an empty output.
func Options(o *dynamodb.Options) {
	if own, ok := requestsOf(o); ok {
		o.Protocol = &protocol{requests: own}
	}
}

// Options is [Options] for a call whose items are read by this package.
func (c *Call) Options(o *dynamodb.Options) {
	own, ok := requestsOf(o)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own.call == nil {
		c.own = protocol{own, c}
	}
	if o.Protocol = &c.own; c.own.requests != own { // another client
		o.Protocol = &protocol{own, c}
	}
}

// DeserializeResponse implements smithyhttp.ClientProtocol.
func (p *protocol) DeserializeResponse(ctx context.Context, op *smithy.OperationSchema, registry *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable) error {
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return p.Protocol.DeserializeResponse(ctx, op, registry, resp, out)
	}
	page, err := read(resp.Body, resp.ContentLength)
	if err != nil {
		return &smithy.DeserializationError{Err: err}
	}
	uncount(out)
	if string(page.body) == "{}" { // as for most writes: there is nothing to read
		page.releaseEmpty()
		p.keep(answer{out: out})
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
	if s := shapeOf(out); p.call != nil && s.member != "" {
		rest, err := page.parse(s)
		if err == nil && rest != nil {
			err = sdk(rest)
		}
		if err == nil {
			_ = unanswered(out, page)
			mark(out, page, p.call.Sole)
			p.keep(answer{out, page})
			return nil
		}
	}
	defer page.Release()
	p.keep(answer{out: out})
	if err := sdk(page.body); err != nil {
		return err
	}
	return unanswered(out, nil)
}

// keep keeps an answer for Page.
func (p *protocol) keep(a answer) {
	if p.call != nil {
		p.call.keep(a)
	}
}

// keep keeps an answer for Page.
func (c *Call) keep(a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first.out == nil {
		c.first = a
	} else {
		c.others = append(c.others, a)
	}
}

var (
	errBroken  = errors.New("the body of the answer is empty or malformed")
	errLacking = errors.New("the answer lacks what the request asked for")
)

// uncount removes the count from the output of a query or scan, which would be 0 if the answer has none.
func uncount(out smithy.Deserializable) {
	switch out := out.(type) {
	case *dynamodb.QueryOutput:
		out.Count = -1
	case *dynamodb.ScanOutput:
		out.Count = -1
	}
}

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

// shapeOf says where the items of an operation's answer are.
func shapeOf(out smithy.Deserializable) shape {
	switch out.(type) {
	case *dynamodb.QueryOutput, *dynamodb.ScanOutput:
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

// Page returns the items of the answer in out, which the client returned. It returns nil if out has them itself, and
// ErrOutputCopied if out has none while the client was given some: then it returned a copy, or an output of another call.
func (c *Call) Page(out smithy.Deserializable) (*Page, error) {
	has, taken := content(out)
	if has && !taken {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	lost := taken
	for i := -1; i < len(c.others); i++ {
		a := &c.first
		if i >= 0 {
			a = &c.others[i]
		}
		some := a.page != nil && a.page.Len() > 0
		if a.out == out && some == taken {
			return a.page, nil
		}
		lost = lost || some
	}
	if lost {
		return nil, entitytype.ErrOutputCopied
	}
	return nil, nil
}

// placeholderName and placeholderText are the only attribute of a placeholder. It stands in an output for items that were
// taken, so that a client that copies, keeps or reads outputs is noticed, and does not find fewer items than there are.
const (
	placeholderName = "dynastrata"
	placeholderText = "the items of this output are read by package entity; see entity.SDKCodec"
)

func placeholder() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{placeholderName: &types.AttributeValueMemberS{Value: placeholderText}}
}

func isPlaceholder(m map[string]types.AttributeValue) bool {
	s, ok := m[placeholderName].(*types.AttributeValueMemberS)
	return ok && s.Value == placeholderText
}

// sharedMark is a placeholder for outputs that nothing changes.
var sharedMark = []map[string]types.AttributeValue{placeholder()}

// mark puts a placeholder into an output whose items are in page. sole says that the output is changed nowhere else.
func mark(out smithy.Deserializable, page *Page, sole bool) {
	if page.Len() == 0 {
		return
	}
	items := sharedMark
	if !sole {
		items = []map[string]types.AttributeValue{placeholder()}
	}
	switch out := out.(type) {
	case *dynamodb.QueryOutput:
		out.Items = items
	case *dynamodb.ScanOutput:
		out.Items = items
	case *dynamodb.GetItemOutput:
		out.Item = items[0]
	case *dynamodb.PutItemOutput:
		out.Attributes = items[0]
	case *dynamodb.UpdateItemOutput:
		out.Attributes = items[0]
	case *dynamodb.DeleteItemOutput:
		out.Attributes = items[0]
	case *dynamodb.TransactGetItemsOutput:
		out.Responses = []types.ItemResponse{{Item: items[0]}}
	case *dynamodb.BatchGetItemOutput:
		out.Responses = map[string][]map[string]types.AttributeValue{page.tables[0].Name: items}
	}
}

// content reports whether an output has items, and whether they are a placeholder.
func content(out smithy.Deserializable) (has, taken bool) {
	var first map[string]types.AttributeValue
	switch out := out.(type) {
	case *dynamodb.QueryOutput:
		if has = len(out.Items) > 0; has {
			first = out.Items[0]
		}
	case *dynamodb.ScanOutput:
		if has = len(out.Items) > 0; has {
			first = out.Items[0]
		}
	case *dynamodb.GetItemOutput:
		first, has = out.Item, len(out.Item) > 0
	case *dynamodb.PutItemOutput:
		first, has = out.Attributes, len(out.Attributes) > 0
	case *dynamodb.UpdateItemOutput:
		first, has = out.Attributes, len(out.Attributes) > 0
	case *dynamodb.DeleteItemOutput:
		first, has = out.Attributes, len(out.Attributes) > 0
	case *dynamodb.TransactGetItemsOutput:
		if has = len(out.Responses) > 0; has {
			first = out.Responses[0].Item
		}
	case *dynamodb.BatchGetItemOutput:
		for _, items := range out.Responses {
			if len(items) > 0 {
				first, has = items[0], true
			}
		}
	}
	return has, isPlaceholder(first)
}
