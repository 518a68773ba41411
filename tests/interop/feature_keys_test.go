package interop_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// featured is the entity of the vectors with everything that lies beside items.
type featured struct {
	_ entity.Key `name:"UserProfile" pk:"$#userid_{userId}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"Email" fields:"Email"`
	_ unique.Constraint `name:"tenantEmail" fields:"tenant,Email"`

	UserID  string `dynamodbav:"userId"`
	Tenant  string `dynamodbav:"tenant,omitempty"`
	Email   string `dynamodbav:"Email,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// nothing is a database without items, which remembers the keys that it was asked for, but for that of the current item.
type nothing struct{ last struct{ PK, SK string } }

func (n *nothing) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var in struct{ Key map[string]struct{ S string } }
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if sk := in.Key["sk"].S; in.Key != nil && sk != "$myapp#v1#userprofile" {
		n.last.PK, n.last.SK = in.Key["pk"].S, in.Key["sk"].S
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: req}, nil
}

// featureKey gives the key of a snapshot, a deleted copy or a sentinel: the last that is read for it.
func (v keyVector) featureKey(t *testing.T) (text, reason string, err error) {
	t.Helper()
	asked := &nothing{}
	client := dynamodb.New(dynamodb.Options{
		Region: "local", HTTPClient: asked, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		BaseEndpoint: aws.String("http://localhost"), DisableValidateResponseChecksum: true,
	})
	cfg := entity.Config{Table: "t"}
	sharedTable(v.Schema.Name, 1)(&cfg)
	db := entity.Must(entity.Open(client, cfg))
	s := entity.Must(entity.New[featured](db))
	history := entity.Must(versioned.Of(s))
	bin, err := lifecycle.Of(s)
	require.NoError(t, err)
	key, reason := featured{UserID: "x"}, same

	switch v.Fn {
	case "composeVersionKey":
		n := argument[int64](t, v.Args[1])
		if n > 9_999_999 {
			reason = longVersion
		}
		_, err = history.Get(t.Context(), key, n)
	case "composeVersionKeyPrefix":
		_, err = history.Get(t.Context(), key, 0)
	case "composeDeletedKey":
		_, err = bin.RestoreCopy(t.Context(), lifecycle.DeletedItem[featured]{Item: key, DeletedAt: argument[time.Time](t, v.Args[1])})
	case "composeDeletedKeyPrefix":
		_, err = bin.RestoreCopy(t.Context(), lifecycle.DeletedItem[featured]{Item: key, DeletedAt: time.Unix(0, 0)})
	case "composeUniqueKey":
		values := argument[[]string](t, v.Args[2])
		key.Email = values[len(values)-1]
		if len(values) > 1 {
			key.Tenant = values[0]
		}
		lookup := entity.Must(unique.Of(s, argument[string](t, v.Args[1])))
		_, err := lookup.Find(t.Context(), key)
		require.ErrorIs(t, err, entity.ErrNotFound)
		return asked.last.PK + " " + asked.last.SK, same, nil
	}
	require.ErrorIs(t, err, entity.ErrNotFound)
	text = asked.last.SK
	if strings.HasSuffix(v.Fn, "Prefix") {
		text = strings.TrimRight(text, "0123456789-:.TZ")
	}
	return text, reason, nil
}

func argument[V any](t *testing.T, text json.RawMessage) V {
	t.Helper()
	var v V
	require.NoError(t, json.Unmarshal(text, &v))
	return v
}

// pair is a recorded primary key as one text.
func pair(t *testing.T, key json.RawMessage) string {
	t.Helper()
	k := argument[struct{ PK, SK string }](t, key)
	return k.PK + " " + k.SK
}
