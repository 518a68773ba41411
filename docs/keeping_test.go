package docs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/unique"
)

// account is what unique.md declares.
type account struct {
	_ entity.Key        `name:"Account" pk:"$#{accountId}" sk:"$"`
	_ unique.Constraint `name:"email" fields:"{email|lower}"`

	AccountID string `dynamodbav:"accountId"`
	Email     string `dynamodbav:"email,omitempty"`
	Name      string `dynamodbav:"name,omitempty"`
}

// made returns a plan or stored items without what differs from run to run.
func steady(text, table string, runs ...string) string {
	return strings.NewReplacer(append([]string{table, "app"}, runs...)...).Replace(text)
}

// storedKept makes the examples of unique values, versions, soft delete and expiry.
func storedKept(t *testing.T, made map[string]string) {
	t.Helper()
	storedAccount(t, made)
}

func storedAccount(t *testing.T, made map[string]string) {
	t.Helper()
	client, table := localdb.Test(t)
	cfg := config(table)
	id := cfg.NewID
	cfg.NewID = func() string { return id() + "-a" } // not the tokens of the others
	db := entity.Must(entity.Open(client, cfg))
	accounts := entity.Must(entity.New[account](db))
	require.NoError(t, tables.Create(t.Context(), db))
	create := accounts.Op().Create(account{AccountID: "a-1", Email: "Ada@x.org"})
	made["plan-unique"] = steady(create.String(), table, run+"-a", "")
	require.NoError(t, db.Transact(t.Context(), create))
	made["unique-stored"] = steady(dump(t, client, table, "pk", "sk"), table, run+"-a", "")
}
