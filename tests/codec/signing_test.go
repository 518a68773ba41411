package codec_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// verifier is a server that verifies the signature of each request, as DynamoDB does and a local database does not, by signing what
// has arrived with the SDK's own signer. It answers the first request of each operation with an error that is repeated.
type verifier struct {
	*httptest.Server
	mu      sync.Mutex
	secrets map[string]string // by access key
	seen    map[string]int    // requests by operation
	keys    map[string]int    // requests by access key, and session token
	dates   []time.Time
	wrong   []string
	skewed  time.Duration // how far the server's clock is ahead
}

func newVerifier(t *testing.T) *verifier {
	v := &verifier{secrets: map[string]string{}, seen: map[string]int{}, keys: map[string]int{}}
	v.Server = httptest.NewServer(v)
	t.Cleanup(v.Close)
	return v
}

// client returns a client without middleware, whose credentials are in turn those of turns.
func (v *verifier) client(opts ...func(*dynamodb.Options)) *dynamodb.Client {
	turns, turn := []aws.Credentials{
		{AccessKeyID: "AKIDFIRST", SecretAccessKey: "first secret"},
		{AccessKeyID: "AKIDSECOND", SecretAccessKey: "second/secret+with=more characters than a block of the hash has, which is 64", SessionToken: "FwoGZXIvYXdzEBEaD/+="},
		{AccessKeyID: "AKIDTHIRD", SecretAccessKey: "third secret"},
	}, 0
	return dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", BaseEndpoint: &v.URL, HTTPClient: v.Server.Client(),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			v.mu.Lock()
			defer v.mu.Unlock()
			c := turns[turn/4%len(turns)]
			turn++
			v.secrets[c.AccessKeyID] = c.SecretAccessKey
			return c, nil
		}),
	}, opts...)
}

