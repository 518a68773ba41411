package console

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"
)

// breaking is an HTTP client whose first answer to an operation ends in its middle.
type breaking struct {
	dynamodb.HTTPClient
	operation string
	count     int // of requests
}

func (b *breaking) Do(r *http.Request) (*http.Response, error) {
	resp, err := b.HTTPClient.Do(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+b.operation) {
		return resp, err
	}
	if b.count++; b.count == 1 {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), cut{}))
	}
	return resp, nil
}

// cut fails as net/http does where a connection ends too early.
type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A command repeats a request whose answer breaks off, and prints what it prints otherwise.
func TestRead_RepeatsAfterABrokenAnswer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	dump := filepath.Join(t.TempDir(), "items.jsonl")
	require.NoError(t, os.WriteFile(dump, []byte(l.run("dump").out), 0o600))
	whole := l.client
	for operation, args := range map[string]string{
		"Scan":           "check",
		"DescribeTable":  "check",
		"Query":          "log Employee employeeId=e-1",
		"GetItem":        "get Employee employeeId=e-1",
		"BatchWriteItem": "--yes load " + dump,
	} {
		t.Run(operation, func(t *testing.T) {
			l.client = whole
			want := l.run(strings.Fields(args)...)
			broken := &breaking{whole.Options().HTTPClient, operation, 0}
			l.client = dynamodb.New(whole.Options(), func(o *dynamodb.Options) { o.HTTPClient = broken })
			require.Equal(t, want, l.run(strings.Fields(args)...))
			require.GreaterOrEqual(t, broken.count, 2)
		})
	}
}
