package rules_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// Job has key parts of every kind, and indexes that carry nothing or little apart from keys.
type Job struct {
	_ entity.Key `name:"Job" pk:"$#{tenant}#id_{id}" sk:"$#{at}#{urgent}"`
	_ entity.GSI `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{try:04}#{seen}" project:"keys"`
	_ entity.GSI `name:"byOwner" index:"gsi2" pk:"gsi2pk=OWNER#{owner}--{team}" sk:"gsi2sk={due}" project:"title"`
	_ entity.GSI `name:"byTeam" index:"gsi3" pk:"team" sk:"$#{big}" project:"keys"`

	Tenant string    `dynamodbav:"tenant"`
	ID     uint32    `dynamodbav:"id"`
	At     time.Time `dynamodbav:"at"`
	Urgent bool      `dynamodbav:"urgent" entity:"zero"`
	State  string    `dynamodbav:"state,omitempty"`
	Try    int       `dynamodbav:"try" entity:"zero"`
	Seen   time.Time `dynamodbav:"seen" entity:"time=unixms"`
	Owner  string    `dynamodbav:"owner,omitempty"`
	Team   *string   `dynamodbav:"team,omitempty"`
	Due    time.Time `dynamodbav:"due" entity:"time=s"`
	Big    int64     `dynamodbav:"big" entity:"zero"`
	Title  string    `dynamodbav:"title,omitempty"`
	Notes  string    `dynamodbav:"notes,omitempty"`
}

func jobs() []Job {
	team := "t#1 ü"
	return []Job{
		{
			Tenant: "a#b % $", ID: 7, At: noon, Urgent: true, State: "open/½", Try: 0, Seen: noon.Truncate(time.Millisecond), Owner: "o-1", Team: &team,
			Due: noon.Truncate(time.Second), Big: 1 << 62, Title: "first", Notes: "long",
		},
		{
			Tenant: "a", ID: 1, At: noon.Add(1), State: "open/½", Try: 12, Seen: noon.Truncate(time.Hour), Owner: "o-1", Team: &team,
			Due: noon.Truncate(time.Hour), Title: "second",
		},
	}
}

// Items of an index that carries keys alone have the values of their key parts.
func TestProject_KeyPartsComeBack(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Job](t)
	all := jobs()
	for _, j := range all {
		l.OK(s.Create(t.Context(), j))
	}
	byState, byOwner, byTeam := entity.Must(s.Index("byState")), entity.Must(s.Index("byOwner")), entity.Must(s.Index("byTeam"))
	team := all[0].Team
	for what, one := range map[string]struct {
		q    entity.Query[Job]
		want func(Job) Job
	}{
		"template": {byState.Query(Job{State: "open/½"}), func(j Job) Job {
			return Job{Tenant: j.Tenant, ID: j.ID, At: j.At, Urgent: j.Urgent, State: j.State, Try: j.Try, Seen: j.Seen}
		}},
		"verbatim": {byOwner.Query(Job{Owner: "o-1", Team: team}, entity.Desc()), func(j Job) Job {
			return Job{Tenant: j.Tenant, ID: j.ID, At: j.At, Urgent: j.Urgent, Owner: j.Owner, Team: j.Team, Due: j.Due, Title: j.Title}
		}},
		"native": {byTeam.Query(Job{Team: team}, entity.Desc()), func(j Job) Job {
			return Job{Tenant: j.Tenant, ID: j.ID, At: j.At, Urgent: j.Urgent, Team: j.Team, Big: j.Big}
		}},
	} {
		want := []Job{one.want(all[0]), one.want(all[1])}
		got, err := one.q.Collect(t.Context())
		require.NoError(t, err, what)
		require.Equal(t, want, got, what)
		first, err := one.q.First(t.Context())
		require.NoError(t, err, what)
		require.Equal(t, want[0], first, what)
		full, err := s.Get(t.Context(), first)
		require.NoError(t, err, "the key that came back is that of the item")
		require.Equal(t, all[0], full)
	}
	scanned := entity.Must(byState.Scan().Collect(t.Context()))
	require.Len(t, scanned, 2)
	require.NotEmpty(t, scanned[0].Tenant)

	type slim struct {
		Tenant string `dynamodbav:"tenant"`
		Try    int    `dynamodbav:"try"`
	}
	slims, err := entity.Project[slim](byState.Query(Job{State: "open/½"})).Collect(t.Context())
	require.NoError(t, err, "what the index does not carry is not asked for")
	require.Equal(t, []slim{{"a#b % $", 0}, {"a", 12}}, slims)
	slims = entity.Must(entity.Project[slim](s.Query(Job{Tenant: "a", ID: 1})).Collect(t.Context()))
	require.Equal(t, []slim{{"a", 12}}, slims)
}