func (v *verifier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		v.wrong = append(v.wrong, err.Error())
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	v.verify(operation, r, body)
	v.seen[operation]++
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("Date", time.Now().Add(v.skewed).UTC().Format(http.TimeFormat))
	switch answer := shipmentAnswers[operation]; {
	case v.seen[operation] == 1:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"slow down"}`)
	case answer != "":
		fmt.Fprint(w, answer)
	case operation == "BatchWriteItem":
		fmt.Fprint(w, `{"UnprocessedItems":{}}`)
	default:
		fmt.Fprint(w, `{}`)
	}
}

// verify notes what is wrong with the signature of a request.
func (v *verifier) verify(operation string, r *http.Request, body []byte) {
	bad := func(format string, args ...any) {
		v.wrong = append(v.wrong, operation+": "+fmt.Sprintf(format, args...))
	}
	got := r.Header.Get("Authorization")
	rest, found := strings.CutPrefix(got, "AWS4-HMAC-SHA256 Credential=")
	scope, rest, more := strings.Cut(rest, ", SignedHeaders=")
	names, _, last := strings.Cut(rest, ", Signature=")
	parts := strings.Split(scope, "/")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if !found || !more || !last || err != nil || len(parts) != 5 {
		bad("%q at %v", got, err)
		return
	}
	v.dates = append(v.dates, at)
	v.keys[parts[0]+" "+r.Header.Get("X-Amz-Security-Token")]++
	again := &http.Request{Method: r.Method, Host: r.Host, URL: &url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path, RawQuery: r.URL.RawQuery}, ContentLength: int64(len(body)), Header: http.Header{}}
	for _, name := range strings.Split(names, ";") {
		if values := r.Header.Values(name); len(values) > 0 && name != "content-length" {
			again.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
	}
	for _, name := range []string{"host", "content-length", "content-type", "x-amz-date", "x-amz-target"} {
		if !slices.Contains(strings.Split(names, ";"), name) {
			bad("%s is not signed", name)
		}
	}
	sum := sha256.Sum256(bytes.Clone(body))
	c := aws.Credentials{AccessKeyID: parts[0], SecretAccessKey: v.secrets[parts[0]], SessionToken: r.Header.Get("X-Amz-Security-Token")}
	if err := v4.NewSigner().SignHTTP(r.Context(), c, again, hex.EncodeToString(sum[:]), "dynamodb", "eu-west-1", at); err != nil {
		bad("%v", err)
	}
	if want := again.Header.Get("Authorization"); got != want {
		bad("%q, not %q", got, want)
	}
}

// everyVerb sends a request of each operation on items, and some more.
func everyVerb(t *testing.T, client entity.Client, codec entity.Codec) {
	reads(t, client, codec)
	db, s := shipments(t, client, codec)
	one, two := Shipment{Depot: "north", ID: "p-0001"}, Shipment{Depot: "north", ID: "p-0002", Note: aws.String("日本 \n")}
	ctx := t.Context()
	_, err := s.Create(ctx, one)
	require.NoError(t, err)
	_, err = s.Put(ctx, one)
	require.NoError(t, err)
	require.NoError(t, s.Delete(ctx, one))
	_, err = s.PutMany(ctx, []Shipment{one, two}, entity.Unconditional())
	require.NoError(t, err)
	require.NoError(t, db.Transact(ctx, s.Op().Create(one), s.Op().Delete(two)))
}

var itemOperations = []string{
	"BatchGetItem", "BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "Scan", "TransactGetItems", "TransactWriteItems", "UpdateItem",
}

// Every request is signed as the SDK signs it: of every operation, when it is repeated, and with changing credentials.
func TestSigning_EveryRequestIsVerified(t *testing.T) {
	t.Parallel()
	for name, codec := range map[string]entity.Codec{"own": entity.OwnCodec, "the SDK's": entity.SDKCodec} {
		v := newVerifier(t)
		everyVerb(t, v.client(), codec)
		assert.Empty(t, v.wrong, name)
		assert.Equal(t, itemOperations, slices.Sorted(maps.Keys(v.seen)), name)
		for operation, n := range v.seen {
			assert.GreaterOrEqual(t, n, 2, operation)
		}
		assert.Len(t, v.keys, 3, "credentials change")
	}
}

// The SDK corrects the time of signatures by the clock of DynamoDB.
func TestSigning_FollowsTheClockOfTheServer(t *testing.T) {
	t.Parallel()
	for name, codec := range map[string]entity.Codec{"own": entity.OwnCodec, "the SDK's": entity.SDKCodec} {
		v := newVerifier(t)
		v.skewed = 24 * time.Hour
		_, s := shipments(t, v.client(), codec)
		for range 3 {
			_, err := s.Get(t.Context(), Shipment{Depot: "north", ID: "p-0001"})
			require.NoError(t, err, name)
		}
		assert.Empty(t, v.wrong, name)
		assert.Greater(t, v.dates[len(v.dates)-1].Sub(v.dates[0]), 23*time.Hour, name)
	}
}

// Requests signed at a wrong time are refused. The first call of a client is repeated with the corrected time, once; a refusal
// for another reason is final.
func TestSigning_RepeatsWhatAClockThatDiffersMadeFail(t *testing.T) {
	t.Parallel()
	for _, codec := range []entity.Codec{entity.OwnCodec, entity.SDKCodec} {
		for code, skew := range map[string]time.Duration{"InvalidSignatureException": 24 * time.Hour, "RequestTimeTooSkewed": -time.Hour, "AccessDeniedException": 0} {
			now, requests := time.Now().Add(skew), 0
			client := dynamodb.New(dynamodb.Options{
				Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
				HTTPClient: doer(func(r *http.Request) (*http.Response, error) {
					requests++
					status, body := 400, `{"__type":"`+code+`","message":"the time differs"}`
					if at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date")); err == nil && skew != 0 && at.Sub(now).Abs() < 30*time.Minute {
						status, body = 200, shipmentAnswers["UpdateItem"]
					}
					return &http.Response{StatusCode: status, Header: http.Header{"Date": {now.UTC().Format(http.TimeFormat)}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
				}),
			})
			_, s := shipments(t, client, codec)
			_, err := s.Update(t.Context(), Shipment{Depot: "north", ID: "p-0001"}, entity.Set(&entity.Fields[Shipment]().Count, 3))
			if skew == 0 {
				require.Error(t, err)
				require.False(t, entity.IsAmbiguous(err))
				require.Equal(t, 1, requests)
				continue
			}
			require.NoError(t, err, "codec %v, %s", codec, code)
			require.Equal(t, 2, requests, "codec %v, %s", codec, code)
		}
	}
}

// counting is a signer that a program has set.
type counting struct {
	*v4.Signer
	signed int
}

func (c *counting) SignHTTP(ctx context.Context, creds aws.Credentials, r *http.Request, payloadHash, service, region string, at time.Time, optFns ...func(*v4.SignerOptions)) error {
	c.signed++
	return c.Signer.SignHTTP(ctx, creds, r, payloadHash, service, region, at, optFns...)
}

// The signer of a client signs all of its requests.
func TestSigning_UsesTheSignerOfTheClient(t *testing.T) {
	t.Parallel()
	v := newVerifier(t)
	own := &counting{Signer: v4.NewSigner()}
	everyVerb(t, v.client(func(o *dynamodb.Options) { o.HTTPSignerV4 = own }), entity.OwnCodec)
	assert.Empty(t, v.wrong)
	n := 0
	for _, of := range v.seen {
		n += of
	}
	assert.Equal(t, n, own.signed)
}
