package sigv4

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/testsize"
)

// other is the SDK's signer, which notes that it was asked.
type other struct{ asked int }

func (o *other) SignHTTP(ctx context.Context, c aws.Credentials, r *http.Request, payloadHash, service, region string, at time.Time, optFns ...func(*v4.SignerOptions)) error {
	o.asked++
	return v4.NewSigner().SignHTTP(ctx, c, r, payloadHash, service, region, at, optFns...)
}

// signed is a request with what it is signed with.
type signed struct {
	r               *http.Request
	c               aws.Credentials
	hash            string
	service, region string
	at              time.Time
	opts            []func(*v4.SignerOptions)
}

// by returns what signer makes of a copy of the request.
func (s signed) by(t testing.TB, signer v4.HTTPSigner) *http.Request {
	t.Helper()
	r := s.r.Clone(t.Context())
	require.NoError(t, signer.SignHTTP(t.Context(), s.c, r, s.hash, s.service, s.region, s.at, s.opts...))
	return r
}

// bySDK is by for a signer of the SDK that remembers no key: it would take the key of another secret of the same access key.
func (s signed) bySDK(t testing.TB) *http.Request { return s.by(t, v4.NewSigner()) }

// requireSame fails unless two signed requests are the same.
func requireSame(t testing.TB, want, got *http.Request) {
	t.Helper()
	require.Equal(t, want.Header, got.Header)
	require.Equal(t, want.URL, got.URL)
	require.Equal(t, want.Host, got.Host)
}

func pick[V any](r *rand.Rand, vs ...V) V { return vs[r.IntN(len(vs))] }

func hexOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

func word(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

// known returns a random request of the known shape.
func known(r *rand.Rand) signed {
	region := pick(r, "eu-central-1", "us-east-1", "us-gov-west-1", "cn-north-1", "local")
	host := pick(r, "dynamodb."+region+".amazonaws.com", "123456789012.ddb."+region+".amazonaws.com", "dynamodb."+region+".api.aws",
		"localhost:8000", "127.0.0.1:4566", "[::1]:8000", "dynamodb.example.com:8443", word(r, 1+r.IntN(20)))
	header := http.Header{
		"Amz-Sdk-Invocation-Id": {fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12), r.Int64N(1<<48))},
		"Amz-Sdk-Request":       {fmt.Sprintf("attempt=%d; max=%d", 1+r.IntN(9), 1+r.IntN(9))},
		"Content-Type":          {"application/x-amz-json-1.0"},
		"X-Amz-Target":          {"DynamoDB_20120810." + pick(r, "GetItem", "PutItem", "UpdateItem", "TransactWriteItems", "Query")},
		"User-Agent":            {"aws-sdk-go-v2/1.47.6 os/linux  m/E,e "},
		"Accept-Encoding":       {pick(r, "identity", "gzip")},
	}
	for _, name := range []string{"Amz-Sdk-Request", "Accept-Encoding", "User-Agent", "X-Amz-Target", "Amz-Sdk-Invocation-Id"} {
		if r.IntN(8) == 0 {
			delete(header, name)
		}
	}
	if r.IntN(4) == 0 {
		header["X-Amzn-Trace-Id"] = []string{"Root=1-" + word(r, 8), "  other"}
	}
	body := word(r, 1+r.IntN(600))
	if r.IntN(8) == 0 {
		header["Content-Length"] = []string{"12", "13"} // the SDK's signer goes by the length of the request
	}
	s := signed{
		r: &http.Request{
			Method: http.MethodPost, URL: &url.URL{Scheme: pick(r, "https", "http"), Host: host, Path: "/", RawPath: pick(r, "", "/")},
			Header: header, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
		},
		c:    aws.Credentials{AccessKeyID: "AKIA" + word(r, 3), SecretAccessKey: word(r, pick(r, 1, 40, 64, 65, 100))},
		hash: hexOf(body), service: "dynamodb", region: region,
		at: time.Unix(r.Int64N(4e9), r.Int64N(1e9)).In(time.FixedZone("", r.IntN(86400)-43200)),
	}
	if r.IntN(3) == 0 {
		s.c.SessionToken = word(r, 1+r.IntN(900))
	}
	if r.IntN(4) == 0 {
		s.r.Host = pick(r, "vpce-1.dynamodb.example.com", "localhost:9000")
	}
	if r.IntN(2) == 0 {
		s.opts = []func(*v4.SignerOptions){func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }}
	}
	return s
}

