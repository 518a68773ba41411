package entity_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// ContractUser is the model of TableTheory's contract fixtures, on a table with their keys and attributes. Versions
// begin at 1 here, at 0 there; what they call an update of version n is one under the condition that n is stored.
type ContractUser struct {
	_ entity.Key `name:"User" pk:"PK" sk:"SK"`
	_ entity.GSI `name:"byEmail" index:"gsi-email" pk:"emailHash"`

	PK        string    `dynamodbav:"PK"`
	SK        string    `dynamodbav:"SK"`
	EmailHash string    `dynamodbav:"emailHash,omitempty"`
	Nickname  string    `dynamodbav:"nickname,omitempty"`
	Tags      []string  `dynamodbav:"tags,stringset,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	TTL       int64     `dynamodbav:"ttl,omitempty"`
}

func contractUser(n string) ContractUser { return ContractUser{PK: "USER#" + n, SK: "PROFILE"} }

func atVersion(n int64) entity.WriteOption {
	return entity.If(entity.Eq(&entity.Fields[ContractUser]().Version, n))
}

func nickname(to string) entity.UpdateOption {
	return entity.Set(&entity.Fields[ContractUser]().Nickname, to)
}

func TestContract_CreateReadUpdateDelete(t *testing.T) {
	t.Parallel()
	_, s := open[ContractUser](t)
	v := contractUser("1")
	v.EmailHash, v.Nickname, v.Tags = "hash_abc", "Al", []string{"a", "b"}
	_, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	again := contractUser("1")
	again.EmailHash = "hash_abc"
	_, err = s.Create(t.Context(), again)
	require.ErrorIs(t, err, entity.ErrExists)
	got, err := s.Get(t.Context(), contractUser("1"), entity.Consistent())
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"a", "b"}, got.Tags)
	got.Tags = nil
	require.Equal(t, ContractUser{PK: "USER#1", SK: "PROFILE", EmailHash: "hash_abc", Nickname: "Al", CreatedAt: dawn, UpdatedAt: dawn, Version: 1}, got)
	_, err = s.Update(t.Context(), contractUser("1"), nickname("Alice"), atVersion(1))
	require.NoError(t, err)
	got, err = s.Get(t.Context(), contractUser("1"), entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, "Alice", got.Nickname)
	require.EqualValues(t, 2, got.Version)
	require.NoError(t, s.Delete(t.Context(), contractUser("1")))
	_, err = s.Get(t.Context(), contractUser("1"), entity.Consistent())
	require.ErrorIs(t, err, entity.ErrNotFound)
}

func TestContract_Omitempty(t *testing.T) {
	t.Parallel()
	l, s := open[ContractUser](t)
	v := contractUser("2")
	v.Tags = []string{}
	_, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, raw{
		"PK": `S"USER#2"`, "SK": `S"PROFILE"`, "version": "N1",
		"createdAt": `S"2024-05-06T07:08:09.123456789Z"`, "updatedAt": `S"2024-05-06T07:08:09.123456789Z"`,
	}, l.stored(t, keys("PK", "USER#2", "SK", "PROFILE")), "nickname, tags and ttl are empty and absent")
}

func TestContract_Timestamps(t *testing.T) {
	t.Parallel()
	l, s := open[ContractUser](t)
	v := contractUser("3")
	v.Nickname = "v0"
	_, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	first, err := s.Get(t.Context(), contractUser("3"), entity.Consistent())
	require.NoError(t, err)
	l.clock.move(25 * time.Millisecond)
	_, err = s.Update(t.Context(), contractUser("3"), nickname("v1"), atVersion(1))
	require.NoError(t, err)
	second, err := s.Get(t.Context(), contractUser("3"), entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, first.CreatedAt, second.CreatedAt)
	require.True(t, second.UpdatedAt.After(first.UpdatedAt))
	require.EqualValues(t, 2, second.Version)
}

func TestContract_OptimisticLock(t *testing.T) {
	t.Parallel()
	_, s := open[ContractUser](t)
	v := contractUser("4")
	v.Nickname = "v0"
	_, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	_, err = s.Update(t.Context(), contractUser("4"), nickname("v1"), atVersion(1))
	require.NoError(t, err)
	_, err = s.Update(t.Context(), contractUser("4"), nickname("stale"), atVersion(1))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	held, ok := entity.StoredItem[ContractUser](err)
	require.True(t, ok)
	require.EqualValues(t, 2, held.Version, "the error has the stored version")
	got, err := s.Get(t.Context(), contractUser("4"), entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, "v1", got.Nickname)
	require.EqualValues(t, 2, got.Version)
}

func TestContract_TimeToLive(t *testing.T) {
	t.Parallel()
	l, s := open[ContractUser](t)
	v := contractUser("5")
	v.TTL = 1700000000
	_, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, "N1700000000", l.stored(t, keys("PK", "USER#5", "SK", "PROFILE"))["ttl"])
	got, err := s.Get(t.Context(), contractUser("5"), entity.Consistent())
	require.NoError(t, err)
	require.EqualValues(t, 1700000000, got.TTL)
}

// What P0-3 leaves open: both times are one at creation, the update's is later and not only another, the format is exact
// and UTC, and the struct that comes back is what is stored.
func TestContract_TimesAreOneExactAndReturned(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 3*3600)
	at := time.Date(2024, 1, 2, 3, 4, 5, 120000000, zone)
	l, s := open[ContractUser](t, func(c *entity.Config) { c.Clock = func() time.Time { return at } })
	made, err := s.Create(t.Context(), contractUser("1"))
	require.NoError(t, err)
	require.Equal(t, made.CreatedAt, made.UpdatedAt)
	require.Equal(t, at.UTC(), made.CreatedAt)
	key := keys("PK", "USER#1", "SK", "PROFILE")
	require.Equal(t, []string{`S"2024-01-02T00:04:05.120000000Z"`, `S"2024-01-02T00:04:05.120000000Z"`}, []string{l.stored(t, key)["createdAt"], l.stored(t, key)["updatedAt"]})
	at = at.Add(5 * time.Millisecond) // .125 sorts after .12 as text, too
	got, err := s.Update(t.Context(), contractUser("1"), nickname("x"))
	require.NoError(t, err)
	require.Equal(t, at.UTC(), got.UpdatedAt)
	require.Equal(t, made.CreatedAt, got.CreatedAt)
	require.Equal(t, `S"2024-01-02T00:04:05.125000000Z"`, l.stored(t, key)["updatedAt"])
	require.Equal(t, entity.Must(s.Get(t.Context(), contractUser("1"), entity.Consistent())), got)
}

// The lifecycle of each write path: created_at is kept, updated_at moves to the one clock's time, the version goes up.
func TestContract_EveryPathKeepsTheTimestamps(t *testing.T) {
	t.Parallel()
	l, s := open[ContractUser](t)
	key := contractUser("1")
	mine := key
	mine.Nickname, mine.Version, mine.CreatedAt, mine.UpdatedAt = "m", 42, dawn.AddDate(1, 0, 0), dawn.AddDate(1, 0, 0)
	_, err := s.Create(t.Context(), mine)
	require.NoError(t, err)
	for i, write := range []func() error{
		func() error { _, err := s.Update(t.Context(), key, nickname("a")); return err },
		func() error { _, err := s.Update(t.Context(), key, nickname("b"), entity.Idempotent()); return err },
		func() error { _, err := s.Put(t.Context(), mine); return err },
		func() error { _, _, err := s.Upsert(t.Context(), mine); return err },
		func() error {
			_, err := s.Modify(t.Context(), key, func(v *ContractUser) error { v.Nickname = "c"; return nil })
			return err
		},
		func() error {
			return l.db.Transact(t.Context(), s.Op().Update(key, nickname("d")), s.Op().Put(contractUser("x")))
		},
		func() error { return l.db.Transact(t.Context(), s.Op().Put(mine), s.Op().Put(contractUser("x"))) },
		func() error { return l.db.Transact(t.Context(), s.Op().Upsert(mine), s.Op().Put(contractUser("x"))) },
	} {
		now := l.clock.move(time.Minute)
		require.NoError(t, write())
		got, err := s.Get(t.Context(), key, entity.Consistent())
		require.NoError(t, err)
		require.Equal(t, []any{dawn, now, int64(i + 2)}, []any{got.CreatedAt, got.UpdatedAt, got.Version}, "path %d", i)
	}
}

// A delete under a version, and one without.
func TestContract_DeleteUnderAVersion(t *testing.T) {
	t.Parallel()
	_, s := open[ContractUser](t)
	_, err := s.Create(t.Context(), contractUser("1"))
	require.NoError(t, err)
	for _, stale := range []int64{0, 9} { // zero is a version like any other
		require.ErrorIs(t, s.Delete(t.Context(), contractUser("1"), atVersion(stale)), entity.ErrConditionFailed)
	}
	require.NoError(t, s.Delete(t.Context(), contractUser("1"), atVersion(1)))
	require.ErrorIs(t, s.Delete(t.Context(), contractUser("1"), atVersion(1)), entity.ErrNotFound)
	require.ErrorIs(t, s.Delete(t.Context(), contractUser("1")), entity.ErrNotFound)
}

// An empty set without omitempty is NULL.
func TestContract_EmptySetWithoutOmitemptyIsNull(t *testing.T) {
	t.Parallel()
	type sets struct {
		_    entity.Key `name:"Sets" pk:"PK" sk:"SK"`
		PK   string     `dynamodbav:"PK"`
		SK   string     `dynamodbav:"SK"`
		Tags []string   `dynamodbav:"tags,stringset"`
	}
	l, s := open[sets](t)
	for _, empty := range [][]string{nil, {}} {
		_, _, err := s.Upsert(t.Context(), sets{PK: "A", SK: "B", Tags: empty})
		require.NoError(t, err)
		require.Equal(t, "NULL", l.stored(t, keys("PK", "A", "SK", "B"))["tags"])
	}
}

// Attributes with the names of reserved words are attributes like any other, keys included.
func TestContract_ReservedWords(t *testing.T) {
	t.Parallel()
	type reserved struct {
		_       entity.Key `name:"Reserved" pk:"hash" sk:"range"`
		_       entity.GSI `name:"byStatus" index:"gsi1" pk:"status" sk:"timestamp"`
		Hash    string     `dynamodbav:"hash"`
		Range   string     `dynamodbav:"range"`
		Name    string     `dynamodbav:"name,omitempty"`
		Status  string     `dynamodbav:"status,omitempty"`
		Time    int        `dynamodbav:"timestamp,omitempty"`
		Size    int        `dynamodbav:"size"`
		Dotted  string     `dynamodbav:"a.b c,omitempty"`
		Version int        `dynamodbav:"version" entity:"version"`
	}
	l, s := open[reserved](t)
	f, key := entity.Fields[reserved](), reserved{Hash: "A", Range: "B"}
	_, _, err := s.Upsert(t.Context(), reserved{Hash: "A", Range: "B", Name: "v0", Status: "s", Time: 1})
	require.NoError(t, err)
	got, err := s.Update(t.Context(), key, entity.Set(&f.Name, "v1"), entity.Set(&f.Dotted, "x"), entity.Add(&f.Size, 1), entity.If(entity.Eq(&f.Version, 1), entity.Eq(&f.Name, "v0"), entity.NotExists(&f.Dotted)))
	require.NoError(t, err)
	require.Equal(t, reserved{Hash: "A", Range: "B", Name: "v1", Status: "s", Time: 1, Size: 1, Dotted: "x", Version: 2}, got)
	one, err := entity.Must(s.Index("byStatus")).Query(reserved{Status: "s"}, entity.Gt(&f.Time, 0), entity.Filter(entity.Eq(&f.Name, "v1"), entity.Gt(&f.Size, 0))).One(t.Context())
	require.NoError(t, err)
	require.Equal(t, got, one)
	require.Equal(t, `S"x"`, l.stored(t, keys("hash", "A", "range", "B"))["a.b c"])
}

// Filters with a cursor, an or-group with a projection, and a scan in two segments.
func TestContract_FilterCursorProjectionSegments(t *testing.T) {
	t.Parallel()
	type tagged struct {
		_    entity.Key `name:"Item" pk:"PK" sk:"SK"`
		PK   string     `dynamodbav:"PK"`
		SK   int        `dynamodbav:"SK" entity:"zero"`
		Tag  string     `dynamodbav:"tag,omitempty"`
		Name string     `dynamodbav:"name,omitempty"`
	}
	l, s := open[tagged](t)
	for _, v := range []tagged{{PK: "p"}, {PK: "p", SK: 1, Tag: "X", Name: "Alice"}, {PK: "p", SK: 2, Tag: "Y", Name: "Bob"}} {
		_, err := s.Create(t.Context(), v)
		require.NoError(t, err)
	}
	f := entity.Fields[tagged]()
	withTag := entity.Filter(entity.Exists(&f.Tag))
	first, err := s.Query(tagged{PK: "p"}, withTag, entity.MaxEvaluated(1)).Page(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, first.Items, "the one item that was evaluated has no tag")
	require.NotEmpty(t, first.Next)
	second, err := s.Query(tagged{PK: "p"}, withTag, entity.Limit(1)).Page(t.Context(), first.Next)
	require.NoError(t, err)
	require.Equal(t, []tagged{{PK: "p", SK: 1, Tag: "X", Name: "Alice"}}, second.Items)

	type named struct {
		PK   string `dynamodbav:"PK"`
		SK   int    `dynamodbav:"SK"`
		Name string `dynamodbav:"name"`
	}
	l.wire.Reset()
	names, err := entity.Project[named](s.Query(tagged{PK: "p"}, entity.Filter(entity.Or(entity.Eq(&f.Tag, "X"), entity.Eq(&f.Tag, "Y"))))).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, []named{{"p", 1, "Alice"}, {"p", 2, "Bob"}}, names)
	require.Contains(t, string(l.wire.Requests()[0].Body), "ProjectionExpression")
	all, err := s.Scan(entity.Segments(2)).Collect(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 3)
}

// A stored NULL, an absent attribute and an unknown one are read as zero; what other programs stored stays.
func TestContract_ItemsOfOtherProgramsAreRead(t *testing.T) {
	t.Parallel()
	l, s := open[ContractUser](t)
	it := keys("PK", "USER#9", "SK", "PROFILE", "createdAt", "2024-01-02T03:04:05.12-05:00", "legacy", "x")
	it["nickname"], it["version"] = &types.AttributeValueMemberNULL{Value: true}, num("0")
	l.put(t, it)
	got, err := s.Get(t.Context(), contractUser("9"))
	require.NoError(t, err)
	require.Empty(t, got.Nickname)
	require.True(t, got.CreatedAt.Equal(time.Date(2024, 1, 2, 8, 4, 5, 120000000, time.UTC)), "any RFC 3339 is read")
	got, err = s.Update(t.Context(), contractUser("9"), nickname("x"), atVersion(0))
	require.NoError(t, err, "a version of 0, where theirs begin, is a version")
	require.EqualValues(t, 1, got.Version)
	require.Equal(t, `S"x"`, l.stored(t, keys("PK", "USER#9", "SK", "PROFILE"))["legacy"])
	require.Equal(t, `S"2024-01-02T03:04:05.12-05:00"`, l.stored(t, keys("PK", "USER#9", "SK", "PROFILE"))["createdAt"])
}
