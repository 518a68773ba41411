package conformance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

// Note is from the guide to timestamps. The table's keys are called PK and SK.
type Note struct {
	_         entity.Key `name:"Note" pk:"PK" sk:"SK"`
	_         versioned.Lock
	PK        string    `dynamodbav:"PK"`
	SK        string    `dynamodbav:"SK"`
	Body      string    `dynamodbav:"body"`
	ExpiresAt int64     `dynamodbav:"_ttl,omitempty"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

func welcome() Note { return Note{PK: "USER#1", SK: "NOTE#welcome", Body: "Hi."} }

func onNotes(t *testing.T) (*dbtest.Bench, *entity.Store[Note]) {
	t.Helper()
	return dbtest.OpenStore[Note](t, func(c *entity.Config) { c.PK, c.SK, c.TTL = "PK", "SK", "expires" })
}

func TestTimestamps_CreatingWritesPopulateBothWithOneTime(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func(*entity.Store[Note]) (Note, error){
		"Create": func(s *entity.Store[Note]) (Note, error) { return s.Create(t.Context(), welcome()) },
		"Put":    func(s *entity.Store[Note]) (Note, error) { return s.Put(t.Context(), welcome()) },
		"Upsert": func(s *entity.Store[Note]) (Note, error) {
			v, _, err := s.Upsert(t.Context(), welcome())
			return v, err
		},
	} {
		l, s := onNotes(t)
		n, err := create(s)
		require.NoError(t, err, name)
		require.Equal(t, dbtest.Start, n.CreatedAt, name)
		require.Equal(t, dbtest.Start, n.UpdatedAt, name)
		it := l.ItemsByKey()["USER#1 NOTE#welcome"]
		require.Equal(t, dbtest.S("2101-05-06T07:08:09.123456789Z"), it["createdAt"], "nine digits, UTC")
		require.Equal(t, it["createdAt"], it["updatedAt"], name)
	}
}

func TestTimestamps_TheLibraryOwnsThem(t *testing.T) {
	t.Parallel()
	l, s := onNotes(t)
	f := entity.Fields[Note]()
	v := welcome()
	v.CreatedAt, v.UpdatedAt, v.Version = dbtest.Start.Add(-time.Hour), dbtest.Start.Add(-time.Hour), 99
	n, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, []any{dbtest.Start, dbtest.Start, int64(1)}, []any{n.CreatedAt, n.UpdatedAt, n.Version})
	l.Sent()
	for _, change := range []entity.UpdateOption{entity.Set(&f.CreatedAt, dbtest.Start), entity.Set(&f.UpdatedAt, dbtest.Start), entity.Set(&f.Version, 5), entity.Remove(&f.CreatedAt)} {
		_, err := s.Update(t.Context(), n, change)
		require.Equal(t, "EDD-9104", dbtest.InputCode(err))
	}
	require.Empty(t, l.Sent())
}

// User is the model of a contract with another library.
type User struct {
	_         entity.Key `name:"User" pk:"PK" sk:"SK"`
	_         entity.GSI `name:"byEmail" index:"gsi-email" pk:"emailHash"`
	_         versioned.Lock
	PK        string    `dynamodbav:"PK"`
	SK        string    `dynamodbav:"SK"`
	EmailHash string    `dynamodbav:"emailHash,omitempty"`
	Nickname  string    `dynamodbav:"nickname,omitempty"`
	Tags      []string  `dynamodbav:"tags,omitempty,stringset"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	TTL       int64     `dynamodbav:"ttl,omitempty"`
}

func TestContract_EmptyValuesAreAbsentAndNothingIsAdded(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[User](t, func(c *entity.Config) { c.PK, c.SK = "PK", "SK" })
	_, err := s.Create(t.Context(), User{PK: "USER#2", SK: "PROFILE", Tags: []string{}})
	require.NoError(t, err)
	it := l.ItemsByKey()["USER#2 PROFILE"]
	for _, name := range []string{"nickname", "tags", "ttl", "emailHash"} {
		require.NotContains(t, it, name)
	}
	for _, name := range []string{"PK", "SK", "createdAt", "updatedAt", "version"} {
		require.Contains(t, it, name)
	}
	require.Len(t, it, 5, "nothing hidden")
	_, err = s.Update(t.Context(), User{PK: "USER#2", SK: "PROFILE"}, entity.Set(&entity.Fields[User]().EmailHash, "hash_abc"))
	require.NoError(t, err)
	found, err := entity.Must(s.Index("byEmail")).Query(User{EmailHash: "hash_abc"}).Collect(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 1, "an attribute of the model is the index key")
	require.Len(t, l.ItemsByKey()["USER#2 PROFILE"], 6)
}
