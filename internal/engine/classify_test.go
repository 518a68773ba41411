package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// peer listens, handles each connection with serve, and returns its address.
func peer(t *testing.T, serve func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { require.NoError(t, l.Close()); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c.(*net.TCPConn))
		}
	}()
	return l.Addr().String()
}

// receive reads one request in full.
func receive(c net.Conn) error {
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err
}

func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

func reply(c net.Conn, status int, length int, body string) {
	fmt.Fprintf(c, "HTTP/1.1 %d X\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n%s", status, length, body)
}

// narrow returns a transport whose connections buffer little.
func narrow() *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetWriteBuffer(4096)
		}
		return c, err
	}}
}

type doer func(*http.Request) (*http.Response, error)

func (f doer) Do(r *http.Request) (*http.Response, error) { return f(r) }

// attempted sends one put and returns the class of its failure.
func attempted(ctx context.Context, client Client, size int) (class, error) {
	r := &Runner{Client: client, MaxAttempts: 1}
	it := item.Item{"pk": item.S("x"), "v": item.S(strings.Repeat("x", size))}
	out := new(request)
	out.watch[0], out.Call.Watch = out.Watch, out.watch[:]
	_, err := r.single(ctx, &plan.Action{Kind: plan.Put, Table: "t", Item: it}, out)
	if err == nil {
		return final, nil
	}
	return out.classify(ctx, err), err
}

func dynamo(url string, change ...func(*dynamodb.Options)) *dynamodb.Client {
	o := dynamodb.Options{
		BaseEndpoint: &url, Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), HTTPClient: &http.Client{Transport: narrow()},
	}
	for _, f := range change {
		f(&o)
	}
	return dynamodb.New(o)
}

func TestAttempt_SaysWhichBrokenConnectionsLeaveAWriteInDoubt(t *testing.T) {
	t.Parallel()
	const much = 350 * 1024
	closed := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		return l.Addr().String()
	}
	for name, c := range map[string]struct {
		url   func() string
		serve func(*net.TCPConn)
		size  int
		want  class
	}{
		"nobody listens": {url: func() string { return "http://" + closed() }, want: transient},
		"no such host":   {url: func() string { return "http://nowhere.invalid" }, want: transient},
		"no handshake":   {url: func() string { return "https://" + peer(t, func(c *net.TCPConn) { reset(c) }) }, want: transient},
		"cut in the request": {serve: func(c *net.TCPConn) {
			_ = c.SetReadBuffer(4096)
			_, _ = io.ReadFull(c, make([]byte, 8192))
			reset(c)
		}, size: much, want: transient},
		"cut after the request":       {serve: func(c *net.TCPConn) { _ = receive(c); reset(c) }, want: unknown},
		"closed after a long request": {serve: func(c *net.TCPConn) { _ = receive(c); _ = c.Close() }, size: much, want: unknown},
		"cut in the answer's header": {serve: func(c *net.TCPConn) {
			_ = receive(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Le")
			_ = c.Close()
		}, want: unknown},
		"cut in the answer's body": {serve: func(c *net.TCPConn) { _ = receive(c); reply(c, 200, 100, "{"); _ = c.Close() }, want: unknown},
		"no JSON":                  {serve: func(c *net.TCPConn) { _ = receive(c); reply(c, 200, 4, "<p/>"); _ = c.Close() }, want: unknown},
		"server error":             {serve: func(c *net.TCPConn) { _ = receive(c); reply(c, 500, 2, "{}"); _ = c.Close() }, want: unknown},
		"gateway without answer":   {serve: func(c *net.TCPConn) { _ = receive(c); reply(c, 502, 2, "no"); _ = c.Close() }, want: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := ""
			if c.url != nil {
				url = c.url()
			} else {
				url = "http://" + peer(t, c.serve)
			}
			got, err := attempted(t.Context(), dynamo(url), c.size)
			require.Error(t, err)
			require.Equal(t, c.want, got, "%v", err)
		})
	}
}

func TestAttempt_CancelIsAmbiguousOnlyDuringARequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	got, err := attempted(ctx, dynamo("http://"+peer(t, func(c *net.TCPConn) { _ = receive(c); cancel() })), 0)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, unknown, got, "the request was received")

	ctx, cancel = context.WithCancel(t.Context())
	dialling := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	got, err = attempted(ctx, dynamo("http://127.0.0.1:1", func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: dialling} }), 0)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, transient, got, "there was no connection")

	ctx, cancel = context.WithCancel(t.Context())
	asking := aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) { cancel(); return aws.Credentials{}, ctx.Err() })
	got, err = attempted(ctx, dynamo("http://127.0.0.1:1", func(o *dynamodb.Options) { o.Credentials = asking }), 0)
	require.Error(t, err)
	require.Equal(t, transient, got, "there was no request yet")
}

