package upgrades_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// member1 and member differ in the names of everything that the library keeps, and in the formats of the times.

type member1 struct {
	_ entity.Key        `name:"Member" pk:"$#{team}" sk:"$#{id}"`
	_ versioned.Retain  ``
	_ unique.Constraint `name:"mail" fields:"team,mail"`

	Team    string    `dynamodbav:"team"`
	ID      string    `dynamodbav:"id"`
	Mail    string    `dynamodbav:"mail,omitempty"`
	Name    string    `dynamodbav:"name"`
	Rev     int       `dynamodbav:"rev" entity:"version"`
	Made    time.Time `dynamodbav:"made" entity:"created_at"`
	Changed time.Time `dynamodbav:"changed" entity:"updated_at,time=unix"`
}

type member struct {
	_ entity.Key        `name:"Member" pk:"$#{group}" sk:"$#{id}" payload:"2"`
	_ versioned.Retain  ``
	_ unique.Constraint `name:"mail" fields:"group,address"`

	Team    string    `dynamodbav:"group"`
	ID      string    `dynamodbav:"id"`
	Mail    string    `dynamodbav:"address,omitempty"`
	Name    string    `dynamodbav:"fullName"`
	Version int       `dynamodbav:"version" entity:"version"`
	Created time.Time `dynamodbav:"createdAt" entity:"created_at,time=unixms"`
	Changed time.Time `dynamodbav:"changed" entity:"updated_at"`
}

func renamed(m member1) (member, error) {
	return member{Team: m.Team, ID: m.ID, Mail: m.Mail, Name: m.Name}, nil
}

// club is a table with a program of each version.
type club struct {
	*dbtest.Bench
	old *entity.Store[member1]
	now *entity.Store[member]
}

func openClub(t *testing.T) *club {
	t.Helper()
	b := dbtest.Open(t)
	now := dbtest.Declare[member](t, b.DB, entity.Upgrade(1, renamed))
	c := &club{b, dbtest.Declare[member1](t, b.Open(b.Raw)), now}
	b.CreateTables()
	return c
}

var ann = member{Team: "red", ID: "a"}

// What the library keeps survives a step that renames it or changes its format.
func TestUpgrades_KeepWhatTheLibraryKeeps(t *testing.T) {
	t.Parallel()
	c := openClub(t)
	first, err := c.old.Create(c.Ctx, member1{Team: "red", ID: "a", Mail: "a@x", Name: "Ann"})
	require.NoError(t, err)
	before, err := c.old.Update(c.Ctx, first, entity.Set(&entity.Fields[member1]().Name, "Anna"))
	require.NoError(t, err)
	got, err := c.now.Get(c.Ctx, ann)
	require.NoError(t, err)
	want := member{Team: "red", ID: "a", Mail: "a@x", Name: "Anna", Version: 2, Created: before.Made.Truncate(time.Millisecond), Changed: before.Changed}
	require.Equal(t, want, got)
	_, err = c.now.Update(c.Ctx, got, entity.Set(&entity.Fields[member]().Name, "A"), versioned.Expect(1))
	require.ErrorIs(t, err, entity.ErrConflict)
	after, err := c.now.Update(c.Ctx, got, entity.Set(&entity.Fields[member]().Name, "Annie"), versioned.Expect(2))
	require.NoError(t, err)
	require.Equal(t, []any{3, want.Created}, []any{after.Version, after.Created})
	require.True(t, after.Changed.After(want.Changed))
	it := c.Current("a")
	for _, name := range []string{"rev", "made", "mail", "name", "team"} {
		require.NotContains(t, it, name)
	}
	history := entity.Must(versioned.Of(c.now))
	all, err := history.List(ann).Collect(c.Ctx)
	require.NoError(t, err)
	numbers := map[int64]string{}
	for _, v := range all {
		numbers[v.Number] = fmt.Sprint(v.Item.Name, v.Item.Version)
	}
	require.Equal(t, map[int64]string{1: "Ann1", 2: "Anna2"}, numbers)
	was, err := history.At(c.Ctx, ann, before.Changed)
	require.NoError(t, err)
	require.Equal(t, "Anna", was.Item.Name)
}

