package calls_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Badge has a lock and a unique value.
type Badge struct {
	_ entity.Key `name:"Badge" pk:"$#{id}" sk:"$"`
	_ versioned.Lock
	_ unique.Constraint `name:"owner" fields:"owner"`

	ID      string `dynamodbav:"id"`
	Owner   string `dynamodbav:"owner"`
	Version int    `dynamodbav:"version" entity:"version"`
}

// A line is logged at the level of the failure's class, names what the call was about, and quotes no value.
func TestSlogTracer_Levels(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := open(t, func(c *entity.Config) {
		c.Tracer, c.MaxAttempts = entity.SlogTracer(slog.New(slog.NewTextHandler(&log, nil)), entity.SlogOptions{}), 1
	})
	badges, invoices := entity.Must(entity.New[Badge](l.DB)), entity.Must(entity.New[Invoice](l.DB))
	l.CreateTables()
	ctx, f := t.Context(), entity.Fields[Badge]()
	l.OK(badges.Create(ctx, Badge{ID: "a", Owner: "ada lovelace"}))
	gone := l.Open(dynamodb.New(l.Raw.Options(), func(o *dynamodb.Options) {
		o.BaseEndpoint, o.HTTPClient = aws.String("http://127.0.0.1:1"), http.DefaultClient // nothing listens there
	}))
	for _, c := range []struct {
		want string
		call func(ctx context.Context) error
	}{
		{"level=INFO verb=Update entity=Badge error=ErrConflict", func(ctx context.Context) error {
			return dbtest.ErrorOf(badges.Update(ctx, Badge{ID: "a", Version: 7}, entity.Set(&f.Owner, "b")))
		}},
		{"level=INFO verb=Create entity=Badge error=ErrTaken", func(ctx context.Context) error {
			return dbtest.ErrorOf(badges.Create(ctx, Badge{ID: "b", Owner: "ada lovelace"}))
		}},
		{"level=INFO verb=Get entity=Badge error=EDD-", func(ctx context.Context) error { return dbtest.ErrorOf(badges.Get(ctx, Badge{})) }},
		{"level=INFO entity=Badge error=ErrInvalidCursor", func(ctx context.Context) error {
			return dbtest.ErrorOf(badges.Query(Badge{ID: "a"}).Page(ctx, "no cursor"))
		}},
		{`level=ERROR verb=Get entity=Badge error="no connection"`, func(ctx context.Context) error {
			return dbtest.ErrorOf(dbtest.Declare[Badge](t, gone).Get(ctx, Badge{ID: "a"}))
		}},
		{`level=INFO verb=Transact call=checkout entities="Badge Invoice" error=ErrNotFound`, func(ctx context.Context) error {
			return l.DB.Transact(entity.WithCallName(ctx, "checkout"), invoices.Op().Create(Invoice{ID: "x"}), invoices.Op().Delete(Invoice{ID: "y"}), badges.Op().Delete(Badge{ID: "c"}))
		}},
	} {
		log.Reset()
		require.Error(t, c.call(ctx), c.want)
		require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
		for _, part := range strings.SplitAfter(strings.ReplaceAll(c.want, `"Badge Invoice"`, `"Badge_Invoice"`), " ") {
			part = strings.ReplaceAll(strings.TrimSpace(part), "_", " ")
			require.Contains(t, log.String(), part)
		}
		require.NotContains(t, log.String(), "lovelace")
	}
}
