package sigv4

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Signer signs requests as the SDK's signer does, byte for byte. It is safe for concurrent use.
type Signer struct {
	other v4.HTTPSigner // of requests of another shape
	keys  keys
}

// New returns a signer that leaves to other, which is the SDK's signer without options, the requests that it does not know.
func New(other v4.HTTPSigner) *Signer { return &Signer{other: other} }

// header is a header that is signed, as an index of names.
type header int

// The headers in the order in which they are signed.
const (
	acceptEncoding header = iota
	invocationID
	attempt
	contentLength
	contentType
	hostName
	date
	securityToken
	target
	headers
)

var names = [headers]string{
	acceptEncoding: "accept-encoding", invocationID: "amz-sdk-invocation-id", attempt: "amz-sdk-request", contentLength: "content-length",
	contentType: "content-type", hostName: "host", date: "x-amz-date", securityToken: "x-amz-security-token", target: "x-amz-target",
}

// The texts of the signature.
const (
	algorithm  = "AWS4-HMAC-SHA256"
	terminator = "aws4_request"
	longTime   = "20060102T150405Z"
	shortTime  = len("20060102")
	hexHash    = 2 * sha256.Size
)

// The headers that signing sets.
const (
	dateHeader          = "X-Amz-Date"
	securityTokenHeader = "X-Amz-Security-Token"
	authorizationHeader = "Authorization"
)

// work is the memory of one signature.
type work struct {
	options v4.SignerOptions
	values  [headers]string
	signed  [headers]bool
	length  int64 // of the body
	time    [32]byte
	text    []byte // the canonical request, then the text to sign, then the Authorization header
	hash    [sha256.Size]byte
}

var works = sync.Pool{New: func() any { return &work{text: make([]byte, 0, 2048)} }}

// release keeps w for the next signature, without the texts of this one, of which the session token is secret.
func (w *work) release() {
	w.options = v4.SignerOptions{}
	clear(w.values[:])
	clear(w.signed[:])
	clear(w.text[:cap(w.text)])
	w.text = w.text[:0]
	works.Put(w)
}

// SignHTTP implements dynamodb.HTTPSignerV4.
func (s *Signer) SignHTTP(ctx context.Context, c aws.Credentials, r *http.Request, payloadHash, service, region string, at time.Time, optFns ...func(*v4.SignerOptions)) error {
	w := works.Get().(*work)
	defer w.release()
	at = at.UTC()
	if !w.knows(&c, r, payloadHash, at, optFns) {
		return s.other.SignHTTP(ctx, c, r, payloadHash, service, region, at, optFns...)
	}
	now := string(at.AppendFormat(w.time[:0], longTime))
	w.set(date, now)
	set := make([]string, 3) // the values of the headers that are set
	set[0] = now
	r.Header[dateHeader] = set[0:1:1]
	if c.SessionToken != "" {
		w.set(securityToken, c.SessionToken)
		set[1] = c.SessionToken
		r.Header[securityTokenHeader] = set[1:2:2]
	}
	key := s.keys.of(c.SecretAccessKey, service, region, now[:shortTime])
	w.canonical(payloadHash)
	w.hash = sha256.Sum256(w.text)

	w.text = append(append(append(w.text[:0], algorithm...), '\n'), now...)
	w.text = append(append(w.text, '\n'), key.scope...)
	w.text = hex.AppendEncode(append(w.text, '\n'), w.hash[:])
	key.sign(w)

	w.text = append(append(append(w.text[:0], algorithm+" Credential="...), c.AccessKeyID...), '/')
	w.text = append(append(w.text, key.scope...), ", SignedHeaders="...)
	w.signedHeaders()
	w.text = hex.AppendEncode(append(w.text, ", Signature="...), w.hash[:])
	set[2] = string(w.text)
	r.Header[authorizationHeader] = set[2:3:3]
	return nil
}

// knows reports whether a request has the known shape. It takes its headers.
func (w *work) knows(c *aws.Credentials, r *http.Request, payloadHash string, at time.Time, optFns []func(*v4.SignerOptions)) bool {
	for _, fn := range optFns {
		fn(&w.options)
	}
	return !w.options.LogSigning && !w.options.DisableSessionToken &&
		c.AccessKeyID != "" && c.SecretAccessKey != "" && (c.SessionToken == "" || plain(c.SessionToken)) &&
		len(payloadHash) == hexHash && at.Year() >= 0 && at.Year() <= 9999 &&
		r.Method == http.MethodPost && atRoot(r) && w.takeHost(r) && w.takeLength(r) && w.takeHeaders(r.Header)
}

// atRoot reports whether r is sent to "/", without a query.
func atRoot(r *http.Request) bool {
	u := r.URL
	return u.Path == "/" && (u.RawPath == "" || u.RawPath == "/") && u.RawQuery == "" && u.Opaque == ""
}

// takeHost takes the host. It returns false if it may have the scheme's default port, which is not signed.
func (w *work) takeHost(r *http.Request) bool {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	w.set(hostName, host)
	return plain(host) && !strings.HasSuffix(host, ":80") && !strings.HasSuffix(host, ":443")
}

// takeLength takes the length of the body. It returns false if it is not known.
func (w *work) takeLength(r *http.Request) bool {
	w.length, w.signed[contentLength] = r.ContentLength, true
	return w.length > 0
}

// takeHeaders takes the headers that are signed. It returns false if there is an unknown one, or one with several values.
func (w *work) takeHeaders(all http.Header) bool {
	for name, values := range all {
		var h header
		switch name {
		case "Accept-Encoding":
			h = acceptEncoding
		case "Amz-Sdk-Invocation-Id":
			h = invocationID
		case "Amz-Sdk-Request":
			h = attempt
		case "Content-Type":
			h = contentType
		case "X-Amz-Target":
			h = target
		case "User-Agent", "X-Amzn-Trace-Id": // which proxies may change
			continue
		case "Content-Length": // signed as the request has it
			continue
		default:
			return false
		}
		if len(values) != 1 || !plain(values[0]) {
			return false
		}
		w.set(h, values[0])
	}
	return true
}

// plain reports whether a value is signed as it is: without spaces that would be removed.
func plain(value string) bool {
	if value == "" || value[0] == ' ' || value[len(value)-1] == ' ' {
		return false
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == ' ' && value[i-1] == ' ' {
			return false
		}
	}
	return true
}

func (w *work) set(h header, value string) { w.values[h], w.signed[h] = value, true }

// canonical writes the canonical request.
func (w *work) canonical(payloadHash string) {
	w.text = append(w.text[:0], "POST\n/\n\n"...)
	for h, is := range w.signed {
		if !is {
			continue
		}
		w.text = append(append(w.text, names[h]...), ':')
		if header(h) == contentLength {
			w.text = strconv.AppendInt(w.text, w.length, 10)
		}
		w.text = append(append(w.text, w.values[h]...), '\n')
	}
	w.text = append(w.text, '\n')
	w.signedHeaders()
	w.text = append(append(w.text, '\n'), payloadHash...)
}

// signedHeaders writes the names of the headers that are signed.
func (w *work) signedHeaders() {
	begin := len(w.text)
	for h, is := range w.signed {
		if !is {
			continue
		}
		if len(w.text) > begin {
			w.text = append(w.text, ';')
		}
		w.text = append(w.text, names[h]...)
	}
}