// Diff compares states of different payload versions by what they mean.
func TestUpgrades_DiffComparesUpgradedStates(t *testing.T) {
	t.Parallel()
	c := openClub(t)
	c.OK(c.old.Create(c.Ctx, member1{Team: "red", ID: "a", Mail: "a@x", Name: "Ann"}))
	c.OK(c.now.Update(c.Ctx, ann, entity.Set(&entity.Fields[member]().Name, "Anna")))
	diff, err := entity.Must(versioned.Of(c.now)).Diff(c.Ctx, ann, 1, 2)
	require.NoError(t, err)
	var names []string
	for _, d := range diff {
		names = append(names, d.Attribute)
	}
	require.Equal(t, []string{"fullName", "version", "changed"}, names)
	require.Equal(t, "Ann", diff[0].Before)
}

// A field of a unique constraint is renamed: every claim stays what it is.
func TestUpgrades_OfUniqueFields(t *testing.T) {
	t.Parallel()
	c := openClub(t)
	c.OK(c.old.Create(c.Ctx, member1{Team: "red", ID: "a", Mail: "a@x", Name: "Ann"}))
	c.OK(c.old.Create(c.Ctx, member1{Team: "red", ID: "b", Mail: "b@x", Name: "Bob"}))
	byMail := entity.Must(unique.Of(c.now, "mail"))
	found, err := byMail.Find(c.Ctx, member{Team: "red", Mail: "a@x"})
	require.NoError(t, err)
	require.Equal(t, "Ann", found.Name)
	repaired, err := migrate.RepairUnique(c.Ctx, byMail)
	require.NoError(t, err)
	require.Empty(t, repaired.Fixed)
	require.Equal(t, []int{2, 2, 0}, []int{repaired.Report.Items, repaired.Report.Sentinels, len(repaired.Report.Findings)})
	require.NotNil(t, c.Sentinel("a@x"))
	var taken *unique.ViolationError
	_, err = c.now.Create(c.Ctx, member{Team: "red", ID: "c", Mail: "a@x"})
	require.ErrorAs(t, err, &taken)
	c.OK(c.now.Update(c.Ctx, ann, entity.Set(&entity.Fields[member]().Mail, "new@x")))
	require.Nil(t, c.Sentinel("a@x"), "the old value is free")
	require.NotNil(t, c.Sentinel("new@x"))
	require.NoError(t, c.now.Purge(c.Ctx, member{Team: "red", ID: "b"}))
	require.Nil(t, c.Sentinel("b@x"))
	require.NoError(t, c.now.Purge(c.Ctx, ann))
	require.Empty(t, c.Items())
}

// lowered is account1 with a step that changes the values of a constraint.
type account1 struct {
	_ entity.Key        `name:"Account" pk:"$#{id}" sk:"$"`
	_ unique.Constraint `name:"mail" fields:"mail"`

	ID   string `dynamodbav:"id"`
	Mail string `dynamodbav:"mail"`
}

type account struct {
	_ entity.Key        `name:"Account" pk:"$#{id}" sk:"$" payload:"2"`
	_ unique.Constraint `name:"mail" fields:"mail"`

	ID   string `dynamodbav:"id"`
	Mail string `dynamodbav:"mail"`
	Seen int    `dynamodbav:"seen"`
}

// A step that changes unique values moves the claims with the item, by the first write and by Rewrite.
func TestUpgrades_MoveClaimsOfChangedValues(t *testing.T) {
	t.Parallel()
	for what, write := range map[string]func(b *dbtest.Bench, s *entity.Store[account]) error{
		"update": func(b *dbtest.Bench, s *entity.Store[account]) error {
			_, err := s.Update(b.Ctx, account{ID: "a"}, entity.Add(&entity.Fields[account]().Seen, 1))
			return err
		},
		"rewrite": func(b *dbtest.Bench, s *entity.Store[account]) error {
			_, err := migrate.Rewrite(b.Ctx, s)
			return err
		},
		"purge": func(b *dbtest.Bench, s *entity.Store[account]) error { return s.Purge(b.Ctx, account{ID: "a"}) },
	} {
		b := dbtest.Open(t)
		now := dbtest.Declare[account](t, b.DB, entity.Upgrade(1, func(a account1) (account, error) {
			return account{ID: a.ID, Mail: "new-" + a.Mail}, nil
		}))
		old := dbtest.Declare[account1](t, b.Open(b.Raw))
		b.CreateTables()
		b.OK(old.Create(b.Ctx, account1{ID: "a", Mail: "a@x"}))
		planned := b.Current("a")["_w"]
		require.NoError(t, write(b, now), what)
		require.NotEqual(t, planned, b.Current("a")["_w"], "%s: what was planned with the old claim is planned again", what)
		require.Nil(t, b.Sentinel("a@x"), what)
		require.Equal(t, what != "purge", b.Sentinel("new-a@x") != nil, what)
	}
}

