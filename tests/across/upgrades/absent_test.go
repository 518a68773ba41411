package upgrades_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// case1 was stored before the other fields of case2 were declared. The step only renames.
type (
	case1 struct {
		_     entity.Key `name:"Case" pk:"$#{id}" sk:"$"`
		ID    string     `dynamodbav:"id"`
		Name  string     `dynamodbav:"name"`
		Count int        `dynamodbav:"count"`
		Done  bool       `dynamodbav:"done"`
		Rest  rest       `dynamodbav:"rest"`
	}
	case2 struct {
		_ entity.Key `name:"Case" pk:"$#{id}" sk:"$" payload:"2"`
		_ entity.GSI `name:"flat" index:"gsi1" pk:"$#flat" sk:"$#{id}" when:"level=0"`
		_ entity.GSI `name:"open" index:"gsi2" pk:"$#open" sk:"$#{total:04}" when:"finished=false"`

		ID       string     `dynamodbav:"id"`
		Title    string     `dynamodbav:"title"`
		Total    int        `dynamodbav:"total"`
		Finished bool       `dynamodbav:"finished"`
		Rest     rest       `dynamodbav:"remainder"`
		Owner    string     `dynamodbav:"owner" entity:"immutable"`
		First    string     `dynamodbav:"first" entity:"set_once"`
		Level    int        `dynamodbav:"level"`
		State    string     `dynamodbav:"state" entity:"default=new"`
		Must     string     `dynamodbav:"must" entity:"required"`
		Tags     []string   `dynamodbav:"tags" entity:"notnull"`
		Seen     time.Time  `dynamodbav:"seen"`
		Due      *time.Time `dynamodbav:"due"`
	}
	rest struct {
		N int    `dynamodbav:"n"`
		S string `dynamodbav:"s"`
	}
)

func later(c case1) (case2, error) {
	return case2{ID: c.ID, Title: c.Name, Total: c.Count, Finished: c.Done, Rest: c.Rest}, nil
}

var added = []string{"owner", "first", "level", "state", "must", "tags", "seen", "due", "gsi1pk", "gsi1sk"}

type cases struct {
	*dbtest.Bench
	old *entity.Store[case1]
	now *entity.Store[case2]
}

func openCases(t *testing.T) *cases {
	t.Helper()
	b := dbtest.Open(t)
	now := dbtest.Declare[case2](t, b.DB, entity.Upgrade(1, later))
	c := &cases{b, dbtest.Declare[case1](t, b.Open(b.Raw)), now}
	b.CreateTables()
	return c
}

// requireAbsent requires that an item lacks the attributes that were declared since it was stored.
func (c *cases) requireAbsent(id string) {
	c.T.Helper()
	for _, name := range added {
		require.NotContains(c.T, c.Current(id), name)
	}
}

// What an item of before lacks, and a step gives as a zero, stays absent: it takes its first value, and enters no index.
func TestUpgrades_LeaveAbsentWhatWasDeclaredLater(t *testing.T) {
	t.Parallel()
	c := openCases(t)
	f := entity.Fields[case2]()
	c.OK(c.old.Create(c.Ctx, case1{ID: "a", Name: "x", Count: 1, Done: true}))
	c.OK(c.now.Update(c.Ctx, case2{ID: "a"}, entity.Set(&f.Title, "y"), entity.If(entity.NotExists(&f.Owner), entity.NotExists(&f.Level))))
	c.requireAbsent("a")
	found, err := entity.Must(c.now.Index("flat")).Query(case2{}).Collect(c.Ctx)
	require.NoError(t, err)
	require.Empty(t, found)
	c.OK(c.now.Update(c.Ctx, case2{ID: "a"}, entity.Set(&f.Owner, "ann"), entity.Set(&f.First, "ann")))
	got, _, err := c.now.Upsert(c.Ctx, case2{ID: "a", Must: "m", Owner: "ann", First: "ben"})
	require.NoError(t, err)
	require.Equal(t, []string{"ann", "ann", "new"}, []string{got.Owner, got.First, got.State})

	c.OK(c.old.Create(c.Ctx, case1{ID: "b", Name: "x"}))
	c.OK(c.now.Modify(c.Ctx, case2{ID: "b"}, func(v *case2) error { v.Must, v.Owner = "m", "ben"; return nil }))
	require.NotContains(t, c.Current("b"), "first")
	require.Equal(t, "ben", dbtest.Text(c.Current("b")["owner"]))

	c.OK(c.old.Create(c.Ctx, case1{ID: "c", Name: "x"}))
	report, err := migrate.Rewrite(c.Ctx, c.now)
	require.NoError(t, err)
	require.Equal(t, map[migrate.Reason]int{migrate.Payload: 1, migrate.Defaults: 2, migrate.IndexKeys: 1}, report.Reasons)
	require.Equal(t, "new", dbtest.Text(c.Current("c")["state"]))
	require.NotContains(t, c.Current("c"), "level")
}

