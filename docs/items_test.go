package docs_test

import (
	"testing"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// The declarations of the pages about items: changes.md, reading.md, indexes.md, transactions.md and values.md.

// Pages that are linked before they are written.
func init() {
	for _, page := range []string{
		"entities.md", "values.md", "indexes.md", "reading.md", "transactions.md",
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

// itemPlans prints the plans of the pages about items; nothing is sent.
func itemPlans(t *testing.T, made map[string]string) {
	t.Helper()
	open := func() *entity.DB { return entity.Must(entity.Open(nil, config("app"))) }

	accounts, a := entity.Must(entity.New[account](open())), entity.Fields[account]()
	made["plan-changes"] = accounts.Op().Update(account{AccountID: "a-1"},
		entity.Set(&a.Plan, "team"), entity.Add(&a.Seats, 4), entity.MapEntry(&a.Limits, "projects").Set(20),
		entity.If(entity.Eq(&a.Plan, "free"))).String()
}