// guest1 and guest are deleted softly, and the step changes the values of a constraint.

type guest1 struct {
	_ entity.Key           `name:"Guest" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"mail" fields:"mail"`

	ID   string `dynamodbav:"id"`
	Mail string `dynamodbav:"mail"`
}

type guest struct {
	_ entity.Key           `name:"Guest" pk:"$#{id}" sk:"$" payload:"2"`
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"mail" fields:"mail"`

	ID   string `dynamodbav:"id"`
	Mail string `dynamodbav:"mail"` // without "mailto:"
}

// deletedGuest makes a deleted copy of the first payload version.
func deletedGuest(t *testing.T) (*dbtest.Bench, *entity.Store[guest], *lifecycle.Deleted[guest]) {
	t.Helper()
	b := dbtest.Open(t)
	now := dbtest.Declare[guest](t, b.DB, entity.Upgrade(1, func(g guest1) (guest, error) {
		return guest{ID: g.ID, Mail: strings.TrimPrefix(g.Mail, "mailto:")}, nil
	}))
	old := dbtest.Declare[guest1](t, b.Open(b.Raw))
	b.CreateTables()
	b.OK(old.Create(b.Ctx, guest1{ID: "a", Mail: "mailto:x"}))
	b.OK(old.Delete(b.Ctx, guest1{ID: "a"}))
	return b, now, entity.Must(lifecycle.Of(now))
}

// The restore of a copy claims the value of its new form, and releases what the old form has reserved.
func TestUpgrades_RestoreReleasesTheReservedValue(t *testing.T) {
	t.Parallel()
	b, now, deleted := deletedGuest(t)
	require.NotNil(t, b.Sentinel("mailto:x"))
	b.OK(deleted.Restore(b.Ctx, guest{ID: "a"}))
	require.Nil(t, b.Sentinel("mailto:x"))
	require.NotNil(t, b.Sentinel("x"))
	b.OK(now.Create(b.Ctx, guest{ID: "b", Mail: "mailto:x"}))
}

// A restore leaves the value of the old form to the item that has claimed it since.
func TestUpgrades_RestoreReleasesNoValueOfAnother(t *testing.T) {
	t.Parallel()
	b, now, deleted := deletedGuest(t)
	b.RemoveItem(b.Sentinel("mailto:x")) // as if the copy did not reserve it
	b.OK(now.Create(b.Ctx, guest{ID: "b", Mail: "mailto:x"}))
	b.OK(deleted.Restore(b.Ctx, guest{ID: "a"}))
	found, err := entity.Must(unique.Of(now, "mail")).Find(b.Ctx, guest{Mail: "mailto:x"})
	require.NoError(t, err)
	require.Equal(t, "b", found.ID)
}

// Conditions of a restore are about the upgraded copy, and fail as on a copy that was stored like that.
func TestUpgrades_ConditionsOfARestoreAreAboutTheUpgradedCopy(t *testing.T) {
	t.Parallel()
	for what, chosen := range map[string]bool{"the newest": false, "a chosen one": true} {
		b, now, deleted := deletedGuest(t)
		b.OK(now.Create(b.Ctx, guest{ID: "b", Mail: "y"}))
		b.OK(now.Delete(b.Ctx, guest{ID: "b"}))
		restore := func(id string, conds ...entity.Cond) (guest, error) {
			if !chosen {
				return deleted.Restore(b.Ctx, guest{ID: id}, entity.If(conds...))
			}
			copied, err := deleted.Get(b.Ctx, guest{ID: id})
			require.NoError(t, err, what)
			return deleted.RestoreCopy(b.Ctx, copied, entity.If(conds...))
		}
		f := entity.Fields[guest]()
		_, today := restore("b", entity.Exists(&f.ID), entity.Eq(&f.Mail, "mailto:x"))
		require.ErrorIs(t, today, entity.ErrConditionFailed, what)
		_, err := restore("a", entity.Exists(&f.ID), entity.Eq(&f.Mail, "mailto:x"))
		require.ErrorIs(t, err, entity.ErrConditionFailed, what)
		require.Equal(t, strings.ReplaceAll(today.Error(), "#b", "#a"), err.Error(), what)
		stored, ok := entity.StoredItem[guest](err)
		require.Equal(t, []any{guest{ID: "a", Mail: "x"}, true}, []any{stored, ok}, what)
		_, err = restore("a", entity.Where(expression.Name("mail").Size().Equal(expression.Value(1))))
		require.Equal(t, "EDD-9140", dbtest.InputCode(err), what)
		got, err := restore("a", entity.Eq(&f.Mail, "x"))
		require.NoError(t, err, what)
		require.Equal(t, guest{ID: "a", Mail: "x"}, got, what)
	}
}

// draft1 and draft differ in the name of deleted_at.

type draft1 struct {
	_ entity.Key           `name:"Draft" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete ``

	ID   string    `dynamodbav:"id"`
	Text string    `dynamodbav:"text"`
	Gone time.Time `dynamodbav:"gone,omitempty" entity:"deleted_at,time=ms"`
}

