package entity_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// Elsewhere what is called a transaction writes at once, and stays when the function fails.
func TestTransact_AFailedTransactionLeavesNothing(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t)
	ops := []entity.Op{s.Op().Create(Team{ID: "a"}), s.Op().Put(Team{ID: "b"}), s.Op().Upsert(Team{ID: "c"}), s.Op().Update(Team{ID: "none"}, entity.Set(&entity.Fields[Team]().Name, "x"))}
	require.ErrorIs(t, l.db.Transact(t.Context(), ops...), entity.ErrNotFound)
	require.Empty(t, l.everything(t))
}

// Elsewhere a put in a transaction stores year 1 for created_at and sets as lists, and an update there leaves updated_at
// and the version alone: the transactional route knows less than the plain one.
func TestTransact_StoresWhatThePlainVerbsStore(t *testing.T) {
	t.Parallel()
	type tagged struct {
		_ entity.Key `name:"Tagged" pk:"$#{id}" sk:"$"`
		Facts
		ID        string    `dynamodbav:"id"`
		Tags      []string  `dynamodbav:"tags,stringset,omitempty"`
		Version   int       `dynamodbav:"version" entity:"version"`
		CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
		UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
	}
	l, s := open[tagged](t)
	f := entity.Fields[tagged]()
	at := keys("pk", "$app#v1#tagged#a", "sk", "$app#v1#tagged")
	beside := func(i int) entity.Op { return s.Op().Create(tagged{ID: fmt.Sprint("x", i)}) }
	create := s.Op().Create(tagged{ID: "a", Tags: []string{"x", "y"}})
	require.NoError(t, l.db.Transact(t.Context(), create, beside(1)))
	require.Equal(t, []time.Time{dawn, dawn}, []time.Time{create.Result().CreatedAt, create.Result().UpdatedAt})
	it := l.stored(t, at)
	const born = `S"2024-05-06T07:08:09.123456789Z"`
	require.Equal(t, []string{born, born, "N1", "SS[x y]"}, []string{it["createdAt"], it["updatedAt"], it["version"], it["tags"]})
	for i, op := range []entity.Op{
		s.Op().Update(tagged{ID: "a"}, entity.Set(&f.Title, "u"), entity.AddToSet(&f.Tags, "z")),
		s.Op().Put(tagged{ID: "a", Tags: []string{"x", "y", "z"}}),
		s.Op().Upsert(tagged{ID: "a"}),
	} {
		now := l.clock.move(time.Second)
		require.NoError(t, l.db.Transact(t.Context(), op, beside(i+2)))
		it = l.stored(t, at)
		require.Equal(t, []string{born, `S"` + now.Format("2006-01-02T15:04:05.000000000Z") + `"`, "N" + strconv.Itoa(i+2), "SS[x y z]"}, []string{it["createdAt"], it["updatedAt"], it["version"], it["tags"]})
	}
}

// Elsewhere a cancelled transaction names its first operation, whichever failed.
func TestTransact_TheOperationThatFailedIsTheOneNamed(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t)
	_, err := s.Create(t.Context(), Team{ID: "there"})
	require.NoError(t, err)
	for bad := range 5 {
		var ops []entity.Op
		for i := range 5 {
			ops = append(ops, s.Op().Create(Team{ID: fmt.Sprint("new", i)}))
		}
		ops[bad] = s.Op().Create(Team{ID: "there"})
		err := l.db.Transact(t.Context(), ops...)
		require.ErrorIs(t, err, entity.ErrExists)
		var te *entity.TransactError
		require.ErrorAs(t, err, &te)
		require.Len(t, te.Failed, 1)
		require.Equal(t, bad, te.Failed[0].Index)
		for i, op := range ops {
			require.Equal(t, i == bad, entity.FailureOf(err, op) != nil)
		}
		var e *entity.Error
		require.ErrorAs(t, te.Failed[0].Err, &e)
		require.Equal(t, []string{"Create", "Team", `pk="$app#v1#team#there" sk="$app#v1#team"`}, []string{e.Verb, e.Entity, e.Key})
	}
	require.Len(t, l.everything(t), 1)
}

