package docs_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// The declarations of the pages about items: changes.md, reading.md, indexes.md, batches-and-transactions.md and values.md.

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
}

type charge struct {
	_ entity.Key `name:"Invoice" pk:"$#{customer}" sk:"$#{invoiceId}"`

	Customer  string `dynamodbav:"customer"`
	InvoiceID string `dynamodbav:"invoiceId"`
	Status    string `dynamodbav:"status" entity:"default=open"`
	Net       int    `dynamodbav:"net"`
	Gross     int    `dynamodbav:"gross"`
}

type lamp struct {
	_ entity.Key `name:"Lamp" pk:"$#{lampId}" sk:"$"`

	LampID string         `dynamodbav:"lampId"`
	Addr   netip.Addr     `dynamodbav:"addr" entity:"text"`
	Built  time.Time      `dynamodbav:"built" entity:"time=s"`
	Rooms  []string       `dynamodbav:"rooms,omitempty,stringset"`
	Hours  map[string]int `dynamodbav:"hours" entity:"notnull"`
	Price  *float64       `dynamodbav:"price,omitempty"`
	Token  string         `dynamodbav:"token" entity:"secret"`
	Extra  any            `dynamodbav:"extra,omitempty"`
}

// itemPlans prints the plans of the pages about items; nothing is sent.
func itemPlans(t *testing.T, made map[string]string) {
	t.Helper()
	billing := entity.Must(entity.New[charge](entity.Must(entity.Open(nil, config("app")))))
	made["plan-entities"] = billing.Op().Create(charge{Customer: "c 1", InvoiceID: "i-1", Net: 100, Gross: 119}).String()

	open := func() *entity.DB { return entity.Must(entity.Open(nil, config("app"))) }

	accounts, a := entity.Must(entity.New[account](open())), entity.Fields[account]()
	made["plan-changes"] = accounts.Op().Update(account{AccountID: "a-1"},
		entity.Set(&a.Plan, "team"), entity.Add(&a.Seats, 4), entity.MapEntry(&a.Limits, "projects").Set(20),
		entity.If(entity.Eq(&a.Plan, "free"))).String()

	orders, o := entity.Must(entity.New[order](open())), entity.Fields[order]()
	march, key := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), order{CustomerID: "c-1"}
	made["plan-reading"] = orders.Query(key, entity.Gt(&o.PlacedAt, march), entity.Filter(entity.Gt(&o.Total, 5))).String()

	tasks, k := entity.Must(entity.New[task](open())), entity.Fields[task]()
	made["plan-indexes"] = tasks.Op().Update(task{TaskID: "t-1"}, entity.Set(&k.Status, "done")).String() + "\n" +
		tasks.Op().Update(task{TaskID: "t-1"}, entity.Set(&k.Priority, 1)).String()

	wallets, w := entity.Must(entity.New[wallet](open())), entity.Fields[wallet]()
	made["plan-transactions"] = wallets.Op().Update(wallet{WalletID: "a"}, entity.Add(&w.Coins, -5), entity.If(entity.Ge(&w.Coins, 5))).String()

	lamps := entity.Must(entity.New[lamp](open()))
	made["plan-values"] = lamps.Op().Create(lamp{
		LampID: "l-1", Addr: netip.MustParseAddr("10.0.0.7"), Built: noon, Rooms: []string{"hall"}, Token: "x",
		Extra: map[string]any{"watts": 9.5, "ports": []any{1, "usb"}},
	}).String()
}

// Values in keys that entities.md describes and shows no example of.
func TestKeys_HaveTheDocumentedTexts(t *testing.T) {
	t.Parallel()
	early := time.Date(1969, 12, 31, 23, 59, 59, 500, time.UTC)
	whole := time.Date(2026, 4, 22, 12, 0, 0, 0, time.FixedZone("", 2*3600))
	for text, line := range map[string]string{
		"Acme":                           keyText(t, "", "", part[string]{V: "Acme"}),
		"Zürich/1~":                      keyText(t, "", "", part[string]{V: "Zürich/1~"}),
		"true":                           keyText(t, "", "", part[bool]{V: true}),
		"acme":                           keyText(t, "", "", lowerPart{V: "Acme"}),
		"000042":                         keyText(t, "", "", widePart{V: 42}),
		"00000000000000000042":           keyText(t, "", "", part[uint64]{V: 42}),
		"0000000000000000000":            keyText(t, "", "", part[int64]{}),
		"2026-04-22T10:00:00.000000000Z": keyText(t, "", "", part[time.Time]{V: whole}),
		"1969-12-31T23:59:59.000000500Z": keyText(t, "", "", part[time.Time]{V: early}),
		"2026-04-22T10:00:00.000000Z":    keyText(t, "", "", microPart{V: whole}),
		"2026-04-22T10:00:00.000Z":       keyText(t, "", "", milliPart{V: whole}),
		"2026-04-22T10:00:00Z":           keyText(t, "", "", secondPart{V: whole}),
		"0000000001776852000":            keyText(t, "", "", unixPart{V: whole}),
	} {
		require.Equal(t, "$app#v1#part#"+text, strings.TrimSpace(line))
	}
}