type draft struct {
	_ entity.Key           `name:"Draft" pk:"$#{id}" sk:"$" payload:"2"`
	_ lifecycle.SoftDelete ``

	ID      string    `dynamodbav:"id"`
	Text    string    `dynamodbav:"text"`
	Removed time.Time `dynamodbav:"removed,omitempty" entity:"deleted_at,time=ms"`
}

// Another name of deleted_at changes nothing for the copies of before.
func TestUpgrades_OfTheNameOfDeletedAt(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	now := dbtest.Declare[draft](t, b.DB, entity.Upgrade(1, func(d draft1) (draft, error) { return draft{ID: d.ID, Text: d.Text}, nil }))
	old := dbtest.Declare[draft1](t, b.Open(b.Raw))
	b.CreateTables()
	deleted := entity.Must(lifecycle.Of(now))
	b.OK(old.Create(b.Ctx, draft1{ID: "a", Text: "first"}))
	b.OK(old.Delete(b.Ctx, draft1{ID: "a"}))
	first, err := deleted.Get(b.Ctx, draft{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, first.DeletedAt, first.Item.Removed)
	b.OK(now.Create(b.Ctx, draft{ID: "a", Text: "second"}))
	b.Clock.Move(-time.Hour) // the new copy sorts after the old one all the same
	b.OK(now.Delete(b.Ctx, draft{ID: "a"}))
	list, err := deleted.List(draft{ID: "a"}).Collect(b.Ctx)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []string{"second", "first"}, []string{list[0].Item.Text, list[1].Item.Text})
	got, err := deleted.Restore(b.Ctx, draft{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, draft{ID: "a", Text: "second"}, got)
	b.OK(now.Delete(b.Ctx, got))
	got, err = deleted.RestoreCopy(b.Ctx, first)
	require.NoError(t, err)
	require.Equal(t, draft{ID: "a", Text: "first"}, got)
	require.NotContains(t, b.Current("a"), "gone")
}

// The forms of a note with a history, whose updated_at has other names and formats.

type note1 struct {
	_ entity.Key       `name:"Note" pk:"$#{id}" sk:"$"`
	_ versioned.Retain ``

	ID      string    `dynamodbav:"id"`
	Seen    time.Time `dynamodbav:"seen,omitempty"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

type noteInSeconds1 struct {
	_ entity.Key       `name:"Note" pk:"$#{id}" sk:"$"`
	_ versioned.Retain ``

	ID      string    `dynamodbav:"id"`
	Seen    time.Time `dynamodbav:"seen,omitempty"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at,time=unix"`
}

type note struct {
	_ entity.Key       `name:"Note" pk:"$#{id}" sk:"$" payload:"2"`
	_ versioned.Retain ``

	ID      string    `dynamodbav:"id"`
	Seen    time.Time `dynamodbav:"seen,omitempty"`
	Planned time.Time `dynamodbav:"updated,omitempty"` // a name in use again
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

type noteInSeconds struct {
	_ entity.Key       `name:"Note" pk:"$#{id}" sk:"$" payload:"2"`
	_ versioned.Retain ``

	ID      string    `dynamodbav:"id"`
	Seen    time.Time `dynamodbav:"seen,omitempty"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at,time=unix"`
}

// written has the old program create and touch an item, and today's write it. It returns the versions of the history.
func written[Old, Now any](t *testing.T, first Old, seen *time.Time, second Now) (versions []int64) {
	t.Helper()
	b := dbtest.Open(t)
	now := dbtest.Declare[Now](t, b.DB, entity.Upgrade(1, func(Old) (Now, error) { return second, nil }))
	old := dbtest.Declare[Old](t, b.Open(b.Raw))
	b.CreateTables()
	b.OK(old.Create(b.Ctx, first))
	b.Clock.Move(time.Hour)
	b.OK(old.Touch(b.Ctx, first, seen, 0))
	b.Clock.Move(time.Hour)
	b.OK(now.Put(b.Ctx, second))
	all, err := entity.Must(versioned.Of(now)).List(second, versioned.WithCurrent()).Collect(b.Ctx)
	require.NoError(t, err)
	for _, v := range all {
		versions = append(versions, v.Number)
	}
	return versions
}

// A state that was touched before the upgrade has a snapshot in the old form. It is not stored under a second version.
func TestUpgrades_OfUpdatedAtKeepOneSnapshotOfATouchedState(t *testing.T) {
	t.Parallel()
	seen, seenSeconds := &entity.Fields[note1]().Seen, &entity.Fields[noteInSeconds1]().Seen
	require.Equal(t, []int64{1, 2}, written(t, note1{ID: "a"}, seen, note{ID: "a"}), "another name")
	require.Equal(t, []int64{1, 2}, written(t, note1{ID: "a"}, seen, noteInSeconds{ID: "a"}), "seconds")
	require.Equal(t, []int64{1, 2}, written(t, noteInSeconds1{ID: "a"}, seenSeconds, note{ID: "a"}), "another name, and no seconds any more")
}

// A snapshot of another state is not replaced because an attribute of it has the old name of updated_at and its time.
func TestUpgrades_OfUpdatedAtLeaveSnapshotsOfOtherStates(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	now := dbtest.Declare[note](t, b.DB, entity.Upgrade(1, func(n note1) (note, error) { return note{ID: n.ID}, nil }))
	b.CreateTables()
	planned := b.Clock.Now().Add(time.Hour)
	b.OK(now.Create(b.Ctx, note{ID: "a", Planned: planned}))
	pk, sk := b.KeyOf(b.Current("a"))
	b.ChangeItem(pk, sk, dbtest.Item{"_w": &types.AttributeValueMemberS{Value: "w"}, "updatedAt": b.Current("a")["updated"]}) // created again by another program
	b.Clock.Move(2 * time.Hour)
	v, err := now.Update(b.Ctx, note{ID: "a"}, entity.Remove(&entity.Fields[note]().Planned))
	require.NoError(t, err)
	require.Equal(t, int64(3), v.Version)
	first, err := entity.Must(versioned.Of(now)).Get(b.Ctx, note{ID: "a"}, 1)
	require.NoError(t, err)
	require.True(t, first.Item.Updated.Before(planned))
}

// A token of an item in an earlier form is not refused for ever.
func TestUpgrades_TransactWithTokenUpgradesFirst(t *testing.T) {
	t.Parallel()
	l := open(t)
	a, _ := l.store()
	add := func() error {
		return l.DB.TransactWithToken(l.Ctx, entity.Token{ID: "t" + l.Table, At: l.Clock.Now()}, l.now.Op().Update(a, entity.Add(&entity.Fields[author]().Books, 1)))
	}
	require.NoError(t, add())
	require.NoError(t, add())
	got, err := l.now.Get(l.Ctx, a)
	require.NoError(t, err)
	require.Equal(t, []any{2, name{"Ada", "Lovelace"}}, []any{got.Books, got.Name})
}

// reading1 and reading differ in the name of what an event carries, and of what does not come with events.

type reading1 struct {
	_ entity.Key        `name:"Reading" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Temp   *int      `dynamodbav:"temp,omitempty" entity:"append"`
	Owner  string    `dynamodbav:"owner,omitempty"`
}

type reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{device}" sk:"$" payload:"2"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Temp   *int      `dynamodbav:"temperature,omitempty" entity:"append"`
	Owner  string    `dynamodbav:"account,omitempty"`
}

func TestUpgrades_OfSeries(t *testing.T) {
	t.Parallel()
	one, two, at := 1, 2, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for what, push := range map[string]func(b *dbtest.Bench, s *timeseries.Series[reading], r reading) (timeseries.Result[reading], error){
		"append": func(b *dbtest.Bench, s *timeseries.Series[reading], r reading) (timeseries.Result[reading], error) {
			return s.Append(b.Ctx, r)
		},
		"appendAll": func(b *dbtest.Bench, s *timeseries.Series[reading], r reading) (timeseries.Result[reading], error) {
			all, err := s.AppendAll(b.Ctx, []reading{r})
			return all[0], err
		},
		"transaction": func(b *dbtest.Bench, s *timeseries.Series[reading], r reading) (got timeseries.Result[reading], err error) {
			op := s.Op().Append(r)
			if err = b.DB.Transact(b.Ctx, op); err != nil { // nothing to learn about a repeated event
				return s.Append(b.Ctx, r)
			}
			return op.Result(), nil
		},
	} {
		b := dbtest.Open(t)
		now, err := timeseries.New[reading](b.DB, entity.Upgrade(1, func(r reading1) (reading, error) {
			return reading{Device: r.Device, At: r.At, Temp: r.Temp, Owner: r.Owner}, nil
		}))
		require.NoError(t, err)
		old, err := timeseries.New[reading1](b.Open(b.Raw))
		require.NoError(t, err)
		b.CreateTables()
		b.OK(old.Append(b.Ctx, reading1{Device: "d", At: at, Temp: &one}))
		b.OK(old.Update(b.Ctx, reading1{Device: "d"}, entity.Set(&entity.Fields[reading1]().Owner, "acct")))

		again, err := push(b, now, reading{Device: "d", At: at, Temp: &one})
		require.NoError(t, err, what)
		require.Equal(t, timeseries.Duplicate, again.Reason, what)
		require.Equal(t, 1, *again.Existing.Temp, what)
		other, err := now.Append(b.Ctx, reading{Device: "d", At: at, Temp: &two})
		require.NoError(t, err, what)
		require.Equal(t, timeseries.Collision, other.Reason, what)
		next, err := push(b, now, reading{Device: "d", At: at.Add(time.Second), Temp: &two})
		require.NoError(t, err, what)
		require.True(t, next.Applied, what)
		got, err := now.Get(b.Ctx, reading{Device: "d"})
		require.NoError(t, err, what)
		require.Equal(t, []any{"acct", 2}, []any{got.Owner, *got.Temp}, what)
		events, err := now.History(reading{Device: "d"}).Collect(b.Ctx)
		require.NoError(t, err, what)
		require.Len(t, events, 2, what)
	}
}

// A record of a stream has the version of the item in both forms.
func TestUpgrades_StreamsSeeVersions(t *testing.T) {
	t.Parallel()
	c := openClub(t)
	c.OK(c.old.Create(c.Ctx, member1{Team: "red", ID: "a", Mail: "a@x", Name: "Ann"}))
	image := c.Current("a")
	change, ok, err := stream.Of(c.now, stream.Record{Operation: "INSERT", SequenceNumber: "1", View: "NEW_IMAGE", Keys: c.Key(c.KeyOf(image)), New: image})
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []any{int64(1), "Ann"}, []any{change.NewVersion, change.New.Name})
}
