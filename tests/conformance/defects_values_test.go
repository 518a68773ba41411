package conformance_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Dossier has values of every sort, all kept.
type Dossier struct {
	_      entity.Key `name:"Dossier" pk:"$#{id}" sk:"$"`
	_      versioned.Retain
	_      lifecycle.SoftDelete
	_      unique.Constraint `name:"code" fields:"code"`
	ID     string            `dynamodbav:"id"`
	Code   string            `dynamodbav:"code,omitempty"`
	Due    *time.Time        `dynamodbav:"due,omitempty"`
	Count  int64             `dynamodbav:"count"`
	Log    []string          `dynamodbav:"log"`
	Tags   []string          `dynamodbav:"tags,omitempty,stringset"`
	Labels map[string]string `dynamodbav:"labels"`
	Home   struct {
		City string `dynamodbav:"city"`
	} `dynamodbav:"home"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Created time.Time `dynamodbav:"createdAt" entity:"created_at"`
}

const dossier = "$app#v1#dossier#d $app#v1#dossier"

func TestAnOptionalTimeIsATextOnEveryItem(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Dossier](t)
	due := dbtest.Start.Add(time.Hour)
	v, err := s.Create(t.Context(), Dossier{ID: "d", Due: &due})
	require.NoError(t, err)
	l.Clock.Move(time.Second)
	_, err = s.Update(t.Context(), v, entity.Add(&entity.Fields[Dossier]().Count, 1))
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), v))
	for key, it := range l.ItemsByKey() {
		require.Equal(t, dbtest.S("2101-05-06T08:08:09.123456789Z"), it["due"], key)
	}
	got, err := entity.Must(lifecycle.Of(s)).Restore(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, due, *got.Due)
}

// A write that is planned from the stored item carries over what it does not know, to the last digit.
func TestNumbersKeepTheirDigitsThroughEveryKindOfItem(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Dossier](t)
	v, err := s.Create(t.Context(), Dossier{ID: "d"})
	require.NoError(t, err)
	digits := dbtest.N("0.12345678901234567890123456789012345678")
	l.ChangeItem("$app#v1#dossier#d", "$app#v1#dossier", dbtest.Item{"unknown": digits, "count": dbtest.N("9007199254740993")})
	l.Clock.Move(time.Second)
	got, err := s.Update(t.Context(), v, entity.Add(&entity.Fields[Dossier]().Count, 2))
	require.NoError(t, err)
	require.EqualValues(t, 9007199254740995, got.Count)
	require.NoError(t, s.Delete(t.Context(), v))
	_, err = entity.Must(lifecycle.Of(s)).Restore(t.Context(), v)
	require.NoError(t, err)
	for _, suffix := range []string{"", "#v#0000002", "#v#0000003"} {
		it := l.ItemsByKey()[dossier+suffix]
		require.Equal(t, digits, it["unknown"], suffix)
		require.Equal(t, dbtest.N("9007199254740995"), it["count"], suffix)
	}
	require.Equal(t, dbtest.N("9007199254740993"), l.ItemsByKey()[dossier+"#v#0000001"]["count"])
}

func TestPathsAndCollectionsChangeOnTheTransactionalPathToo(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Dossier](t)
	f := entity.Fields[Dossier]()
	v, err := s.Create(t.Context(), Dossier{ID: "d", Log: []string{"a"}, Tags: []string{"x", "y"}, Labels: map[string]string{"k": "1", "gone": "1"}})
	require.NoError(t, err)
	l.Clock.Move(time.Second)
	for name, run := range map[string]func(entity.Write[Dossier]) error{
		"alone": func(w entity.Write[Dossier]) error { return runAlone(t, w) }, "joined": func(w entity.Write[Dossier]) error { return runJoined(l, w) },
	} {
		require.NoError(t, run(s.Op().Update(v,
			entity.Set(&f.Code, name), entity.MapEntry(&f.Labels, "k").Set(name), entity.ListAppend(&f.Log, name), entity.AddToSet(&f.Tags, name),
			entity.Set(&f.Home.City, name), entity.Add(&f.Count, 3))), name)
		got, err := s.Get(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, name, got.Labels["k"])
		require.Equal(t, name, got.Log[len(got.Log)-1])
		require.Contains(t, got.Tags, name)
		require.Equal(t, name, got.Home.City)
	}
	got, err := s.Update(t.Context(), v, entity.MapEntry(&f.Labels, "gone").Remove(), entity.Attr[string]("log[0]").Remove(), entity.DeleteFromSet(&f.Tags, "x"))
	require.NoError(t, err)
	require.NotContains(t, got.Tags, "x")
	require.NotContains(t, got.Labels, "gone")
	require.Len(t, got.Log, 2)
	require.EqualValues(t, 6, got.Count)
	require.EqualValues(t, 4, got.Version)
	_, err = s.Update(t.Context(), v, entity.MapEntry(&f.Labels, "a").Set("b"), entity.If(entity.NotExists(&f.Code)))
	require.Equal(t, "Condition", classesOf(err))
}

// plainNote and keptNote are one entity before and after the features were declared.
type plainNote struct {
	_    entity.Key `name:"Note" pk:"$#{id}" sk:"$"`
	ID   string     `dynamodbav:"id"`
	Body string     `dynamodbav:"body"`
	Mail string     `dynamodbav:"mail,omitempty"`
}

type keptNote struct {
	_       entity.Key `name:"Note" pk:"$#{id}" sk:"$"`
	_       versioned.Retain
	_       lifecycle.SoftDelete `unique:"reserve"`
	_       unique.Constraint    `name:"mail" fields:"mail"`
	ID      string               `dynamodbav:"id"`
	Body    string               `dynamodbav:"body"`
	Mail    string               `dynamodbav:"mail,omitempty"`
	Version int64                `dynamodbav:"version" entity:"version"`
	Created time.Time            `dynamodbav:"createdAt" entity:"created_at"`
	Updated time.Time            `dynamodbav:"updatedAt" entity:"updated_at"`
}

func TestFeaturesCanBeTurnedOnForItemsThatAreThere(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[keptNote](t)
	before := dbtest.Declare[plainNote](t, l.Open(l.Raw))
	for _, id := range []string{"a", "b", "c"} {
		_, err := before.Create(t.Context(), plainNote{ID: id, Body: "old", Mail: id + "@example.com"})
		require.NoError(t, err)
	}
	f := entity.Fields[keptNote]()
	got, err := s.Get(t.Context(), keptNote{ID: "a"})
	require.NoError(t, err)
	require.Zero(t, got.Version)
	got, err = s.Update(t.Context(), keptNote{ID: "a"}, entity.Set(&f.Body, "new"), versioned.Expect(0))
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Version)
	history := entity.Must(versioned.Of(s))
	first, err := history.Get(t.Context(), keptNote{ID: "a"}, 0)
	require.NoError(t, err)
	require.Equal(t, "old", first.Item.Body)
	require.True(t, first.ValidFrom.IsZero())
	got, err = history.Revert(t.Context(), keptNote{ID: "a"}, 0)
	require.NoError(t, err)
	require.Equal(t, "old", got.Body)
	// A delete and a restore claim the value that was never claimed.
	l.Clock.Move(time.Second)
	require.NoError(t, s.Delete(t.Context(), keptNote{ID: "b"}))
	require.Equal(t, "$note#b", owners(l)["$note.mail#b@example.com"])
	got, err = entity.Must(lifecycle.Of(s)).Restore(t.Context(), keptNote{ID: "b"})
	require.NoError(t, err)
	require.EqualValues(t, 2, got.Version)
	got, err = s.Put(t.Context(), keptNote{ID: "c", Body: "put", Mail: "new@example.com"})
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Version)
	require.Equal(t, "$note#c", owners(l)["$note.mail#new@example.com"])
}

func TestWhatIsTooLargeIsRefusedBeforeTheWrite(t *testing.T) {
	t.Parallel()
	type T = u1VRetainSFree
	b := newBench[T](t)
	_, err := b.s.Create(t.Context(), as[T](Person{ID: "big", Tenant: "t", Name: strings.Repeat("x", 400*1024)}))
	require.ErrorIs(t, err, entity.ErrTooLarge)
	_, err = b.s.Create(t.Context(), as[T](Person{ID: "big", Tenant: "t", Email: strings.Repeat("x", 2048)}))
	require.ErrorIs(t, err, entity.ErrTooLarge, "the key of the sentinel")
	require.NotContains(t, fmt.Sprintf("%+v", err), "xxx")
	_, err = b.s.Create(t.Context(), as[T](Person{ID: "big", Tenant: "t", Email: strings.Repeat("#", 700)}))
	require.ErrorIs(t, err, entity.ErrTooLarge, "after escaping")
	p := b.item(t, live)
	b.l.Sent()
	_, err = b.s.Update(t.Context(), as[T](p), entity.Set(&fields[T]().Name, strings.Repeat("x", 400*1024)))
	require.ErrorIs(t, err, entity.ErrTooLarge)
	require.NotContains(t, b.l.Operations(), "TransactWriteItems")
	var ops []entity.Op
	for i := range 6 { // twice 380 KB each, with the snapshot
		ops = append(ops, b.s.Op().Create(as[T](Person{ID: fmt.Sprint("m", i), Tenant: "t", Name: strings.Repeat("x", 380*1024)})))
	}
	require.ErrorIs(t, b.l.DB.Transact(t.Context(), ops...), entity.ErrTooLarge)
	require.NotContains(t, b.l.Operations(), "TransactWriteItems")
}

func TestExpectNeedsALockAndErrorsCarryKeysOnly(t *testing.T) {
	t.Parallel()
	b := newBench[u1VNoneSFree](t)
	type T = u1VNoneSFree
	p := b.item(t, live)
	b.l.Sent()
	_, err := b.s.Update(t.Context(), as[T](p), entity.Set(&fields[T]().Name, "x"), versioned.Expect(1))
	require.Equal(t, "EDD-9108", dbtest.InputCode(err))
	require.Empty(t, b.l.Sent())
	_, err = b.s.Create(t.Context(), as[T](p))
	require.ErrorIs(t, err, entity.ErrExists)
	require.NotContains(t, err.Error(), "@")
	var one *entity.Error
	require.ErrorAs(t, err, &one)
	require.Contains(t, one.Key, p.ID)
	_, err = b.s.Update(t.Context(), as[T](p), entity.Set(&fields[T]().Name, "x"), entity.If())
	require.Equal(t, "EDD-9108", dbtest.InputCode(err), "no condition guards nothing")
}

// createdOnly has one role alone; the time of deletion has a name of its own.
type createdOnly struct {
	_       entity.Key `name:"Once" pk:"$#{id}" sk:"$"`
	_       lifecycle.SoftDelete
	ID      string    `dynamodbav:"id"`
	Created time.Time `dynamodbav:"born" entity:"created_at"`
	Gone    time.Time `dynamodbav:"gone,omitempty" entity:"deleted_at"`
}

func TestWhatIsMissingElsewhere(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[createdOnly](t)
	v, err := s.Create(t.Context(), createdOnly{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, dbtest.Start, v.Created, "created_at alone")
	at := l.Clock.Move(time.Second)
	require.NoError(t, s.Delete(t.Context(), v))
	bin := entity.Must(lifecycle.Of(s))
	first, err := bin.Get(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, at, first.Item.Gone, "deleted_at under another name")
	l.Clock.Move(time.Second)
	_, err = s.Create(t.Context(), createdOnly{ID: "a"})
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), v))
	got, err := bin.RestoreCopy(t.Context(), first)
	require.NoError(t, err, "a chosen copy")
	require.Equal(t, dbtest.Start, got.Created)
	require.True(t, got.Gone.IsZero())

	_, h, key := lived(t, 2)
	current, err := h.Get(t.Context(), key, 2)
	require.NoError(t, err, "the current version by its number")
	require.Equal(t, "v2", current.Item.Name)
	hard := newBench[u0VRetainTTLSNone](t)
	p := hard.item(t, live)
	require.NoError(t, hard.s.Delete(t.Context(), as[u0VRetainTTLSNone](p)))
	for key, it := range hard.l.ItemsByKey() {
		require.Contains(t, it, "_ttl", "the history of a deleted item ends: %s", key)
	}
}