// reasonsFirst answers transactions with the given cancellation reasons, one list after the other, then sends them on.
type reasonsFirst struct {
	next faults.HTTPClient

	mu     sync.Mutex
	lists  [][]string
	bodies []string
}

func (r *reasonsFirst) Do(req *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(req.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		return r.next.Do(req)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	r.mu.Lock()
	r.bodies = append(r.bodies, string(body))
	if len(r.lists) == 0 {
		r.mu.Unlock()
		return r.next.Do(req)
	}
	codes := r.lists[0]
	r.lists = r.lists[1:]
	r.mu.Unlock()
	list := make([]map[string]string, len(codes))
	for i, code := range codes {
		list[i] = map[string]string{"Code": code}
	}
	answer, err := json.Marshal(map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException", "Message": "cancelled", "CancellationReasons": list})
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Crc32": {strconv.FormatUint(uint64(crc32.ChecksumIEEE(answer)), 10)}}
	return &http.Response{StatusCode: 400, Header: header, Body: io.NopCloser(bytes.NewReader(answer)), ContentLength: int64(len(answer)), Request: req}, err
}

// Elsewhere a conflict is only retried when every operation conflicts; here it does not matter which one does.
func TestTransact_AConflictIsRetriedUnderTheSameToken(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	scripted := &reasonsFirst{next: l.raw.Options().HTTPClient, lists: [][]string{
		{"None", "TransactionConflict", "None"}, {"None", "None", "ThrottlingError"}, {"TransactionConflict", "None", "ProvisionedThroughputExceeded"},
	}}
	db := entity.Must(entity.Open(dynamodb.New(l.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = scripted }), l.cfg))
	s := declare[Team](t, db)
	require.NoError(t, db.CreateTables(t.Context()))
	require.NoError(t, db.Transact(t.Context(), s.Op().Create(Team{ID: "a"}), s.Op().Create(Team{ID: "b"}), s.Op().Create(Team{ID: "c"})))
	require.Len(t, l.everything(t), 3)
	require.Len(t, scripted.bodies, 4)
	for _, body := range scripted.bodies {
		require.JSONEq(t, scripted.bodies[0], body, "the token makes a repetition safe; another body would not be it")
	}
	require.Contains(t, scripted.bodies[0], "ClientRequestToken")

	// What failed for good decides, whatever else is disturbed.
	scripted.lists = [][]string{{"TransactionConflict", "ConditionalCheckFailed", "None"}}
	ops := []entity.Op{s.Op().Put(Team{ID: "d"}), s.Op().Create(Team{ID: "e"}), s.Op().Put(Team{ID: "f"})}
	err := db.Transact(t.Context(), ops...)
	require.Error(t, entity.FailureOf(err, ops[1]))
	require.NoError(t, entity.FailureOf(err, ops[0]))
	require.Len(t, l.everything(t), 3)
}

// Elsewhere a transaction is capped at 25 operations, a quarter of what DynamoDB takes.
func TestTransact_HasRoomForAHundredOperations(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t)
	var ops []entity.Op
	for i := range 100 {
		ops = append(ops, s.Op().Create(Team{ID: fmt.Sprint(i)}))
	}
	require.NoError(t, l.db.Transact(t.Context(), ops...))
	require.Equal(t, []string{"TransactWriteItems"}, l.sent())
	require.Len(t, l.everything(t), 100)
}

