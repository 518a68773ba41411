package entity_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

type bindCustomer struct {
	_       entity.Key           `name:"Customer" pk:"$#{id}" sk:"$"`
	_       entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_       entity.GSI           `name:"trash" index:"gsi2" pk:"$#{tenant}" sk:"$#{deletedAt}"`
	_       unique.Constraint    `name:"email" fields:"email"`
	_       versioned.Retain     ``
	_       lifecycle.SoftDelete ``
	ID      string               `dynamodbav:"id"`
	Tenant  string               `dynamodbav:"tenant"`
	Email   string               `dynamodbav:"email"`
	Version int                  `dynamodbav:"version" entity:"version"`
	Deleted time.Time            `dynamodbav:"deletedAt,omitempty" entity:"deleted_at"`
}

type bindUsage struct {
	_    entity.Key        `name:"Usage" pk:"$#{meter}" sk:"$"`
	_    timeseries.Events `orderBy:"at"`
	ID   string            `dynamodbav:"meter"`
	At   time.Time         `dynamodbav:"at"`
	Used int               `dynamodbav:"used" entity:"append"`
}

type (
	bindBilling struct {
		Customers *entity.Store[bindCustomer]
		ByTenant  *entity.Index[bindCustomer]  `entity:"byTenant"`
		ByEmail   *unique.Lookup[bindCustomer] `entity:"email"`
		Trash     *lifecycle.Deleted[bindCustomer]
		TrashOf   *lifecycle.Index[bindCustomer] `entity:"trash"`
		Past      *versioned.History[bindCustomer]
	}
	bindApp struct {
		bindBilling
		Metering struct{ Usage *timeseries.Series[bindUsage] }
		Leases   *lease.Leases
		Name     string
		private  *int
	}
)

func TestBind_OpensEachHandle(t *testing.T) {
	t.Parallel()
	h := openUnconnected(t)
	app, err := entity.Bind[bindApp](h, entity.For[bindUsage](), lease.With(lease.Options{Holder: "me"}))
	require.NoError(t, err)
	require.Nil(t, app.private)
	require.Same(t, entity.Must(entity.New[bindCustomer](h)), app.Customers)
	require.Contains(t, app.Customers.Op().Create(bindCustomer{ID: "1", Tenant: "t", Email: "e"}).String(), "email")
	require.Contains(t, app.ByTenant.Query(bindCustomer{Tenant: "t"}).String(), "gsi1")
	require.Contains(t, app.TrashOf.Query(bindCustomer{Tenant: "t"}).String(), "gsi2")
	require.Contains(t, app.Past.List(bindCustomer{ID: "1"}).String(), "Customer")
	require.Contains(t, app.Trash.Query(bindCustomer{ID: "1"}).String(), "Customer")
	require.NotNil(t, app.ByEmail)
	require.NotNil(t, app.Leases)
	require.Contains(t, app.Metering.Usage.Op().Append(bindUsage{ID: "m", At: time.Unix(1, 0), Used: 1}).String(), "Usage")
}

func TestBind_OpensTheStoreOfOtherHandles(t *testing.T) {
	t.Parallel()
	h := openUnconnected(t)
	app, err := entity.Bind[struct {
		ByTenant *entity.Index[bindCustomer] `entity:"byTenant"`
	}](h, entity.For[bindCustomer](entity.Named("Client")))
	require.NoError(t, err)
	require.Contains(t, app.ByTenant.Query(bindCustomer{Tenant: "t"}).String(), "Client")
}

type bindBroken struct {
	_  entity.Key `name:"Broken" pk:"$#{nothing}"`
	ID string     `dynamodbav:"id,omitempty" entity:"strange"`
}

func TestBind_JoinsAllMistakes(t *testing.T) {
	t.Parallel()
	type tables struct {
		Number  *int
		Broken  *entity.Store[bindBroken]
		ByName  *entity.Index[bindBroken] `entity:"byName"`
		Here    *entity.Store[bindCustomer]
		Again   *entity.Store[bindCustomer]
		ByEmail *unique.Lookup[bindCustomer] `entity:"mail"`
		ByPlace *entity.Index[bindCustomer]
		Past    *versioned.History[bindCustomer] `entity:"past"`
		Usage   *timeseries.Series[bindUsage]
		Pasts   *versioned.History[bindUsage]
		Trash   *lifecycle.Deleted[bindUsage]
		Text    string `entity:"text"`
		Inside  struct{ Other *entity.DB }
	}
	_, err := entity.Bind[tables](openUnconnected(t), entity.For[time.Time](), lease.With(lease.Options{}))
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		line, _, _ = strings.Cut(line, ` "strange"`)
		lines = append(lines, strings.ReplaceAll(line, "entity_test.", ""))
	}
	require.Equal(t, strings.Split(strings.TrimSpace(`
EDD-9055 tables.Number: a *int is no handle that Bind opens
tables.Broken: EDD-9003 bindBroken.ID: entity: unknown role
tables.Broken: EDD-9002 bindBroken._ entity.Key: pk names the attribute "nothing", which the struct does not have
EDD-9055 tables.Again: a second store of bindCustomer
tables.ByEmail: EDD-9047 bindCustomer: the struct declares no constraint "mail"; it declares: email
tables.ByPlace: EDD-9051 bindCustomer: there is no index declared with the name ""; declared are: byTenant
EDD-9055 tables.Past: the tag "past" names nothing: a *versioned.History[github.com/dynastrata/dynastrata/bindCustomer] has no name
tables.Pasts: EDD-9047 bindUsage: the struct lacks the declaration versioned.Retain
tables.Trash: EDD-9047 bindUsage: the struct lacks the declaration lifecycle.SoftDelete
EDD-9055 tables.Text: a string is no handle that Bind opens
EDD-9055 tables.Inside.Other: a *entity.DB is no handle that Bind opens
EDD-9055 tables: there is an option for time.Time, of which the struct has no field
EDD-9055 tables: there is an option for lease.Leases, of which the struct has no field
`), "\n"), lines)
	require.Equal(t, "EDD-9055", dbtest.SchemaCode(err))
}

func TestBind_RefusesWhatIsNotOpened(t *testing.T) {
	t.Parallel()
	_, err := entity.Bind[bindApp](nil)
	require.Equal(t, "EDD-9160", dbtest.InputCode(err))
	_, err = entity.Bind[int](openUnconnected(t))
	require.Equal(t, "EDD-9048", dbtest.SchemaCode(err))
	_, err = entity.Bind[bindApp](openUnconnected(t), nil)
	var input *entity.InputError
	require.True(t, errors.As(err, &input))
}

// openUnconnected returns a database without a client.
func openUnconnected(t *testing.T) *entity.DB {
	t.Helper()
	db, err := entity.Open(nil, entity.Config{Table: "t"})
	require.NoError(t, err)
	return db
}
