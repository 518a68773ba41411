package rules_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// paper returns a DB without a client.
func paper(t *testing.T) *entity.DB {
	t.Helper()
	db, err := entity.Open(nil, entity.Config{Table: "app", Clock: func() time.Time { return time.Unix(0, 0) }})
	require.NoError(t, err)
	return db
}

// Team needs no index.
type Team struct {
	_ entity.Key `name:"Team" pk:"$#{id}" sk:"$"`

	ID string `dynamodbav:"id"`
}

// Employee has one index.
type Employee struct {
	_ entity.Key `name:"Employee" pk:"$#{employeeId}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenantId}" sk:"$#{employeeId}"`

	EmployeeID string `dynamodbav:"employeeId"`
	TenantID   string `dynamodbav:"tenantId"`
}

// mortal represents any feature whose current items can expire.
type mortal struct{}

func (mortal) Declare(d *schema.Decl) { d.Schema.Expires, d.Schema.UsesTTL = true, true }

// Token expires.
type Token struct {
	_ entity.Key `name:"Token" pk:"$#{user}" sk:"$#{id}"`
	_ mortal

	User string `dynamodbav:"user"`
	ID   string `dynamodbav:"id"`
}