// A zero that is stored under another name stays a zero: the item stays in the indexes that are about it.
func TestUpgrades_KeepStoredZerosThatTheyRename(t *testing.T) {
	t.Parallel()
	c := openCases(t)
	c.OK(c.old.Create(c.Ctx, case1{ID: "a"}))
	was := c.Current("a")
	c.OK(c.now.Update(c.Ctx, case2{ID: "a"}, entity.Set(&entity.Fields[case2]().Seen, time.Time{})))
	it := c.Current("a")
	for from, to := range map[string]string{"name": "title", "count": "total", "done": "finished", "rest": "remainder"} {
		require.Equal(t, was[from], it[to])
		require.NotContains(t, it, from)
	}
	require.NotContains(t, it, "owner")
	require.NotContains(t, it, "level")
	_, err := migrate.Rewrite(c.Ctx, c.now)
	require.NoError(t, err)
	found, err := entity.Must(c.now.Index("open")).Query(case2{}).Collect(c.Ctx)
	require.NoError(t, err)
	require.Len(t, found, 1)
}

// What a step makes of a zero is found out by another value, which it may refuse or not expect. Then a zero result is not stored.
func TestUpgrades_StepsThatExpectZerosOnly(t *testing.T) {
	t.Parallel()
	for what, step := range map[string]func(case1) (case2, error){
		"error": func(c case1) (case2, error) {
			if c.Count != 0 {
				return case2{}, errNoName
			}
			return later(c)
		},
		"panic": func(c case1) (case2, error) { return later(case1{ID: c.ID, Count: []int{0}[c.Count], Done: c.Done}) },
	} {
		b := dbtest.Open(t)
		now := dbtest.Declare[case2](t, b.DB, entity.Upgrade(1, step))
		old := dbtest.Declare[case1](t, b.Open(b.Raw))
		b.CreateTables()
		b.OK(old.Create(b.Ctx, case1{ID: "a"}))
		b.OK(now.Update(b.Ctx, case2{ID: "a"}, entity.Set(&entity.Fields[case2]().Title, "y")))
		require.NotContains(t, b.Current("a"), "total", what)
		require.Contains(t, b.Current("a"), "finished", what)
	}
}

// What a step does not change stays as it is stored: digits that its struct cannot hold, what the struct does not know inside,
// and a zero that omitempty would leave out.
func TestUpgrades_LeaveWhatTheyDoNotChange(t *testing.T) {
	t.Parallel()
	type parcel1 struct {
		_     entity.Key `name:"Parcel" pk:"$#{id}" sk:"$"`
		ID    string     `dynamodbav:"id"`
		Name  string     `dynamodbav:"name"`
		Mass  float64    `dynamodbav:"mass"`
		Rest  rest       `dynamodbav:"rest"`
		Count int        `dynamodbav:"count,omitempty"`
	}
	type parcel struct {
		_     entity.Key `name:"Parcel" pk:"$#{id}" sk:"$" payload:"2"`
		ID    string     `dynamodbav:"id"`
		Title string     `dynamodbav:"title"`
		Mass  float64    `dynamodbav:"mass"`
		Rest  rest       `dynamodbav:"rest"`
		Count int        `dynamodbav:"count,omitempty"`
		Moved string     `dynamodbav:"moved"`
	}
	b := dbtest.Open(t)
	now := dbtest.Declare[parcel](t, b.DB, entity.Upgrade(1, func(p parcel1) (parcel, error) {
		p.Rest.N++
		return parcel{ID: p.ID, Title: p.Name, Mass: p.Mass, Rest: p.Rest, Count: p.Count}, nil
	}))
	old := dbtest.Declare[parcel1](t, b.Open(b.Raw))
	b.CreateTables()
	b.OK(old.Create(b.Ctx, parcel1{ID: "a", Name: "x", Mass: 1, Rest: rest{S: "s"}}))
	pk, sk := b.KeyOf(b.Current("a"))
	inside := &types.AttributeValueMemberM{Value: dbtest.Item{"n": dbtest.N("0"), "s": dbtest.S("s"), "unknown": dbtest.S("u")}}
	b.ChangeItem(pk, sk, dbtest.Item{"mass": dbtest.N("1.00000000000000000000001"), "count": dbtest.N("0"), "rest": inside, "moved": dbtest.S("m")})
	b.OK(now.Update(b.Ctx, parcel{ID: "a"}, entity.Set(&entity.Fields[parcel]().Title, "y")))
	it := b.Current("a")
	inside.Value["n"] = dbtest.N("1")
	require.Equal(t, []types.AttributeValue{dbtest.N("1.00000000000000000000001"), dbtest.N("0"), inside, dbtest.S("m")}, []types.AttributeValue{it["mass"], it["count"], it["rest"], it["moved"]})
}

