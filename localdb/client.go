package localdb

import (
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// What every client says of itself. DynamoDB Local refuses access keys with anything but letters and digits in them.
const (
	region    = "us-east-1"
	accessKey = "localdb"
	secretKey = "localdb"
)

// Client returns a new client of the database, with invented credentials and region us-east-1. Nothing is read from the AWS
// configuration of the user. optFns change the client's options last, for instance to put a faults.Transport in place of HTTPClient.
//
// All clients of one Server share their connections.
func (s *Server) Client(optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	key := accessKey
	if s.key != "" {
		key = s.key
	}
	return dynamodb.New(dynamodb.Options{
		Region:       region,
		BaseEndpoint: aws.String(s.endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(key, secretKey, ""),
		HTTPClient:   s.http,
		// DynamoDB Local sends errors without a checksum, and the SDK would log a warning for every one of them.
		DisableValidateResponseChecksum: true,
	}, optFns...)
}

// newHTTPClient returns a client that keeps as many connections as parallel tests use at once. The two that net/http keeps
// by default would make most calls of such tests open a connection of their own.
func newHTTPClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	transport.MaxIdleConns = 256
	transport.MaxIdleConnsPerHost = 64
	return &http.Client{
		Transport: transport,
		// DynamoDB never redirects; following one would turn a POST into a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
