package wire

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// targetHeaders has the header of each operation whose text a call can have.
var targetHeaders = func() map[string]string {
	all := map[string]string{}
	for _, op := range []*smithy.Schema{
		schemas.PutItem, schemas.UpdateItem, schemas.DeleteItem, schemas.GetItem, schemas.Query, schemas.Scan,
		schemas.BatchGetItem, schemas.BatchWriteItem, schemas.TransactGetItems, schemas.TransactWriteItems,
	} {
		all[op.ID().Name] = schemas.DynamoDB_20120810.ID().Name + "." + op.ID().Name
	}
	return all
}()

// errReplaced is the error of a request whose text is for another table than its input.
var errReplaced = errors.New("a middleware has changed the table of a request, which Config.MiddlewareIgnoresItems excludes")

func (c *Call) SerializeRequest(ctx context.Context, op *smithy.OperationSchema, in smithy.Serializable, req *smithyhttp.Request) error {
	if c.Text == nil {
		return c.Protocol.SerializeRequest(ctx, op, in, req)
	}
	table := c.Table
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		table = in.TableName
	case *dynamodb.UpdateItemInput:
		table = in.TableName
	case *dynamodb.DeleteItemInput:
		table = in.TableName
	case *dynamodb.GetItemInput:
		table = in.TableName
	case *dynamodb.QueryInput:
		table = in.TableName
	case *dynamodb.ScanInput:
		table = in.TableName
	}
	if table != c.Table {
		return &smithy.SerializationError{Err: errReplaced}
	}
	sent := c
	if sent.headers[0] != "" { // a middleware has sent it before, and may still do so
		sent = new(Call)
	}
	sent.headers = [...]string{targetHeaders[op.ID().Name], "application/x-amz-json-1.0"}
	sent.body.Reset(c.Text)
	address, header := req.URL, req.Header
	req.URL, req.Header = nil, nil // which SetStream would copy
	with, err := req.SetStream(&sent.body)
	if err == nil {
		*req = *with
	}
	if req.URL, req.Header = address, header; err != nil {
		return err
	}
	req.Method = http.MethodPost
	if req.URL.Path == "" {
		req.URL.Path = "/"
	}
	req.Header["X-Amz-Target"], req.Header["Content-Type"] = sent.headers[0:1:1], sent.headers[1:2:2]
	return nil
}
