package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// answers holds the body that the database gives to each operation.
type answers map[string]string

// describeTable is asked for once by guregu/dynamo, before its first query with a limit.
const describeTable = `{"Table":{"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],` +
	`"TableName":"plain","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],` +
	`"TableStatus":"ACTIVE","CreationDateTime":1795363720.866,"TableSizeBytes":0,"ItemCount":0,` +
	`"TableArn":"arn:aws:dynamodb:ddblocal:000000000000:table/plain","TableId":"5c4f7d9a-1d4e-4b5e-9d3a-0f6d7e8c9b0a",` +
	`"ProvisionedThroughput":{"NumberOfDecreasesToday":0,"ReadCapacityUnits":0,"WriteCapacityUnits":0},"DeletionProtectionEnabled":false}}`

// canned is an HTTP transport without a network. It reads each request and answers it with a body of DynamoDB's JSON and its
// checksum, as DynamoDB does.
type canned struct {
	mu      sync.Mutex
	bodies  map[string][]byte
	headers map[string]http.Header
	record  bool
	sent    []request
}

// A request is one that a library sent.
type request struct {
	operation string
	body      string
}

// answer sets the bodies for what is sent from now on, and forgets what was sent.
func (c *canned) answer(to answers, record bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies, c.headers, c.sent, c.record = map[string][]byte{}, map[string]http.Header{}, nil, record
	to = maps.Clone(to)
	to["DescribeTable"] = describeTable
	for operation, body := range to {
		c.bodies[operation] = []byte(body)
		c.headers[operation] = http.Header{
			"Content-Type":     {"application/x-amz-json-1.0"},
			"X-Amzn-Requestid": {"4A8HJ5K2N7Q1R3S5T7V9W1X3Y5Z7A9C1"},
			"X-Amz-Crc32":      {strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10)},
		}
	}
}

// Do answers one request.
func (c *canned) Do(r *http.Request) (*http.Response, error) {
	operation := operationOf(r)
	c.mu.Lock()
	body, known := c.bodies[operation]
	header, record := c.headers[operation], c.record
	c.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("no answer to %s", operation)
	}
	if record {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		c.sent = append(c.sent, request{operation, string(text)})
		c.mu.Unlock()
	} else if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header.Clone(), Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

// operationOf returns the operation that a request asks for.
func operationOf(r *http.Request) string {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return operation
}

// client returns a client of the SDK that sends its requests through c.
func (c *canned) client(opts ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
		BaseEndpoint: aws.String("http://localhost:8000"), HTTPClient: c,
	}, opts...)
}

// watched is an option of a client that adds middleware where tracing does, which does nothing.
func watched(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		begin := middleware.InitializeMiddlewareFunc("begin", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			return next.HandleInitialize(ctx, in)
		})
		end := middleware.DeserializeMiddlewareFunc("end", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
			return next.HandleDeserialize(ctx, in)
		})
		return errors.Join(stack.Initialize.Add(begin, middleware.After), stack.Deserialize.Add(end, middleware.Before))
	})
}
