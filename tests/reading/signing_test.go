package reading_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

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
