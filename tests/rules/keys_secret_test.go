package rules_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

// Patient has secrets in its keys, and secret maps whose keys are secrets too.
type Patient struct {
	_ entity.Key       `name:"Patient" pk:"$#{clinic}" sk:"$#{ssn}"`
	_ entity.GSI       `name:"byWard" index:"gsi1" pk:"$#{ward}" sk:"$#{room}"`
	_ versioned.Retain `ttl:"1d"`

	Clinic  string            `dynamodbav:"clinic"`
	SSN     string            `dynamodbav:"ssn" entity:"secret"`
	Ward    string            `dynamodbav:"ward,omitempty"`
	Room    int               `dynamodbav:"room,omitempty"`
	Notes   map[string]string `dynamodbav:"notes,omitempty" entity:"secret"`
	Scan    any               `dynamodbav:"scan,omitempty" entity:"secret"`
	Version int64             `dynamodbav:"version" entity:"version"`
	Updated time.Time         `dynamodbav:"updated" entity:"updated_at"`
}

const hush = "hush-hush"

func silent(t *testing.T, what, text string) {
	t.Helper()
	require.NotEmpty(t, text, what)
	require.NotContains(t, text, hush, what)
}

func TestSecret_NamesInsideAreNotInPlans(t *testing.T) {
	s := dbtest.Declare[Patient](t, onPaper(t))
	f, key := entity.Fields[Patient](), Patient{Clinic: "c", SSN: hush}
	inside := entity.Attr[string]("scan." + hush + "[0]")
	cond := entity.If(entity.MapEntry(&f.Notes, hush).Eq("x"), inside.Exists())
	for what, plan := range map[string]fmt.Stringer{
		"update":  s.Op().Update(key, entity.MapEntry(&f.Notes, hush).Set("x"), inside.Remove(), cond),
		"delete":  s.Op().Delete(key, cond),
		"require": s.Op().CheckExists(key, inside.NotExists()),
		"query":   s.Query(Patient{Clinic: "c"}, entity.Filter(entity.MapEntry(&f.Notes, hush).Exists())),
	} {
		silent(t, what, plan.String())
		require.Contains(t, plan.String(), ".<hidden>", what)
	}
}

func TestSecret_NamesInsideAreNotInErrors(t *testing.T) {
	l, s := opened[Patient](t)
	key, deep := Patient{Clinic: "c", SSN: hush}, entity.Attr[string]("scan."+hush+".x")
	for what, changes := range map[string][]entity.UpdateOption{
		"malformed": {entity.Attr[string]("scan." + hush + "[").Set("x")},
		"overlap":   {deep.Set("x"), entity.Attr[string]("scan." + hush).Set("y")},
		"disagree":  {deep.Set("x"), entity.Attr[string]("scan." + hush + "[0]").Set("y")},
	} {
		_, err := s.Update(t.Context(), key, changes...)
		require.Error(t, err, what)
		silent(t, what, err.Error())
		require.Contains(t, err.Error(), "scan.<hidden>", what)
	}
	f := entity.Fields[Patient]()
	for what, of := range map[string]struct {
		cond entity.Cond
		says string
	}{
		"malformed below an entry":    {entity.Inside[string](entity.MapEntry(&f.Notes, "a"), hush+"[").Exists(), `"<hidden>" is malformed`},
		"malformed below a path":      {entity.Inside[string](entity.Attr[any]("scan.a"), hush+"..").Exists(), `"<hidden>" is malformed`},
		"malformed at once":           {entity.Attr[string]("notes]" + hush).Exists(), `"notes.<hidden>" is malformed`},
		"malformed and not declared":  {entity.Attr[string]("Notes." + hush + "[").Exists(), `"Notes" is malformed`},
		"not declared":                {entity.Attr[string]("Notes." + hush).Exists(), `begins with "Notes"`},
		"not declared, by an index":   {entity.Attr[string]("note[0]." + hush).Exists(), `begins with "note"`},
		"Where, not declared":         {entity.Where(expression.Name("Notes." + hush).AttributeExists()), `names "Notes"`},
		"Where, of one name":          {entity.Where(expression.NameNoDotSplit("notes." + hush).AttributeExists()), `names "notes.<hidden>"`},
		"Where, by a bracket":         {entity.Where(expression.Name("notes[0]" + hush).AttributeExists()), `names "notes.<hidden>"`},
		"Where, with another type":    {entity.Where(expression.Name("notes." + hush).Equal(expression.Value(1))), "compares notes.<hidden>"},
		"Where, malformed":            {entity.Where(expression.Name("notes." + hush + "[").AttributeExists()), "invalid parameter"},
		"a value of another type":     {entity.Attr[int]("notes." + hush).Eq(1), "of notes.<hidden>"},
		"a value that is not encoded": {entity.Attr[any]("scan." + hush).Eq(make(chan int)), "Scan"},
	} {
		for _, err := range []error{
			dbtest.ErrorOf(s.Put(t.Context(), key, entity.If(of.cond))), dbtest.ErrorOf(s.Scan(entity.Filter(of.cond)).Collect(t.Context())),
			dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&f.Ward, "w"), entity.If(of.cond))),
		} {
			require.Error(t, err, what)
			silent(t, what, err.Error())
			require.Contains(t, err.Error(), of.says, what)
		}
	}
	l.OK(s.Create(t.Context(), key))
	_, err := s.Update(t.Context(), key, deep.Set("x"))
	missing := dbtest.As[*entity.ConditionError](t, err)
	silent(t, "parent", err.Error())
	silent(t, "parent", missing.Attr)
}

