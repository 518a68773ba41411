package localdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// errStranger says that a database answers which is another one than the one that is asked for.
var errStranger = errors.New("another program's database answers on this port")

// await returns when the database answers. It gives up when ctx is done, when dead is closed because the process has ended, and when
// another database than that of the token answers. An empty token accepts any.
func await(ctx context.Context, client *http.Client, endpoint, token string, dead <-chan struct{}) error {
	var heard error // the last answer, which says more than that time ran out during the next attempt
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := ping(ctx, client, endpoint, token)
		if err == nil || errors.Is(err, errStranger) {
			return err
		}
		if heard == nil || ctx.Err() == nil {
			heard = err
		}
		select {
		case <-dead:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w (%w)", heard, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// ping asks for the list of tables. The signature is invented, since the local databases refuse a request without one but check none;
// one that does check it answers with an error in DynamoDB's own form, which shows just as well that it is there.
//
// A database that was started with a token shows that it is that one: DynamoDB Local names the token as the only origin that it
// lets in, and Dynoxide has a table of that name.
func ping(ctx context.Context, client *http.Client, endpoint, token string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	resp, err := ask(ctx, client, endpoint, "ListTables", `{"Limit":1}`, token)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return err
	}
	listed := resp.StatusCode == http.StatusOK && bytes.Contains(body, []byte(`"TableNames"`))
	refused := resp.StatusCode == http.StatusBadRequest && bytes.Contains(body, []byte(`"__type"`))
	switch {
	case !listed && !refused:
		return fmt.Errorf("what answers is not DynamoDB: status %d", resp.StatusCode)
	case token != "" && resp.Header.Get("Access-Control-Allow-Origin") != token && !bytes.Contains(body, []byte(`"`+token+`"`)):
		return errStranger
	}
	return nil
}

// dropToken removes the table by which a database has shown that it is the one with this token.
func dropToken(ctx context.Context, client *http.Client, endpoint, token string) error {
	resp, err := ask(ctx, client, endpoint, "DeleteTable", `{"TableName":"`+token+`"}`, "")
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("delete table %s: status %d", token, resp.StatusCode)
	}
	return nil
}

// ask sends one request under an invented signature.
func ask(ctx context.Context, client *http.Client, endpoint, verb, body, origin string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+"/", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+verb)
	req.Header.Set("X-Amz-Date", "20260101T000000Z")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+accessKey+"/20260101/"+region+
		"/dynamodb/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature="+strings.Repeat("0", 64))
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	return client.Do(req)
}