func TestSigner_SignsLikeTheSDK(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 1))
	var rest other
	own := New(&rest)
	again := make([]signed, 0, mostKeys+2)
	for range testsize.Pick(5_000, 500_000) {
		s := known(r)
		if len(again) > 0 && r.IntN(2) == 0 { // other content with credentials, a place and perhaps a date that were used before
			was := pick(r, again...)
			s.c, s.service, s.region = was.c, was.service, was.region
			s.at = was.at.Add(pick(r, 0, time.Minute, 24*time.Hour))
			if r.IntN(4) == 0 {
				s.c.SecretAccessKey = word(r, 40) // a new secret of the same access key
			}
		}
		if again = append(again, s); len(again) == cap(again) {
			again = append(again[:0], again[1:]...)
		}
		requireSame(t, s.bySDK(t), s.by(t, own))
		require.LessOrEqual(t, len(*own.keys.known.Load()), mostKeys)
	}
	require.Zero(t, rest.asked, "requests of the known shape were left to the SDK")
}

// Requests that differ only in what one key is valid for are not signed with the same key.
func TestSigner_UsesTheKeyOfTheRequest(t *testing.T) {
	t.Parallel()
	first := known(rand.New(rand.NewPCG(testsize.Seed(t), 1)))
	for name, change := range map[string]func(s *signed){
		"secret":  func(s *signed) { s.c.SecretAccessKey += "X" },
		"region":  func(s *signed) { s.region = "eu-north-1" },
		"service": func(s *signed) { s.service = "dax" },
		"day":     func(s *signed) { s.at = s.at.Add(24 * time.Hour) },
	} {
		own, second := New(&other{}), first
		change(&second)
		for _, s := range []signed{first, second, first} {
			requireSame(t, s.bySDK(t), s.by(t, own))
		}
		require.Len(t, *own.keys.known.Load(), 2, name)
	}
}

// unknown changes a request of the known shape into another one.
var unknown = map[string]func(s *signed){
	"method":               func(s *signed) { s.r.Method = http.MethodGet },
	"path":                 func(s *signed) { s.r.URL.Path, s.r.URL.RawPath = "/a b/", "/a%20b/" },
	"no path":              func(s *signed) { s.r.URL.Path, s.r.URL.RawPath = "", "" },
	"escaped path":         func(s *signed) { s.r.URL.Path, s.r.URL.RawPath = "/", "/%2F" },
	"opaque":               func(s *signed) { s.r.URL.Opaque = "//example.com/x" },
	"query":                func(s *signed) { s.r.URL.RawQuery = "b=2&a=1" },
	"default port":         func(s *signed) { s.r.Host, s.r.URL.Scheme, s.r.URL.Host = "", "https", "example.com:443" },
	"default port of HTTP": func(s *signed) { s.r.Host, s.r.URL.Scheme, s.r.URL.Host = "", "http", "example.com:80" },
	"spaces in the host":   func(s *signed) { s.r.Host = " example.com  x" },
	"no host":              func(s *signed) { s.r.Host, s.r.URL.Host = "", "" },
	"no length":            func(s *signed) { s.r.ContentLength = -1 },
	"no body":              func(s *signed) { s.r.ContentLength = 0 },
	"unsigned payload":     func(s *signed) { s.hash = "UNSIGNED-PAYLOAD" },
	"header":               func(s *signed) { s.r.Header["X-Amz-Other"] = []string{"x"} },
	"header in lower case": func(s *signed) {
		s.r.Header["x-amz-target"] = []string{"x"}
		delete(s.r.Header, "X-Amz-Target") // the SDK's signer orders equal names at random
	},
	"header of the host":   func(s *signed) { s.r.Header["Host"] = []string{"x"} },
	"header of encoding":   func(s *signed) { s.r.Header["Transfer-Encoding"] = []string{"chunked"} },
	"date":                 func(s *signed) { s.r.Header["X-Amz-Date"] = []string{"x"} },
	"token":                func(s *signed) { s.r.Header["X-Amz-Security-Token"] = []string{"x"} },
	"several values":       func(s *signed) { s.r.Header["Content-Type"] = []string{"a", "b"} },
	"no value":             func(s *signed) { s.r.Header["Content-Type"] = []string{} },
	"empty value":          func(s *signed) { s.r.Header["Content-Type"] = []string{""} },
	"space before a value": func(s *signed) { s.r.Header["Content-Type"] = []string{" a"} },
	"space after a value":  func(s *signed) { s.r.Header["Content-Type"] = []string{"a "} },
	"spaces in a value":    func(s *signed) { s.r.Header["Content-Type"] = []string{"a  b"} },
	"tab":                  func(s *signed) { s.r.Header["Content-Type"] = []string{"a\t"} },
	"not ASCII":            func(s *signed) { s.r.Header["Content-Type"] = []string{"a\u00a0"} },
	"spaces in the token":  func(s *signed) { s.c.SessionToken = " a  b " },
	"no access key":        func(s *signed) { s.c.AccessKeyID = "" },
	"no secret":            func(s *signed) { s.c.SecretAccessKey = "" },
	"no session token": func(s *signed) {
		s.c.SessionToken = "x"
		s.opts = withOption(func(o *v4.SignerOptions) { o.DisableSessionToken = true })
	},
	"a year of five digits": func(s *signed) { s.at = time.Date(10_000, 1, 2, 3, 4, 5, 0, time.UTC) },
	"a year before Christ":  func(s *signed) { s.at = time.Date(-1, 1, 2, 3, 4, 5, 0, time.UTC) },
	"logging": func(s *signed) {
		s.opts = withOption(func(o *v4.SignerOptions) { o.LogSigning, o.Logger = true, nil })
	},
}

