package docs_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// The entities of a billing backend.
type (
	billingTenant struct {
		_  entity.Key `name:"Tenant" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	billingCustomer struct {
		_ entity.Key           `name:"Customer" pk:"$#{tenant}" sk:"$#{id}"`
		_ entity.GSI           `name:"byName" index:"gsi1" pk:"$#{tenant}" sk:"$#{name}"`
		_ unique.Constraint    `name:"email" fields:"tenant,{email|lower}"`
		_ versioned.Retain     `ttl:"365d"`
		_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`

		Tenant  string `dynamodbav:"tenant"`
		ID      string `dynamodbav:"id"`
		Name    string `dynamodbav:"name"`
		Email   string `dynamodbav:"email"`
		Version int64  `dynamodbav:"version" entity:"version"`
	}
	billingPlan struct {
		_  entity.Key `name:"Plan" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	billingSubscription struct {
		_ entity.Key `name:"Subscription" pk:"$#{customer}" sk:"$#{id}"`
		_ entity.GSI `name:"due" index:"gsi1" pk:"$#{plan}" sk:"$#{renews}" when:"state=active"`
		_ versioned.Lock

		Customer string    `dynamodbav:"customer"`
		ID       string    `dynamodbav:"id"`
		Plan     string    `dynamodbav:"plan"`
		State    string    `dynamodbav:"state"`
		Renews   time.Time `dynamodbav:"renews"`
		Version  int64     `dynamodbav:"version" entity:"version"`
		Created  time.Time `dynamodbav:"created" entity:"created_at"`
	}
	billingInvoice struct {
		_ entity.Key       `name:"Invoice" pk:"$#{customer}" sk:"$#{number:08}"`
		_ entity.GSI       `name:"byMonth" index:"gsi1" pk:"$#{month}" sk:"$#{number:08}"`
		_ entity.GSI       `name:"byState" index:"gsi2" pk:"$#{state}" sk:"$#{month}"`
		_ versioned.Retain `ttl:"3650d"`

		Customer string `dynamodbav:"customer"`
		Number   int64  `dynamodbav:"number"`
		Month    string `dynamodbav:"month"`
		State    string `dynamodbav:"state"`
		Version  int64  `dynamodbav:"version" entity:"version"`
	}
	billingPayment struct {
		_       entity.Key `name:"Payment" pk:"$#{invoice}" sk:"$#{id}"`
		Invoice string     `dynamodbav:"invoice"`
		ID      string     `dynamodbav:"id"`
	}
	billingUsage struct {
		_        entity.Key        `name:"Usage" pk:"$#{customer}" sk:"$"`
		_        timeseries.Events `orderBy:"at" ttl:"90d"`
		Customer string            `dynamodbav:"customer"`
		At       time.Time         `dynamodbav:"at"`
		Units    int               `dynamodbav:"units" entity:"append"`
	}
	billingAnswer struct {
		_    entity.Key    `name:"Answer" pk:"$#{key}" sk:"$"`
		_    lifecycle.TTL `attr:"expires" after:"24h"`
		Key  string        `dynamodbav:"key"`
		Ends time.Time     `dynamodbav:"expires" entity:"time=unix"`
	}
	billingMessage struct {
		_     entity.Key `name:"Message" pk:"$#{id}" sk:"$"`
		_     entity.GSI `name:"unsent" index:"gsi1" pk:"$#{state}" sk:"$#{id}" when:"state=unsent"`
		ID    string     `dynamodbav:"id"`
		State string     `dynamodbav:"state"`
	}
)

// begin
type billing struct {
	Tenants       *entity.Store[billingTenant]
	Customers     *entity.Store[billingCustomer]
	CustomersBy   *entity.Index[billingCustomer]  `entity:"byName"`
	ByEmail       *unique.Lookup[billingCustomer] `entity:"email"`
	CustomersPast *versioned.History[billingCustomer]
	Trash         *lifecycle.Deleted[billingCustomer]
	Plans         *entity.Store[billingPlan]
	Subscriptions *entity.Store[billingSubscription]
	Due           *entity.Index[billingSubscription] `entity:"due"`
	Invoices      *entity.Store[billingInvoice]
	ByMonth       *entity.Index[billingInvoice] `entity:"byMonth"`
	ByState       *entity.Index[billingInvoice] `entity:"byState"`
	InvoicesPast  *versioned.History[billingInvoice]
	Payments      *entity.Store[billingPayment]
	Usage         *timeseries.Series[billingUsage]
	Answers       *entity.Store[billingAnswer]
	Messages      *entity.Store[billingMessage]
	Unsent        *entity.Index[billingMessage] `entity:"unsent"`
	Leases        *lease.Leases
	Totals        *timeline.View[string, int]
}

func openBilling(db *entity.DB) (*billing, error) {
	return entity.Bind[billing](db, timeline.Define(totals))
}

// end

func totals(b *billing) timeline.Projection[string, int] {
	return timeline.Projection[string, int]{
		Name: "totals", Version: 1, Retention: 90 * 24 * time.Hour, Source: timeline.Series(b.Usage),
		Handlers: []timeline.Handler[string, int]{timeline.On("usage.appended", func(u billingUsage) string { return u.Customer },
			func(sum *int, e timeline.Event[billingUsage]) error { *sum += e.Payload.Units; return nil })},
	}
}

// The twenty handles of a backend are opened in 25 lines or fewer, and all of them work.
func TestBind_OpensABackend(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(read(t, "billing_test.go"), "// begin\n")
	source, _, _ := strings.Cut(rest, "// end\n")
	require.LessOrEqual(t, len(strings.FieldsFunc(source, func(r rune) bool { return r == '\n' })), 25)
	_, db := billed(t, &[]time.Time{noon}[0])
	b, err := openBilling(db)
	require.NoError(t, err)
	v := reflect.ValueOf(b).Elem()
	require.Equal(t, 20, v.NumField())
	for i := range v.NumField() {
		require.False(t, v.Field(i).IsNil(), v.Type().Field(i).Name)
	}
	require.NoError(t, tables.Create(t.Context(), db))
	c, err := b.Customers.Create(t.Context(), billingCustomer{Tenant: "t", ID: "c-1", Name: "Ann", Email: "Ann@x.org"})
	require.NoError(t, err)
	found, err := b.ByEmail.Find(t.Context(), billingCustomer{Tenant: "t", Email: "ann@X.org"})
	require.NoError(t, err)
	require.Equal(t, c, found)
	_, err = b.Usage.Append(t.Context(), billingUsage{Customer: "c-1", At: noon.Add(-time.Minute), Units: 3})
	require.NoError(t, err)
	_, err = b.Totals.Ensure(t.Context())
	require.NoError(t, err)
	row, _, err := b.Totals.Get(t.Context(), "c-1")
	require.NoError(t, err)
	require.Equal(t, 3, row.State)
}
