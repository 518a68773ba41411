package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// An item that an upsert made is a whole one, and every read finds it.
func TestUpsert_OfAnAbsentItemStoresWhatCreateStores(t *testing.T) {
	t.Parallel()
	made, s := open[Employee](t)
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	l, u := open[Employee](t)
	got, created, err := u.Upsert(t.Context(), alice())
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, []string{"UpdateItem"}, l.sent())
	require.Equal(t, without(made.stored(t, aliceKey), "_w"), without(l.stored(t, aliceKey), "_w"))
	require.EqualValues(t, 1, got.Version)
	require.Equal(t, dawn, got.CreatedAt)
	require.Equal(t, dawn, got.UpdatedAt)
	again, err := u.Get(t.Context(), employeeKey("emp-alice"))
	require.NoError(t, err)
	require.Equal(t, got, again)
	byTenant, err := u.Index("byTenant")
	require.NoError(t, err)
	found, err := byTenant.Query(Employee{TenantID: "t-acme"}).One(t.Context())
	require.NoError(t, err)
	require.Equal(t, got, found)
}

func TestUpsert_OverLiveMergesAndKeepsWhatIsAbsent(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	nick := "Al"
	first := alice()
	first.Nickname, first.HiredBy, first.SeenAt = &nick, "bob", dawn
	_, err := s.Create(t.Context(), first)
	require.NoError(t, err)
	before := l.stored(t, aliceKey)
	l.wire.Reset()
	at := l.clock.move(time.Minute)
	got, created, err := s.Upsert(t.Context(), Employee{
		EmployeeID: "emp-alice", TenantID: "t-acme", Department: "Sales", DisplayName: "Alice B", HiredBy: "carol",
	})
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, []string{"UpdateItem"}, l.sent())
	after := l.stored(t, aliceKey)
	require.Equal(t, `S"Sales"`, after["department"])
	require.Equal(t, `S"$app#v1#employee#Sales#emp-alice"`, after["gsi1sk"])
	require.Equal(t, `S"Alice B"`, after["displayName"])
	require.Equal(t, "N2", after["version"])
	changed := []string{"_w", "version", "updatedAt", "displayName", "department", "gsi1sk"}
	require.Equal(t, without(before, changed...), without(after, changed...), "salary, nickname, hiredBy, seenAt and createdAt stay")
	require.NotEqual(t, before["_w"], after["_w"])
	require.Equal(t, at, got.UpdatedAt)
	require.Equal(t, dawn, got.CreatedAt)
	require.Equal(t, "Al", *got.Nickname)
	require.Equal(t, 100, got.Salary)
	require.Equal(t, "bob", got.HiredBy)
	again, err := s.Get(t.Context(), employeeKey("emp-alice"))
	require.NoError(t, err)
	require.Equal(t, got, again, "the result is the item as stored")
}