func withOption(f func(*v4.SignerOptions)) []func(*v4.SignerOptions) {
	return []func(*v4.SignerOptions){f}
}

func TestSigner_LeavesOtherRequestsToTheSDK(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 1))
	for name, change := range unknown {
		var rest other
		s := known(r)
		change(&s)
		want, got := s.bySDK(t), s.by(t, New(&rest))
		require.Equal(t, 1, rest.asked, name)
		requireSame(t, want, got)
	}
}

// One signer signs requests with different credentials at the same time.
func TestSigner_IsConcurrent(t *testing.T) {
	t.Parallel()
	seed := testsize.Seed(t)
	own := New(&other{})
	var all sync.WaitGroup
	for i := range uint64(4) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, i/2)) // two goroutines sign the same
			c := known(r).c
			for j := range testsize.Pick(200, 20_000) {
				s := known(r)
				if j%2 == 0 {
					s.c, s.at, s.region = c, time.Unix(1_795_363_720, 0), "eu-central-1"
				}
				want, got := s.bySDK(t), s.by(t, own)
				if !maps.EqualFunc(want.Header, got.Header, func(a, b []string) bool { return a[0] == b[0] }) {
					t.Errorf("%v, not %v", got.Header, want.Header)
				}
			}
		})
	}
	all.Wait()
}

func TestSigner_Allocates(t *testing.T) { // not parallel: other tests would allocate meanwhile
	s := known(rand.New(rand.NewPCG(1, 1)))
	s.c.SessionToken, s.opts = "token", nil
	own := New(&other{})
	n := testing.AllocsPerRun(200, func() {
		s.r.Header = maps.Clone(s.r.Header) // 2
		delete(s.r.Header, dateHeader)
		delete(s.r.Header, securityTokenHeader)
		delete(s.r.Header, authorizationHeader)
		require.NoError(t, own.SignHTTP(t.Context(), s.c, s.r, s.hash, s.service, s.region, s.at))
	})
	require.LessOrEqual(t, n, 9.0)
}

// Neither the secret nor what is derived of it is printed.
func TestSigner_PrintsNoSecret(t *testing.T) {
	t.Parallel()
	s := known(rand.New(rand.NewPCG(1, 1)))
	s.c.SecretAccessKey, s.c.SessionToken = "a-secret-that-is-not-printed", "a-token-that-is-not-printed"
	own := New(&other{})
	s.by(t, own)
	k := (*own.keys.known.Load())[0]
	for _, v := range []any{own, *own.keys.known.Load(), k} {
		for _, form := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
			text := fmt.Sprintf(form, v)
			require.NotContains(t, text, s.c.SecretAccessKey)
			require.NotContains(t, text, s.c.SessionToken)
			require.NotContains(t, text, hex.EncodeToString(k.secret[:]))
			require.NotContains(t, text, fmt.Sprint(k.secret[:4])[1:10])
		}
	}
	require.Equal(t, "a signing key", fmt.Sprintf("%+v", k))
	w := works.Get().(*work)
	require.NotContains(t, string(w.text[:cap(w.text)]), s.c.SessionToken)
}
