package localdb

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// await returns when the database answers. It gives up when ctx is done, or when dead is closed because the process has ended.
func await(ctx context.Context, client *http.Client, endpoint string, dead <-chan struct{}) error {
	var heard error // the last answer, which says more than that time ran out during the next attempt
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := ping(ctx, client, endpoint)
		if err == nil {
			return nil
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
func ping(ctx context.Context, client *http.Client, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+"/", strings.NewReader(`{"Limit":1}`))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	req.Header.Set("X-Amz-Date", "20260101T000000Z")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+accessKey+"/20260101/"+region+
		"/dynamodb/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature="+strings.Repeat("0", 64))
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusOK && bytes.Contains(body, []byte(`"TableNames"`)) ||
		resp.StatusCode == http.StatusBadRequest && bytes.Contains(body, []byte(`"__type"`)) {
		return nil
	}
	return fmt.Errorf("what answers is not DynamoDB: status %d", resp.StatusCode)
}