// A transaction that fails for another reason fails for that reason alone, and what it would have done to an item of before is
// judged by the upgraded item.
func TestUpgrades_ATransactionThatFailsUpgradesFirst(t *testing.T) {
	t.Parallel()
	c := openCases(t)
	f := entity.Fields[case2]()
	c.OK(c.old.Create(c.Ctx, case1{ID: "a", Name: "x"}))
	err := c.DB.Transact(c.Ctx, c.now.Op().Update(case2{ID: "a"}, entity.Set(&f.Title, "y")), c.now.Op().CheckExists(case2{ID: "none"}))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.NotErrorIs(t, err, entity.ErrConflict)
	c.OK(c.old.Create(c.Ctx, case1{ID: "b", Name: "x"}))
	err = c.DB.Transact(c.Ctx, c.now.Op().Update(case2{ID: "b"}, entity.Set(&f.Title, "y"), entity.If(entity.Eq(&f.Title, "z"))), c.now.Op().CheckExists(case2{ID: "none"}))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.ErrorIs(t, err, entity.ErrConditionFailed)
}

// An item of a series that has enrichment alone has no event yet, before and after its upgrade.
func TestUpgrades_OfAnEnrichedSeriesTakeTheFirstEvent(t *testing.T) {
	t.Parallel()
	type meter1 struct {
		_     entity.Key        `name:"Meter" pk:"$#{device}" sk:"$"`
		_     timeseries.Events `orderBy:"at"`
		ID    string            `dynamodbav:"device"`
		At    time.Time         `dynamodbav:"at"`
		Temp  int               `dynamodbav:"temp" entity:"append"`
		Owner string            `dynamodbav:"owner,omitempty"`
	}
	type meter struct {
		_     entity.Key        `name:"Meter" pk:"$#{device}" sk:"$" payload:"2"`
		_     timeseries.Events `orderBy:"at"`
		ID    string            `dynamodbav:"device"`
		At    time.Time         `dynamodbav:"at"`
		Temp  int               `dynamodbav:"temperature" entity:"append"`
		Owner string            `dynamodbav:"account,omitempty"`
	}
	b := dbtest.Open(t)
	now, err := timeseries.New[meter](b.DB, entity.Upgrade(1, func(m meter1) (meter, error) {
		return meter{ID: m.ID, At: m.At, Temp: m.Temp, Owner: m.Owner}, nil
	}))
	require.NoError(t, err)
	old := entity.Must(timeseries.New[meter1](b.Open(b.Raw)))
	b.CreateTables()
	b.OK(old.Upsert(b.Ctx, meter1{ID: "d", Owner: "o"}))
	b.OK(now.Update(b.Ctx, meter{ID: "d"}, entity.Set(&entity.Fields[meter]().Owner, "p")))
	require.NotContains(t, b.Current("d"), "at")
	require.NotContains(t, b.Current("d"), "temperature")
	got, err := now.Append(b.Ctx, meter{ID: "d", At: time.Unix(0, 0).UTC(), Temp: 1})
	require.NoError(t, err)
	require.True(t, got.Applied)
}

