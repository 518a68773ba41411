package codec_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// slowBody is a body whose Read has returned while its content is still being written into the buffer, as behind the SDK's
// AddResponseReadTimeoutMiddleware.
type slowBody struct {
	buffers *[][]byte
	end     func() (int, error)
}

func (b slowBody) Read(p []byte) (int, error) {
	*b.buffers = append(*b.buffers, p)
	return b.end()
}

// lateWriter is a body that is complete. Before it ends, the slow bodies write what they had.
type lateWriter struct {
	io.Reader
	buffers *[][]byte
	late    string
}

func (b lateWriter) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		for _, p := range *b.buffers {
			copy(p, b.late)
		}
	}
	return n, err
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// collect queries a client whose answers have these bodies. A panic is an error.
func collect[T any](ctx context.Context, codec entity.Codec, of T, body func() io.Reader) (all []T, err error) {
	client := dynamodb.New(dynamodb.Options{Region: "eu-west-1", Credentials: aws.AnonymousCredentials{}, HTTPClient: doer(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body()), ContentLength: -1}, nil
	})})
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	db := entity.Must(entity.Open(client, entity.Config{Table: "app", Codec: codec, MaxAttempts: 1}))
	return entity.Must(entity.New[T](db)).Query(of).Collect(ctx)
}

type timedOut struct{}

func (timedOut) Error() string { return "read on body reach timeout limit" }
func (timedOut) Timeout() bool { return true }

// A buffer that a failed read may still write into serves no other answer, of another client or tenant.
func TestCodec_AnswersHaveNoBytesOfOthers(t *testing.T) { // not parallel: other tests would take the buffers
	const rounds = 50
	own, others := shipmentsJSON(3), strings.ReplaceAll(shipmentsJSON(3), "p-000", "x-999")
	for _, codec := range []entity.Codec{entity.OwnCodec, entity.SDKCodec} {
		for name, end := range map[string]func(context.CancelFunc) (int, error){
			"error": func(context.CancelFunc) (int, error) { return 0, timedOut{} },
			"cancellation": func(cancel context.CancelFunc) (int, error) {
				cancel()
				return 0, context.Canceled
			},
			"panic": func(context.CancelFunc) (int, error) { panic("a body of the program") },
		} {
			changed := 0
			for range rounds {
				var buffers [][]byte
				ctx, cancel := context.WithCancel(t.Context())
				_, err := collect(ctx, codec, Shipment{Depot: "north"}, func() io.Reader {
					return slowBody{&buffers, func() (int, error) { return end(cancel) }}
				})
				cancel()
				require.Error(t, err)
				require.NotEmpty(t, buffers)
				all, err := collect(t.Context(), codec, Shipment{Depot: "north"}, func() io.Reader {
					return lateWriter{strings.NewReader(own), &buffers, others}
				})
				if err != nil || len(all) != 3 || all[0].ID != "p-0000" {
					changed++
				}
			}
			assert.Zero(t, changed, "codec %v, %s: of %d answers", codec, name, rounds)
		}
	}
}
