package entity_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb/faults"
)

// slowTable answers the first looks at a table as if something of it were still being made.
type slowTable struct {
	next     faults.HTTPClient
	old, new string
	looks    int
}

func (s *slowTable) Do(req *http.Request) (*http.Response, error) {
	resp, err := s.next.Do(req)
	if err != nil || !strings.HasSuffix(req.Header.Get("X-Amz-Target"), ".DescribeTable") || s.looks == 0 {
		return resp, err
	}
	s.looks--
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	body = bytes.ReplaceAll(body, []byte(s.old), []byte(s.new))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

func TestCreateTables_WaitsUntilTableAndIndexesAreActive(t *testing.T) {
	t.Parallel()
	for old, slow := range map[string]string{`"TableStatus":"ACTIVE"`: `"TableStatus":"CREATING"`, `"IndexStatus":"ACTIVE"`: `"IndexStatus":"CREATING"`} {
		l := newLab(t)
		wire := faults.New(&slowTable{l.raw.Options().HTTPClient, old, slow, 2})
		db := l.open(t, wire)
		declare[Report](t, db)
		require.NoError(t, db.CreateTables(t.Context()))
		require.Equal(t, 3, wire.Count("DescribeTable"), slow)

		ctx, cancel := context.WithCancel(t.Context())
		wire = faults.New(&slowTable{l.raw.Options().HTTPClient, old, slow, 1000})
		wire.Inject(func(r faults.Request) faults.Fault {
			if r.Operation == "DescribeTable" && wire.Count("DescribeTable") > 1 {
				cancel()
			}
			return faults.None
		})
		db = l.open(t, wire)
		declare[Report](t, db)
		require.ErrorIs(t, db.CreateTables(ctx), context.Canceled)
	}
}

func TestCreateTables_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	declare[Team](t, l.db)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.db.CreateTables(ctx), context.Canceled)
	_, err := l.raw.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(l.table)})
	var missing *types.ResourceNotFoundException
	require.ErrorAs(t, err, &missing, "nothing was made")

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	l.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "DescribeTable" {
			cancel()
			return faults.Hang
		}
		return faults.None
	})
	require.ErrorIs(t, l.db.CreateTables(ctx), context.Canceled)
}

func TestCreateTables_TwoProgramsAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	declare[Report](t, l.db)
	errs := make(chan error, 4)
	for range cap(errs) {
		db := l.aside(t)
		declare[Report](t, db)
		go func() { errs <- db.CreateTables(t.Context()) }()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
}
