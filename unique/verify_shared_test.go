package unique_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// In a table that is shared with effect-dynamodb nothing but its key tells a snapshot or a copy from a current item.
func TestVerify_InASharedTableOnlyCurrentItemsOwnValues(t *testing.T) {
	t.Parallel()
	type account struct {
		_       entity.Key           `name:"Account" pk:"$#id_{id}" sk:"$"`
		_       lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
		_       unique.Constraint    `name:"email" fields:"email"`
		_       versioned.Retain
		ID      string `dynamodbav:"id"`
		Email   string `dynamodbav:"email,omitempty"`
		Version int64  `dynamodbav:"version" entity:"version"`
	}
	b := newBed(t, "pk", "sk")
	client := dynamodb.New(b.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = b.wire })
	var err error
	b.db, err = entity.Open(client, entity.Config{
		Table: b.table, Clock: b.now, Interop: true, TimePrecision: time.Millisecond, Namespace: entity.Namespace{Casing: entity.LowerCase},
	})
	require.NoError(t, err)
	s, l := prepare[account](t, b, "email")
	f := entity.Fields[account]()
	for _, id := range []string{"a", "b", "c"} {
		_, err := s.Create(t.Context(), account{ID: id, Email: "old-" + id})
		require.NoError(t, err)
		_, err = s.Update(t.Context(), account{ID: id}, entity.Set(&f.Email, "new-"+id))
		require.NoError(t, err)
	}
	_, err = s.Create(t.Context(), account{ID: "none"})
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), account{ID: "b"}))
	r, err := l.Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, unique.Report{Items: 3, Sentinels: 3}, r)

	want := b.rows(t)
	for _, v := range []string{"email_new-a", "email_new-b", "new-a", "new-b"} {
		if it := b.sentinel(t, v); it != nil {
			b.remove(t, it)
		}
	}
	require.Len(t, b.rows(t), len(want)-2)
	done, err := l.Repair(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"unclaimed", "unclaimed"}, kinds(done.Fixed))
	require.ElementsMatch(t, want, b.rows(t), "byte by byte what was there")
}