// An item whose parts of a new index are empty, or fit no key, is upgraded, and stays out of the index, as without an upgrade.
func TestUpgrades_LeaveItemsOutOfIndexesThatTheyDoNotFit(t *testing.T) {
	t.Parallel()
	type plain1 struct {
		_    entity.Key `name:"Lot" pk:"$#{id}" sk:"$"`
		ID   string     `dynamodbav:"id"`
		Name string     `dynamodbav:"name"`
		Code string     `dynamodbav:"code"`
		Raw  []byte     `dynamodbav:"raw"`
		N    int        `dynamodbav:"n"`
	}
	type same1 struct { // without an upgrade
		_     entity.Key `name:"Lot" pk:"$#{id}" sk:"$"`
		_     entity.GSI `name:"code" index:"gsi1" pk:"$#{code}" missing:"error"`
		_     entity.GSI `name:"n" index:"gsi3" pk:"$#{n:02}"`
		ID    string     `dynamodbav:"id"`
		Title string     `dynamodbav:"title"`
		Code  string     `dynamodbav:"code"`
		Raw   []byte     `dynamodbav:"raw"`
		N     int        `dynamodbav:"n"`
	}
	type lot struct {
		_     entity.Key `name:"Lot" pk:"$#{id}" sk:"$" payload:"2"`
		_     entity.GSI `name:"code" index:"gsi1" pk:"$#{code}" missing:"error"`
		_     entity.GSI `name:"bytes" index:"gsi2" pk:"raw"`
		_     entity.GSI `name:"n" index:"gsi3" pk:"$#{n:02}"`
		_     entity.GSI `name:"native" index:"gsi4" pk:"code"`
		ID    string     `dynamodbav:"id"`
		Title string     `dynamodbav:"title"`
		Code  string     `dynamodbav:"code"`
		Raw   []byte     `dynamodbav:"raw"`
		N     int        `dynamodbav:"n"`
	}
	type renamed struct {
		_     entity.Key `name:"Lot" pk:"$#{id}" sk:"$" payload:"2"`
		_     entity.GSI `name:"code" index:"gsi1" pk:"$#{mark}" missing:"error"`
		_     entity.GSI `name:"bytes" index:"gsi5" pk:"data"`
		_     entity.GSI `name:"n" index:"gsi3" pk:"$#{number:02}"`
		_     entity.GSI `name:"native" index:"gsi6" pk:"mark"`
		ID    string     `dynamodbav:"id"`
		Title string     `dynamodbav:"title"`
		Code  string     `dynamodbav:"mark"`
		Raw   []byte     `dynamodbav:"data"`
		N     int        `dynamodbav:"number"`
	}
	b := dbtest.Open(t)
	old := dbtest.Declare[plain1](t, b.DB)
	b.CreateTables()
	for _, id := range []string{"a", "b", "c"} {
		b.OK(old.Create(b.Ctx, plain1{ID: id, Name: "x", Raw: []byte{}, N: 100}))
	}
	plain := dbtest.Declare[same1](t, b.Open(b.Raw))
	b.OK(plain.Update(b.Ctx, same1{ID: "a"}, entity.Set(&entity.Fields[same1]().Title, "y")))
	indexed := b.Open(b.Raw)
	now := dbtest.Declare[lot](t, indexed, entity.Upgrade(1, func(p plain1) (lot, error) {
		return lot{ID: p.ID, Title: p.Name, Code: p.Code, Raw: p.Raw, N: p.N}, nil
	}))
	other := b.Open(b.Raw)
	moved := dbtest.Declare[renamed](t, other, entity.Upgrade(1, func(p plain1) (renamed, error) {
		return renamed{ID: p.ID, Title: p.Name, Code: p.Code, Raw: p.Raw, N: p.N}, nil
	}))
	require.NoError(t, tables.Create(b.Ctx, indexed, tables.AddIndexes()))
	b.OK(now.Update(b.Ctx, lot{ID: "b"}, entity.Set(&entity.Fields[lot]().Title, "y")))
	require.NoError(t, tables.Create(b.Ctx, other, tables.AddIndexes()))
	b.OK(moved.Update(b.Ctx, renamed{ID: "c"}, entity.Set(&entity.Fields[renamed]().Title, "y")))
	for _, id := range []string{"a", "b", "c"} {
		for _, name := range []string{"gsi1pk", "gsi3pk"} {
			require.NotContains(t, b.Current(id), name, id)
		}
	}
}
