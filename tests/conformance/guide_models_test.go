package conformance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Employee is the guide's: soft delete and versions, both with a time to live.
type Employee struct {
	_ entity.Key           `name:"Employee" pk:"$#{employeeId}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenantId}" sk:"$#{department}#{employeeId}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	Staff
}

// EmployeeFree gives its unique email up when it is deleted.
type EmployeeFree struct {
	_ entity.Key           `name:"Employee" pk:"$#{employeeId}" sk:"$"`
	_ versioned.Retain     ``
	_ lifecycle.SoftDelete `unique:"free"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Staff
}

// EmployeeReserve keeps its unique email while it is in the bin.
type EmployeeReserve struct {
	_ entity.Key           `name:"Employee" pk:"$#{employeeId}" sk:"$"`
	_ versioned.Retain     ``
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Staff
}

// Staff are the fields of every employee.
type Staff struct {
	EmployeeID  string    `dynamodbav:"employeeId"`
	TenantID    string    `dynamodbav:"tenantId" entity:"immutable"`
	Email       string    `dynamodbav:"email"`
	DisplayName string    `dynamodbav:"displayName" entity:"required"`
	Department  string    `dynamodbav:"department"`
	Version     int64     `dynamodbav:"version" entity:"version"`
	CreatedAt   time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt   time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

var (
	aliceStaff = Staff{EmployeeID: "emp-alice", TenantID: "t-acme", Email: "alice@acme.com", DisplayName: "Alice", Department: "Engineering"}
	bobStaff   = Staff{EmployeeID: "emp-bob", TenantID: "t-acme", Email: "bob@acme.com", DisplayName: "Bob", Department: "Sales"}
)

const (
	alicePK    = "$app#v1#employee#emp-alice"
	employeeSK = "$app#v1#employee"
)

// guide is the world of the guide's example: alice was created and updated.
type guide struct {
	*dbtest.Bench
	s       *entity.Store[Employee]
	bin     *lifecycle.Deleted[Employee]
	history *versioned.History[Employee]
	byTen   *entity.Index[Employee]
	key     Employee
}

func newGuide(t *testing.T) guide {
	t.Helper()
	l, s := dbtest.OpenStore[Employee](t)
	g := guide{Bench: l, s: s, bin: entity.Must(lifecycle.Of(s)), history: entity.Must(versioned.Of(s)), byTen: entity.Must(s.Index("byTenant"))}
	g.key = Employee{Staff: Staff{EmployeeID: "emp-alice"}}
	_, err := s.Create(t.Context(), Employee{Staff: aliceStaff})
	require.NoError(t, err)
	l.Clock.Move(time.Second)
	e := entity.Fields[Employee]()
	_, err = s.Update(t.Context(), g.key, entity.Set(&e.DisplayName, "Alice Baker"), entity.Set(&e.Department, "Engineering"), entity.Set(&e.TenantID, "t-acme"))
	require.NoError(t, err)
	l.Clock.Move(time.Second)
	return g
}

// remove deletes alice softly and returns when.
func (g guide) delete(t *testing.T) time.Time {
	t.Helper()
	at := g.Clock.Now()
	require.NoError(t, g.s.Delete(t.Context(), g.key))
	g.Clock.Move(time.Second)
	return at
}

// alice is the item of alice's with that suffix of the sort key; nil if absent.
func (g guide) alice(t *testing.T, suffix string) dbtest.Item {
	t.Helper()
	return g.ItemsByKey()[alicePK+" "+employeeSK+suffix]
}