func TestAttempt_WithoutHooksTheTypeOfTheErrorDecides(t *testing.T) {
	t.Parallel()
	for want, err := range map[class]error{unknown: errors.New("reset"), transient: &net.OpError{Op: "dial", Err: errors.New("refused")}} {
		client := dynamo("http://127.0.0.1:1", func(o *dynamodb.Options) {
			o.HTTPClient = doer(func(*http.Request) (*http.Response, error) { return nil, err })
		})
		got, sent := attempted(t.Context(), client, 0)
		require.ErrorIs(t, sent, err)
		require.Equal(t, want, got)
	}
}

func TestAttempt_AClientThatTriesTwiceMayHaveSentTheFirst(t *testing.T) {
	t.Parallel()
	plain := &http.Client{Transport: narrow()}
	target := peer(t, func(c *net.TCPConn) { _ = receive(c); reset(c) })
	client := dynamo("http://"+target, func(o *dynamodb.Options) {
		o.HTTPClient = doer(func(r *http.Request) (*http.Response, error) {
			_, _ = plain.Do(r)
			return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
		})
	})
	got, err := attempted(t.Context(), client, 0)
	require.Error(t, err)
	require.Equal(t, unknown, got)
}

// stale refuses to write once it has been used, like a kept connection that the server has closed.
type stale struct {
	net.Conn
	dead *atomic.Bool
}

func (c stale) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

func TestAttempt_AClosedConnectionIsReplacedBeforeAWrite(t *testing.T) {
	t.Parallel()
	served := make(chan struct{}, 10)
	target := peer(t, func(c *net.TCPConn) {
		for receive(c) == nil {
			served <- struct{}{}
			reply(c, 200, 2, "{}")
		}
	})
	var dead atomic.Bool
	dials := 0
	tr := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if dials++; dials == 1 {
			return stale{c, &dead}, err
		}
		return c, err
	}}
	defer tr.CloseIdleConnections()
	client := dynamo("http://"+target, func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: tr} })
	_, err := attempted(t.Context(), client, 0)
	require.NoError(t, err)
	dead.Store(true)
	_, err = attempted(t.Context(), client, 9000)
	require.NoError(t, err)
	require.Equal(t, 2, dials)
	require.Len(t, served, 2)
}

func TestAttempt_AWriteThatHasNotEndedMayStillArrive(t *testing.T) {
	t.Parallel()
	var a request
	require.NoError(t, a.Watch(middleware.NewStack("", smithyhttp.NewStackRequest)))
	a.begun = true
	hooks := &a.trace
	require.False(t, a.unsent(), "no hook was called")
	hooks.GetConn("")
	require.True(t, a.unsent(), "no connection was had")
	hooks.GotConn(httptrace.GotConnInfo{})
	require.False(t, a.unsent(), "the transport may be writing")
	hooks.WroteRequest(httptrace.WroteRequestInfo{Err: io.ErrUnexpectedEOF})
	require.True(t, a.unsent(), "it was cut")
	hooks.GotConn(httptrace.GotConnInfo{})
	require.False(t, a.unsent(), "it is written once more")
	hooks.WroteRequest(httptrace.WroteRequestInfo{})
	require.False(t, a.unsent())
}

// connecting is an HTTP client that calls the hooks of a request as a transport with a kept connection does.
type connecting struct{}

func (connecting) Do(r *http.Request) (*http.Response, error) {
	if hooks := httptrace.ContextClientTrace(r.Context()); hooks != nil && hooks.GotConn != nil {
		hooks.GotConn(httptrace.GotConnInfo{})
	}
	return &http.Response{StatusCode: 200, ContentLength: 2, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// twice sends each put twice, with the options of one.
type twice struct{ Client }

func (c twice) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if _, err := c.Client.PutItem(ctx, in, opts...); err != nil {
		return nil, err
	}
	return c.Client.PutItem(ctx, in, opts...)
}

func TestAttempt_EachRequestCallsTheHooksOfTheCallerOnce(t *testing.T) {
	t.Parallel()
	calls := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { calls++ }})
	client := dynamo("http://127.0.0.1:1", func(o *dynamodb.Options) { o.HTTPClient = connecting{} })
	_, err := attempted(ctx, twice{client}, 0)
	require.NoError(t, err)
	require.Equal(t, 2, calls, "of two requests")
}

// slow is a client whose reads take a time and return an error or consume units.
type slow struct {
	Client
	takes time.Duration
	err   error
	units float64
	sent  atomic.Int32
}

func (c *slow) GetItem(ctx context.Context, _ *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	c.sent.Add(1)
	if err := Sleep(ctx, c.takes); err != nil {
		return nil, err
	}
	return &dynamodb.GetItemOutput{ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: &c.units}}, c.err
}