// Elsewhere a get in a transaction never fills its destination, or drops what is missing so that the others move up.
func TestTransactGet_FillsEachStructWithItsOwnItem(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t)
	for i := range 4 {
		_, err := s.Create(t.Context(), Team{ID: fmt.Sprint(i), Size: i + 1})
		require.NoError(t, err)
	}
	got := []Team{{ID: "3"}, {ID: "0"}, {ID: "2"}}
	require.NoError(t, l.db.TransactGet(t.Context(), s.Op().GetInto(&got[0]), s.Op().GetInto(&got[1]), s.Op().GetInto(&got[2])))
	require.Equal(t, []Team{{ID: "3", Size: 4}, {ID: "0", Size: 1}, {ID: "2", Size: 3}}, got)
	got = []Team{{ID: "3"}, {ID: "none"}, {ID: "2"}}
	err := l.db.TransactGet(t.Context(), s.Op().GetInto(&got[0]), s.Op().GetInto(&got[1]), s.Op().GetInto(&got[2]))
	var te *entity.TransactError
	require.ErrorAs(t, err, &te)
	require.Equal(t, 1, te.Failed[0].Index)
	require.Equal(t, []Team{{ID: "3"}, {ID: "none"}, {ID: "2"}}, got)
	many, err := s.GetMany(t.Context(), []Team{{ID: "3"}, {ID: "none"}, {ID: "2"}}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, []*Team{{ID: "3", Size: 4}, nil, {ID: "2", Size: 3}}, many, "what is missing keeps its place")
}

// Base and Audit are embedded, one in the other.
type Audit struct {
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

type Base struct {
	Audit
	Org string `dynamodbav:"org"`
	ID  string `dynamodbav:"id"`
}

// Nested has its key parts and its roles in embedded structs.
type Nested struct {
	_ entity.Key `name:"Nested" pk:"$#{org}" sk:"$#{id}"`
	Base
	Name string `dynamodbav:"name,omitempty"`
}

// Elsewhere embedded key structs fail in every transaction call, and structs embedded twice panic.
func TestTransact_EmbeddedKeysAndRolesWork(t *testing.T) {
	t.Parallel()
	l, s := open[Nested](t)
	f := entity.Fields[Nested]()
	v := func(id string) Nested { return Nested{Base: Base{Org: "o", ID: id}} }
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Create(v("a")), s.Op().Put(v("b")), s.Op().Upsert(v("c"))))
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Update(v("a"), entity.Set(&f.Name, "x")), s.Op().Delete(v("b")), s.Op().CheckExists(v("c"), entity.Eq(&f.Version, 1))))
	a := v("a")
	require.NoError(t, l.db.TransactGet(t.Context(), s.Op().GetInto(&a)))
	require.EqualValues(t, 2, a.Version)
	require.Equal(t, "x", a.Name)
	got, err := s.Query(Nested{Base: Base{Org: "o"}}).Collect(t.Context())
	require.NoError(t, err)
	require.Len(t, got, 2)
}

// Elsewhere the names pk and sk are written into transactions, whatever the table's keys are called.
func TestTransact_UsesTheTablesOwnKeyNames(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t, func(c *entity.Config) { c.PK, c.SK = "hash key", "range-key" })
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Create(Team{ID: "a"}), s.Op().Put(Team{ID: "b"}), s.Op().CheckNotExists(Team{ID: "c"})))
	err := l.db.Transact(t.Context(), s.Op().Create(Team{ID: "a"}), s.Op().Delete(Team{ID: "b"}))
	require.ErrorIs(t, err, entity.ErrExists)
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Delete(Team{ID: "a"}), s.Op().CheckExists(Team{ID: "b"})))
	require.Len(t, l.everything(t), 1)
}

// Elsewhere a value that cannot be encoded is logged, and an empty operation joins the transaction.
func TestTransact_AnOperationThatCannotBeEncodedFailsIt(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	nan := Profile{ID: "bad"}
	nan.Total = nan.Total / nan.Total
	bad := s.Op().Put(nan)
	err := l.db.Transact(t.Context(), s.Op().Put(Profile{ID: "good"}), bad)
	requireInput(t, entity.FailureOf(err, bad), "EDD-9102", "Total")
	require.Empty(t, l.sent())
	require.Empty(t, l.everything(t))
}