func TestKey_OfAnotherProgramFillsItsFields(t *testing.T) {
	t.Parallel()
	type Place struct {
		_ entity.Key `name:"Place" pk:"country={cc}" sk:"place={city}/{zip:05}"`
		_ entity.GSI `name:"byKind" index:"gsi1" pk:"gsi1pk=K#{kind}"`

		Country string `dynamodbav:"cc"`
		City    string `dynamodbav:"city"`
		Zip     int    `dynamodbav:"zip"`
		Kind    string `dynamodbav:"kind,omitempty"`
		People  int    `dynamodbav:"people"`
	}
	l, s := dbtest.OpenStore[Place](t)
	put := func(sk string, more dbtest.Item) {
		it := dbtest.Item{"country": dbtest.S("CH"), "place": dbtest.S(sk), "people": dbtest.N("5")}
		for name, av := range more {
			it[name] = av
		}
		l.PutItem(it)
	}
	put("Bern/03000", dbtest.Item{"gsi1pk": dbtest.S("K#left behind")})
	want := Place{Country: "CH", City: "Bern", Zip: 3000, People: 5}
	got := entity.Must(s.Get(t.Context(), Place{Country: "CH", City: "Bern", Zip: 3000}))
	require.Equal(t, want, got, "the primary key is read back, an index key that may be stale is not")
	all := entity.Must(s.Query(Place{Country: "CH"}).Collect(t.Context()))
	require.Equal(t, []Place{want}, all)
	l.OK(s.Update(t.Context(), want, entity.Set(&entity.Fields[Place]().People, 6)))

	put("Chur", nil)
	_, err := s.Query(Place{Country: "CH"}).Collect(t.Context())
	var misfit *entity.DecodeError
	require.ErrorAs(t, err, &misfit, "no field is filled with what the key does not say")
	require.Equal(t, "city", misfit.Attr)
	require.NotContains(t, misfit.Error(), "Chur")
}

// Where a key part could not come back, New says so.
func TestProject_PartsThatCannotComeBackAreRefused(t *testing.T) {
	t.Parallel()
	type cased struct {
		_    entity.Key `name:"Cased" pk:"$#{id}" sk:"$"`
		_    entity.GSI `name:"byName" index:"gsi1" pk:"$#{name|lower}" sk:"$#{n}" project:"keys"`
		ID   string     `dynamodbav:"id"`
		Name string     `dynamodbav:"name"`
		N    int        `dynamodbav:"n"`
	}
	type named struct {
		_    entity.Key `name:"Named" pk:"$#{id}" sk:"$"`
		_    entity.GSI `name:"byName" index:"gsi1" pk:"$#{name|lower}" sk:"$#{n}" project:"name"`
		ID   string     `dynamodbav:"id"`
		Name string     `dynamodbav:"name"`
		N    int        `dynamodbav:"n"`
	}
	_, err := entity.New[cased](onPaper(t))
	requireSchema(t, err, "EDD-9072", "_ entity.GSI")
	require.ErrorContains(t, err, `"name"`)
	_ = entity.Must(entity.New[named](onPaper(t)))
	lower := func(c *entity.Config) { c.Interop, c.TimePrecision = true, time.Millisecond }
	_, err = entity.New[named](onPaper(t, lower))
	requireSchema(t, err, "EDD-9072", "_ entity.GSI") // all of a $ key is in lower case
	require.ErrorContains(t, err, `"id"`)
}