func get(ctx context.Context, r *Runner) error {
	_, err := r.Get(ctx, "t", item.Item{}, true)
	return err
}

// Repetitions cost what they cost in the SDK; a timeout costs twice as much, a conflict nothing.
func TestRetries_CostTokens(t *testing.T) {
	t.Parallel()
	throttled := error(&types.ProvisionedThroughputExceededException{})
	conflict := error(&types.TransactionConflictException{})
	for _, c := range []struct {
		name     string
		budget   uint
		err      error
		takes    time.Duration
		requests int
		class    error
	}{
		{"throttling", 12, throttled, 0, 3, sentinel.ErrRetryBudget},
		{"a budget that ends the same way as the attempts", 20, throttled, 0, 5, nil},
		{"timeouts", 12, nil, time.Minute, 2, sentinel.ErrRetryBudget},
		{"conflicts", 1, conflict, 0, 5, sentinel.ErrConflict},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := &slow{err: c.err, takes: c.takes}
			r := &Runner{Client: client, MaxAttempts: 5, RequestTimeout: time.Second, Retries: ratelimit.NewTokenRateLimit(c.budget)}
			err := get(t.Context(), r)
			require.Error(t, err)
			require.EqualValues(t, c.requests, client.sent.Load(), c.name)
			if c.err != nil {
				require.ErrorIs(t, err, c.err, "the cause is in the error")
			}
			if c.class != nil {
				require.ErrorIs(t, err, c.class, c.name)
			} else {
				require.NotErrorIs(t, err, sentinel.ErrRetryBudget)
			}
		})
	}
}

// A repetition that is answered gives back its tokens, and each answer adds one.
func TestRetries_ComeBackWithAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &slow{}
		r := &Runner{Client: client, MaxAttempts: 5, Retries: ratelimit.NewTokenRateLimit(10)}
		left := func() (n int) {
			for {
				token, err := r.Retries.GetToken(t.Context(), 1)
				if err != nil {
					require.NoError(t, r.Retries.AddTokens(uint(n)))
					return n
				}
				_, n = token, n+1
			}
		}
		client.err = &types.ProvisionedThroughputExceededException{}
		require.ErrorIs(t, get(t.Context(), r), sentinel.ErrRetryBudget)
		require.Equal(t, 0, left())
		client.err = nil
		for range 7 {
			require.NoError(t, get(t.Context(), r))
		}
		require.Equal(t, 7, left())
		k, err := r.try(t.Context(), &attempts{sent: 1, token: func() error { return r.Retries.AddTokens(2) }}, "GetItem", []string{"t"}, func(context.Context, *request) error { return nil })
		require.Equal(t, success, k)
		require.NoError(t, err)
		require.Equal(t, 10, left())
	})
}

func TestRequestTimeout_CountsAsALostAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &slow{takes: time.Minute}
		r := &Runner{Client: client, MaxAttempts: 3, RequestTimeout: time.Second, Pause: func(context.Context, int) error { return nil }}
		begun, err := time.Now(), get(t.Context(), r)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "request timeout of 1s")
		require.EqualValues(t, 3, client.sent.Load())
		require.Equal(t, 3*time.Second, time.Since(begun))

		write := func(ctx context.Context, _ *request) error { return Sleep(ctx, time.Minute) }
		k, _ := r.try(t.Context(), &attempts{}, "PutItem", []string{"t"}, write)
		require.Equal(t, unknown, k, "a write without an answer may have been applied")
		k, _ = r.try(t.Context(), &attempts{}, "PutItem", []string{"t"}, func(context.Context, *request) error { return &types.ConditionalCheckFailedException{} })
		require.Equal(t, refused, k)
	})
}

func TestRepetition_DoesNotBeginAPauseThatPassesTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &slow{err: &types.ProvisionedThroughputExceededException{}}
		r := &Runner{Client: client, MaxAttempts: 1000}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		err := get(ctx, r)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, client.err)
		require.NoError(t, ctx.Err(), "the call ended before its context")
	})
}

func TestPace_SpreadsRequestsByWhatTheyConsume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &slow{units: 128}
		r, ctx := &Runner{Client: client, MaxAttempts: 1}, bind.WithPace(t.Context(), bind.NewPace(64, 0))
		begun := time.Now()
		for range 10 {
			require.NoError(t, get(ctx, r))
		}
		require.Equal(t, 17*time.Second, time.Since(begun), "1,152 units had to be paid for, 64 of them were saved")
		require.NoError(t, get(context.WithValue(ctx, bind.PaceKey{}, []*bind.Pace(nil)), r))
		require.Equal(t, 17*time.Second, time.Since(begun))

		shared, done := bind.WithPace(t.Context(), bind.NewPace(64, 0)), make(chan error)
		begun = time.Now()
		for range 4 {
			go func() {
				for range 5 {
					if err := get(shared, r); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for range 4 {
			require.NoError(t, <-done)
		}
		took := time.Since(begun)
		require.GreaterOrEqual(t, took, (16*128-64)/64*time.Second, "at most four are under way before the units of one are known")
		require.LessOrEqual(t, took, (19*128-64)/64*time.Second)

		ctx, cancel := context.WithCancel(bind.WithPace(t.Context(), bind.NewPace(1, 0)))
		time.AfterFunc(time.Second, cancel)
		begun = time.Now()
		require.NoError(t, get(ctx, r))
		require.ErrorIs(t, get(ctx, r), context.Canceled)
		require.Equal(t, time.Second, time.Since(begun))
	})
}