func TestTransactGet_ReadsAllOrNone(t *testing.T) {
	b := newBench(t, 0)
	ctx := t.Context()
	_, err := b.other.Create(ctx, Plain{ID: "a", Count: 3})
	require.NoError(t, err)
	_, err = b.ver.Create(ctx, Counted{ID: "v", Name: "n"})
	require.NoError(t, err)
	b.wire.Reset()
	b.wire.Inject(faults.Nth(1, faults.Conflict))
	p, v, gone := Plain{ID: "a"}, Counted{ID: "v"}, Plain{ID: "gone"}
	require.NoError(t, b.db.TransactGet(ctx, b.plain.Op().GetInto(&p), b.ver.Op().GetInto(&v)))
	require.Equal(t, 3, p.Count)
	require.Equal(t, "n", v.Name)
	require.Equal(t, 2, b.wire.Count("TransactGetItems"), "a conflict is waited out")

	p = Plain{ID: "a"}
	err = b.db.TransactGet(ctx, b.plain.Op().GetInto(&p), b.plain.Op().GetInto(&gone))
	require.ErrorIs(t, err, entity.ErrNotFound)
	var te *entity.TransactError
	require.ErrorAs(t, err, &te)
	require.Len(t, te.Failed, 1)
	require.Equal(t, 1, te.Failed[0].Index)
	require.Equal(t, Plain{ID: "a"}, p, "nothing was filled in")
	require.NoError(t, b.db.TransactGet(ctx))
}

// A stored item that does not fit is found before any struct is filled in.
func TestTransactGet_AnItemThatDoesNotFitLeavesEveryStructAsItWas(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t)
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Create(Team{ID: "a", Size: 1}), s.Op().Create(Team{ID: "b"})))
	l.patch(t, keys("pk", "$app#v1#team#b", "sk", "$app#v1#team"), "size", str("many"))
	a, b := Team{ID: "a"}, Team{ID: "b"}
	err := l.db.TransactGet(t.Context(), s.Op().GetInto(&a), s.Op().GetInto(&b))
	var misfit *entity.DecodeError
	require.ErrorAs(t, err, &misfit)
	require.Equal(t, "size", misfit.Attr)
	require.Equal(t, []Team{{ID: "a"}, {ID: "b"}}, []Team{a, b})
}

func TestTransactGet_BadInputSendsNothing(t *testing.T) {
	b := newBench(t, 0)
	p, again := Plain{ID: "a"}, Plain{ID: "a"}
	other := entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
	elsewhere := entity.Must(entity.New[Plain](other))
	for name, loads := range map[string][]entity.GetOp{
		"nil load":       {nil},
		"nil pointer":    {b.plain.Op().GetInto(nil)},
		"no key":         {b.plain.Op().GetInto(&Plain{})},
		"twice":          {b.plain.Op().GetInto(&p), b.plain.Op().GetInto(&again)},
		"another handle": {elsewhere.Op().GetInto(&p)},
		"too many":       make([]entity.GetOp, 101),
	} {
		var input *entity.InputError
		require.ErrorAs(t, b.db.TransactGet(t.Context(), loads...), &input, name)
	}
	require.Empty(t, b.wire.Requests())
}

func TestCheckNotExists_InATransaction(t *testing.T) {
	b := newBench(t, 0)
	ctx := t.Context()
	require.NoError(t, b.db.Transact(ctx, b.plain.Op().CheckNotExists(Plain{ID: "x"}), b.ver.Op().Create(Counted{ID: "v"})))
	_, err := b.other.Create(ctx, Plain{ID: "x"})
	require.NoError(t, err)
	check := b.plain.Op().CheckNotExists(Plain{ID: "x"})
	err = b.db.Transact(ctx, check, b.ver.Op().Create(Counted{ID: "w"}))
	require.ErrorIs(t, entity.FailureOf(err, check), entity.ErrExists)
	require.ErrorIs(t, b.db.Transact(ctx, check), entity.ErrExists, "alone it is a transaction of one")
	_, err = b.ver.Get(ctx, Counted{ID: "w"}, entity.Consistent())
	require.ErrorIs(t, err, entity.ErrNotFound)
}