// Without a key a page of a key with secret parts is refused before any request; everything but pages is read.
func TestSecret_CursorNeedsKey(t *testing.T) {
	l, s := opened[Patient](t)
	for i := range 3 {
		l.OK(s.Create(t.Context(), Patient{Clinic: "c", SSN: fmt.Sprint(hush, i), Ward: "w", Room: 1}))
	}
	byWard := entity.Must(s.Index("byWard"))
	pages := map[string]func(*entity.Store[Patient], string) (string, error){
		"table": func(s *entity.Store[Patient], after string) (string, error) {
			p, err := s.Query(Patient{Clinic: "c"}, entity.Limit(1)).Page(t.Context(), after)
			return p.Next, err
		},
		"scan": func(s *entity.Store[Patient], after string) (string, error) {
			p, err := s.Scan(entity.Limit(1)).Page(t.Context(), after)
			return p.Next, err
		},
		"index": func(s *entity.Store[Patient], after string) (string, error) {
			x := entity.Must(s.Index("byWard"))
			p, err := x.Query(Patient{Ward: "w"}, entity.Limit(1)).Page(t.Context(), after)
			return p.Next, err
		},
		"versions": func(s *entity.Store[Patient], after string) (string, error) {
			p, err := entity.Must(versioned.Of(s)).List(Patient{Clinic: "c", SSN: hush + "0"}, entity.Limit(1), versioned.WithCurrent()).Page(t.Context(), after)
			return p.Next, err
		},
	}
	l.Operations()
	for what, page := range pages {
		_, err := page(s, "")
		dbtest.RequireInput(t, err, "EDD-9155", "SSN")
		silent(t, what, err.Error())
	}
	require.Empty(t, l.Operations())
	for _, q := range []entity.Query[Patient]{s.Query(Patient{Clinic: "c"}), s.Scan(), byWard.Query(Patient{Ward: "w"})} {
		require.Len(t, entity.Must(q.Collect(t.Context())), 3)
		_ = entity.Must(q.First(t.Context()))
	}

	db := l.Open(l.Client, func(c *entity.Config) { c.CursorKey = []byte(strings.Repeat("k", 16)) })
	s = dbtest.Declare[Patient](t, db)
	for what, page := range pages {
		next, err := page(s, "")
		require.NoError(t, err, what)
		if what == "versions" {
			require.Empty(t, next, "there is one version")
			continue
		}
		body, err := base64.RawURLEncoding.DecodeString(next)
		require.NoError(t, err, what)
		silent(t, what, string(body))
		after, err := page(s, next)
		require.NoError(t, err, what)
		require.NotEqual(t, next, after, what)
	}
}

// A key is replaced in three steps, and no cursor is lost between programs of neighbouring steps.
func TestCursor_KeysAreReplaced(t *testing.T) {
	t.Parallel()
	l, old, fresh := dbtest.Open(t), []byte("0123456789abcdef"), []byte("fedcba9876543210")
	stores := make([]*entity.Store[Patient], 4)
	for i, keys := range [][][]byte{{old}, {old, fresh}, {fresh, old}, {fresh}} {
		stores[i] = dbtest.Declare[Patient](t, l.Open(l.Client, func(c *entity.Config) { c.CursorKey, c.OldCursorKeys = keys[0], keys[1:] }))
	}
	dbtest.Declare[Patient](t, l.DB)
	l.CreateTables()
	for i := range 2 {
		l.OK(stores[0].Create(t.Context(), Patient{Clinic: "c", SSN: fmt.Sprint(i)}))
	}
	next := func(i int, after string) (string, error) {
		p, err := stores[i].Query(Patient{Clinic: "c"}, entity.Limit(1)).Page(t.Context(), after)
		return p.Next, err
	}
	for i := range stores {
		cursor := entity.Must(next(i, ""))
		for j := range stores {
			switch _, err := next(j, cursor); max(i-j, j-i) {
			case 0, 1:
				require.NoError(t, err, "from %d to %d", i, j)
			case 3:
				require.ErrorIs(t, err, entity.ErrInvalidCursor)
				require.Equal(t, entity.CursorAltered, dbtest.As[*entity.CursorError](t, err, "another key").Reason)
			}
		}
	}
	_, err := entity.Open(nil, entity.Config{Table: "t", OldCursorKeys: [][]byte{old}})
	var bad *entity.SchemaError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "OldCursorKeys", bad.Field)
	_, err = entity.Open(nil, entity.Config{Table: "t", CursorKey: old, OldCursorKeys: [][]byte{fresh, []byte(hush)}})
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "OldCursorKeys[1]", bad.Field)
	silent(t, "key", err.Error())
}

var noon = time.Date(2026, 4, 22, 12, 0, 0, 123456789, time.UTC)

// paper is a DB without a database, for plans and mistakes.
func onPaper(t *testing.T, configure ...func(*entity.Config)) *entity.DB {
	t.Helper()
	dbtest.Parallel(t)
	cfg := entity.Config{Table: "app", Clock: func() time.Time { return noon }, NewID: func() string { return "w-1" }}
	for _, f := range configure {
		f(&cfg)
	}
	return entity.Must(entity.Open(nil, cfg))
}
