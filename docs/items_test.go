package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
)

// The declarations of the pages about items: changes.md, reading.md, indexes.md, transactions.md and values.md.

// Pages that are linked before they are written.
func init() {
	for _, page := range []string{
		"entities.md", "values.md",
		"unique.md", "versions.md", "soft-delete.md", "expiry.md", "timestamps.md", "leases.md", "sharing.md",
		"series.md", "timelines.md", "testing.md", "production.md", "codes.md",
	} {
		coming[page] = true
	}
}

type account struct {
	_ entity.Key `name:"Account" pk:"$#{accountId}" sk:"$"`

	AccountID string         `dynamodbav:"accountId"`
	Country   string         `dynamodbav:"country,omitempty" entity:"immutable"`
	Plan      string         `dynamodbav:"plan" entity:"required"`
	Seats     int            `dynamodbav:"seats"`
	Limits    map[string]int `dynamodbav:"limits" entity:"notnull"`
	Note      string         `dynamodbav:"note,omitempty"`
	SeenAt    time.Time      `dynamodbav:"seenAt,omitempty"`
}

type order struct {
	_ entity.Key `name:"Order" pk:"pk=CUSTOMER#{customerId}" sk:"$#{placedAt}#{orderId}"`

	CustomerID string    `dynamodbav:"customerId"`
	PlacedAt   time.Time `dynamodbav:"placedAt" entity:"time=s"`
	OrderID    string    `dynamodbav:"orderId"`
	Total      int       `dynamodbav:"total"`
}

type task struct {
	_ entity.Key `name:"Task" pk:"$#{taskId}" sk:"$"`
	_ entity.GSI `name:"open" index:"gsi1" pk:"$#{team}" sk:"$#{priority:02}#{due}" when:"status=open|blocked"`
	_ entity.GSI `name:"mine" index:"gsi2" pk:"$#{assignee}" sk:"$#{due}" project:"keys"`

	TaskID   string    `dynamodbav:"taskId"`
	Team     string    `dynamodbav:"team"`
	Status   string    `dynamodbav:"status" entity:"default=open"`
	Priority int       `dynamodbav:"priority" entity:"zero"`
	Due      time.Time `dynamodbav:"due" entity:"time=s"`
	Assignee string    `dynamodbav:"assignee,omitempty"`
	Text     string    `dynamodbav:"text"`
}

type wallet struct {
	_ entity.Key `name:"Wallet" pk:"$#{walletId}" sk:"$"`

	WalletID string `dynamodbav:"walletId"`
	Coins    int    `dynamodbav:"coins"`
	Closed   bool   `dynamodbav:"closed"`
}

// itemPlans prints the plans of the pages about items; nothing is sent.
func itemPlans(t *testing.T, made map[string]string) {
	t.Helper()
	open := func() *entity.DB { return entity.Must(entity.Open(nil, config("app"))) }

	accounts, a := entity.Must(entity.New[account](open())), entity.Fields[account]()
	made["plan-changes"] = accounts.Op().Update(account{AccountID: "a-1"},
		entity.Set(&a.Plan, "team"), entity.Add(&a.Seats, 4), entity.MapEntry(&a.Limits, "projects").Set(20),
		entity.If(entity.Eq(&a.Plan, "free"))).String()

	orders, o := entity.Must(entity.New[order](open())), entity.Fields[order]()
	march, key := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), order{CustomerID: "c-1"}
	made["plan-reading"] = strings.Join([]string{
		orders.Query(key).String(),
		orders.Query(key, entity.Ge(&o.PlacedAt, march), entity.Lt(&o.PlacedAt, march.AddDate(0, 1, 0))).String(),
		orders.Query(key, entity.Gt(&o.PlacedAt, march), entity.Filter(entity.Gt(&o.Total, 5))).String(),
		orders.Query(order{CustomerID: "c-1", PlacedAt: march}, entity.BeginsWith(&o.OrderID, "o-"), entity.Desc()).String(),
	}, "\n")

	tasks, k := entity.Must(entity.New[task](open())), entity.Fields[task]()
	made["plan-indexes"] = tasks.Op().Update(task{TaskID: "t-1"}, entity.Set(&k.Status, "done")).String() + "\n" +
		tasks.Op().Update(task{TaskID: "t-1"}, entity.Set(&k.Priority, 1)).String()

	wallets, w := entity.Must(entity.New[wallet](open())), entity.Fields[wallet]()
	made["plan-transactions"] = wallets.Op().Update(wallet{WalletID: "a"}, entity.Add(&w.Coins, -5), entity.If(entity.Ge(&w.Coins, 5))).String()
}

// storedItems makes the examples of the pages about items.
func storedItems(t *testing.T, made map[string]string) {
	t.Helper()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, config(table)))
	tasks := entity.Must(entity.New[task](db))
	require.NoError(t, tables.Create(t.Context(), db))
	_, err := tasks.Create(t.Context(), task{TaskID: "t-2", Team: "red", Priority: 2, Due: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	made["item-indexes"] = strings.Join(slices.DeleteFunc(strings.Split(dump(t, client, table, "pk", "sk"), "\n"), func(line string) bool {
		return !regexp.MustCompile("^(gsi..k|pk|sk|status) ").MatchString(line)
	}), "\n")
}