func TestUpsert_ValuesThatAreGivenReplaceStoredOnesEvenWhenZero(t *testing.T) {
	t.Parallel()
	_, s := open[Team](t)
	_, err := s.Create(t.Context(), Team{ID: "a", Name: "A", Size: 3, Quota: 4})
	require.NoError(t, err)
	got, _, err := s.Upsert(t.Context(), Team{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, Team{ID: "a", Name: "A", Size: 3, Quota: 0}, got, "quota is not omitempty: its zero is a value")
}

func TestUpsert_OwnedFieldsAreIgnoredAndTheStructIsUnchanged(t *testing.T) {
	t.Parallel()
	_, s := open[Employee](t)
	v := alice()
	for range 2 {
		got, _, err := s.Upsert(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, alice(), v)
		require.Equal(t, dawn, got.CreatedAt)
		require.Less(t, got.Version, int64(3))
	}
}

func TestUpsert_MissingCreatedAtIsSetOnce(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	l.put(t, keys("pk", "$app#v1#employee#emp-alice", "sk", "$app#v1#employee", "employeeId", "emp-alice", "__edd_e__", "Employee"))
	at := l.clock.move(time.Minute)
	got, created, err := s.Upsert(t.Context(), alice())
	require.NoError(t, err)
	require.False(t, created, "the item was there")
	require.Equal(t, at, got.CreatedAt)
	require.EqualValues(t, 1, got.Version, "no version counts as 0")
	l.clock.move(time.Minute)
	got, _, err = s.Upsert(t.Context(), alice())
	require.NoError(t, err)
	require.Equal(t, at, got.CreatedAt)
}

func TestUpsert_IfHoldsForTheStoredItem(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t)
	f := entity.Fields[Team]()
	_, _, err := s.Upsert(t.Context(), Team{ID: "a"}, entity.If(entity.Exists(&f.Quota)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.Empty(t, l.everything(t))
	_, created, err := s.Upsert(t.Context(), Team{ID: "a", Size: 1}, entity.If(entity.NotExists(&f.Quota)))
	require.NoError(t, err)
	require.True(t, created)
	_, _, err = s.Upsert(t.Context(), Team{ID: "a", Size: 2}, entity.If(entity.Or(entity.NotExists(&f.Quota), entity.Lt(&f.Size, 2))))
	require.NoError(t, err)
	_, _, err = s.Upsert(t.Context(), Team{ID: "a", Size: 3}, entity.If(entity.Lt(&f.Size, 2)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
}

func TestUpsert_OfAVerbatimEntity(t *testing.T) {
	t.Parallel()
	l, s := open[Batch](t)
	v := Batch{DeviceID: "d", Timestamp: 5, BatchID: "b", LastSeenAt: dawn.Truncate(time.Millisecond)}
	_, created, err := s.Upsert(t.Context(), v)
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, []string{"UpdateItem"}, l.sent())
	it := l.everything(t)[`S"d" S"0000000000005#b"`]
	require.Equal(t, raw{
		"device_id": `S"d"`, "ts_batch": `S"0000000000005#b"`, "timestamp_ms": "N5", "batch_id": `S"b"`,
		"last_seen_at": `S"2024-05-06T07:08:09.123Z"`, "created_at": `S"2024-05-06T07:08:09.123Z"`,
		"gsi1pk": `S"devices"`, "gsi1sk": `S"2024-05-06T07:08:09.123Z"`, "gsi2pk": `S"d"`, "gsi2sk": `S"2024-05-06T07:08:09.123Z"`,
	}, it)

	l.clock.move(time.Hour)
	v.State = "done"
	_, created, err = s.Upsert(t.Context(), v)
	require.NoError(t, err)
	require.False(t, created)
	after := l.everything(t)[`S"d" S"0000000000005#b"`]
	require.Equal(t, it, without(after, "state"), "created_at and its copy are those of the first write")
}

func TestUpsert_PartlyKnownIndexKeyReadsFirst(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	at := keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")
	_, created, err := s.Upsert(t.Context(), Profile{ID: "a", Team: "red"})
	require.NoError(t, err)
	require.True(t, created)
	require.LessOrEqual(t, len(l.sent()), 2)
	require.NotContains(t, l.stored(t, at), "gsi1pk", "rank is absent, and so is the half")
	require.Contains(t, l.stored(t, at), "gsi1sk", "the other half does not depend on it")

	_, created, err = s.Upsert(t.Context(), Profile{ID: "a", Rank: 7})
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, []string{"GetItem", "PutItem"}, l.sent())
	require.Equal(t, `S"$app#v1#profile#red#0000000000000000007"`, l.stored(t, at)["gsi1pk"])

	got, _, err := s.Upsert(t.Context(), Profile{ID: "a", Team: "blue", Rank: 8, Note: "n"})
	require.NoError(t, err)
	require.Equal(t, []string{"UpdateItem"}, l.sent(), "both parts are given")
	require.Equal(t, `S"$app#v1#profile#blue#0000000000000000008"`, l.stored(t, at)["gsi1pk"])
	require.Equal(t, "n", got.Note)

	_, _, err = s.Upsert(t.Context(), Profile{ID: "a", Note: "m"})
	require.NoError(t, err)
	require.Equal(t, []string{"UpdateItem"}, l.sent(), "neither part is given")
	require.Equal(t, `S"$app#v1#profile#blue#0000000000000000008"`, l.stored(t, at)["gsi1pk"])
}

func TestUpsert_AfterAReadKeepsWhatCameInBetween(t *testing.T) {
	t.Parallel()
	for name, exists := range map[string]bool{"over live": true, "over nothing": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := open[Profile](t)
			other := declare[Profile](t, l.aside(t))
			at := keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")
			if exists {
				_, err := other.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
				require.NoError(t, err)
			}
			arrived, release := l.wire.Hold(func(r faults.Request) bool { return r.Operation == "PutItem" })
			defer release()
			done := make(chan error, 1)
			created := true
			go func() {
				var err error
				_, created, err = s.Upsert(t.Context(), Profile{ID: "a", Rank: 9})
				done <- err
			}()
			awaitHeld(t, arrived, done) // it has read
			_, _, err := other.Upsert(t.Context(), Profile{ID: "a", Team: "blue", Rank: 2, Note: "between"})
			require.NoError(t, err)
			release()
			require.NoError(t, <-done)
			require.False(t, created)
			it := l.stored(t, at)
			require.Equal(t, `S"between"`, it["note"])
			require.Equal(t, `S"$app#v1#profile#blue#0000000000000000009"`, it["gsi1pk"])
		})
	}
}

func TestUpsert_OnTheRouteThatReadsTheConditionHoldsToo(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	_, _, err := s.Upsert(t.Context(), Profile{ID: "a", Team: "red"}, entity.If(entity.Exists(&p.Note)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.Empty(t, l.everything(t))
	_, err = s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	before := l.everything(t)
	_, _, err = s.Upsert(t.Context(), Profile{ID: "a", Rank: 2}, entity.If(entity.Exists(&p.Note)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.Equal(t, before, l.everything(t))
}

type remark struct {
	_         entity.Key `name:"Remark" pk:"$#{id}" sk:"$"`
	ID        string     `dynamodbav:"id"`
	Text      string     `dynamodbav:"text,omitempty"`
	CreatedAt time.Time  `dynamodbav:"createdAt" entity:"created_at"`
}

func TestUpsert_LostAnswerDoesNotUndoAnotherWrite(t *testing.T) {
	t.Parallel()
	l, s := open[remark](t)
	beside := declare[remark](t, l.aside(t))
	f := entity.Fields[remark]()
	lost := faults.Nth(1, faults.Lost, "UpdateItem")
	l.wire.Inject(func(r faults.Request) faults.Fault { return lost(r) })
	sent := 0
	arrived, release := l.wire.Hold(func(r faults.Request) bool { sent++; return sent == 2 })
	defer release()
	done := make(chan error, 1)
	go func() {
		_, _, err := s.Upsert(t.Context(), remark{ID: "r", Text: "mine"})
		done <- err
	}()
	<-arrived
	_, err := beside.Update(t.Context(), remark{ID: "r"}, entity.Set(&f.Text, "theirs"))
	require.NoError(t, err, "the first attempt was applied")
	release()
	require.True(t, entity.IsAmbiguous(<-done))
	stored, err := s.Get(t.Context(), remark{ID: "r"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, "theirs", stored.Text)
}