// Nothing of tracing, budgets and timeouts costs an allocation when it is unset.
func TestTry_AllocatesNothingMoreUnlessItIsObserved(t *testing.T) {
	r := &Runner{MaxAttempts: 1, Retries: ratelimit.NewTokenRateLimit(500)}
	ctx, tables := t.Context(), []string{"t"}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		tr := attempts{}
		if k, err := r.try(ctx, &tr, "GetItem", tables, func(context.Context, *request) error { return nil }); k != success || err != nil {
			t.Error(k, err)
		}
	}), 1.0, "the request itself")
	f := func(context.Context) error { return nil }
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := r.Measure(ctx, entitytype.Call{Verb: "Get", Entity: "E", Table: "t"}, f); err != nil {
			t.Error(err)
		}
	}))
}

// A repetition that is not made costs nothing: if no time is left for its pause, or if the wait for a budget of units ends
// with its context.
func TestRetries_ComeBackIfThereIsNoTimeLeft(t *testing.T) {
	t.Parallel()
	for _, ended := range []error{errDeadline, nil} {
		synctest.Test(t, func(t *testing.T) {
			client := &slow{err: &types.ProvisionedThroughputExceededException{}}
			r := &Runner{Client: client, MaxAttempts: 5, Retries: ratelimit.NewTokenRateLimit(awsretry.DefaultRetryCost)}
			for range 2 {
				budget := bind.NewPace(1, 0)
				r.Pause = func(context.Context, int) error { budget.Spend(time.Now(), 3600, 0); return ended }
				ctx, cancel := context.WithTimeout(bind.WithPace(t.Context(), budget), time.Second)
				err := get(ctx, r)
				cancel()
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.NotErrorIs(t, err, sentinel.ErrRetryBudget)
			}
		})
	}
}

// After the life of its token DynamoDB would take a repetition for another transaction.
func TestPace_DoesNotDelayATransactionBeyondItsToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		budget := bind.NewPace(0, 1)
		client := &script{errs: []error{&types.InternalServerError{}}, sent: func() { budget.Spend(time.Now(), 0, 3600) }}
		r, begun := &Runner{Client: client, MaxAttempts: 5}, time.Now()
		b := &transaction{r: r, actions: []plan.Action{{Kind: plan.Put, Table: "t", Item: item.Item{"pk": item.S("a")}}}}
		_, err := b.deliver(bind.WithPace(t.Context(), budget), "token")
		var ambiguous *plan.Ambiguous
		require.ErrorAs(t, err, &ambiguous)
		require.Len(t, client.tokens, 1)
		require.LessOrEqual(t, time.Since(begun), longestToken)
	})
}

// The life of a token begins when it is first sent, however long a budget has delayed that.
func TestPace_ATransactionThatWaitedForLongIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, budget := &script{errs: []error{&types.ProvisionedThroughputExceededException{}}}, bind.NewPace(0, 1)
		budget.Spend(time.Now(), 0, 3600)
		r := &Runner{Client: client, MaxAttempts: 5}
		b := &transaction{r: r, actions: []plan.Action{{Kind: plan.Put, Table: "t", Item: item.Item{"pk": item.S("a")}}}}
		_, err := b.deliver(bind.WithPace(t.Context(), budget), "token")
		require.NoError(t, err)
		require.Len(t, client.tokens, 2)
	})
}

func TestThrottle_OfItsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]entitytype.Throttle{
		"TableReadKeyRangeThroughputExceeded":     {Limit: "KeyRangeThroughputExceeded", Kind: "Table", Operation: "Read"},
		"IndexWriteMaxOnDemandThroughputExceeded": {Limit: "MaxOnDemandThroughputExceeded", Kind: "Index", Operation: "Write"},
		"TableWriteProvisionedThroughputExceeded": {Limit: "ProvisionedThroughputExceeded", Kind: "Table", Operation: "Write"},
		"SomethingNew": {Limit: "SomethingNew"},
		"TableRead":    {Limit: "TableRead"},
		"":             {},
	} {
		require.Equal(t, want, throttleOf(text, ""), text)
	}
}
