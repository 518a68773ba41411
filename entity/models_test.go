package entity_test

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// Employee has every role that a write of the library keeps, and an index whose sort half has a changing and a fixed
// part.
type Employee struct {
	_ entity.Key `name:"Employee" pk:"$#{employeeId}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenantId}" sk:"$#{department}#{employeeId}"`

	EmployeeID  string    `dynamodbav:"employeeId"`
	TenantID    string    `dynamodbav:"tenantId" entity:"immutable"`
	Department  string    `dynamodbav:"department,omitempty"`
	DisplayName string    `dynamodbav:"displayName" entity:"required"`
	HiredBy     string    `dynamodbav:"hiredBy,omitempty" entity:"set_once"`
	Salary      int       `dynamodbav:"salary,omitempty"`
	Nickname    *string   `dynamodbav:"nickname,omitempty"`
	SeenAt      time.Time `dynamodbav:"seenAt,omitempty"`
	Version     int64     `dynamodbav:"version" entity:"version"`
	CreatedAt   time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt   time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

func employeeKey(id string) Employee { return Employee{EmployeeID: id} }

// alice is a whole employee; the fields that the library owns are given too, and wrong.
func alice() Employee {
	wrong := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	return Employee{
		EmployeeID: "emp-alice", TenantID: "t-acme", Department: "Engineering", DisplayName: "Alice", Salary: 100,
		Version: 77, CreatedAt: wrong, UpdatedAt: wrong,
	}
}

// Team is a plain entity that stands beside others in their table.
type Team struct {
	_ entity.Key `name:"Team" pk:"$#{id}" sk:"$"`

	ID    string `dynamodbav:"id"`
	Name  string `dynamodbav:"name,omitempty"`
	Size  int    `dynamodbav:"size,omitempty"`
	Quota int    `dynamodbav:"quota"`
}

// Geo and Address are nested values.
type Geo struct {
	Lat float64 `dynamodbav:"lat"`
	Lon float64 `dynamodbav:"lon,omitempty"`
}

type Address struct {
	City  string    `dynamodbav:"city"`
	Zip   string    `dynamodbav:"zip,omitempty"`
	Since time.Time `dynamodbav:"since,omitempty"`
	Geo   *Geo      `dynamodbav:"geo,omitempty"`
}

// Line is an element of a list.
type Line struct {
	SKU string `dynamodbav:"sku"`
	Qty int    `dynamodbav:"qty"`
}

// Profile has an attribute of every shape. Its index half byTeam has two parts: changing only one makes an update read
// the item first, so every change can be tried on both routes.
type Profile struct {
	_ entity.Key `name:"Profile" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}#{rank}" sk:"$#{id}"`

	ID      string            `dynamodbav:"id"`
	Team    string            `dynamodbav:"team,omitempty"`
	Rank    int               `dynamodbav:"rank,omitempty"`
	Home    Address           `dynamodbav:"home"`
	Work    *Address          `dynamodbav:"work,omitempty"`
	Labels  map[string]string `dynamodbav:"labels,omitempty"`
	Scores  map[string]int    `dynamodbav:"scores,omitempty"`
	Lines   []Line            `dynamodbav:"lines,omitempty"`
	Log     []string          `dynamodbav:"log,omitempty"`
	Tags    []string          `dynamodbav:"tags,stringset,omitempty"`
	Numbers []int             `dynamodbav:"numbers,numberset,omitempty"`
	Note    string            `dynamodbav:"note,omitempty"`
	Plain   string            `dynamodbav:"plain"`
	Alias   *string           `dynamodbav:"alias,omitempty"`
	Active  *bool             `dynamodbav:"active,omitempty"`
	Count   int               `dynamodbav:"count,omitempty"`
	Total   float64           `dynamodbav:"total,omitempty"`
	SeenAt  time.Time         `dynamodbav:"seenAt,omitempty" entity:"time=ms"`
	Order   string            `dynamodbav:"order,omitempty"` // a reserved word
}

// Task has a sort key of three parts, and an index with a partition of its own name.
type Task struct {
	_ entity.Key `name:"Task" pk:"$#{project}" sk:"$#{status}#{priority}#{taskId}"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{due}"`

	Project  string    `dynamodbav:"project"`
	Status   string    `dynamodbav:"status"`
	Priority int       `dynamodbav:"priority"`
	TaskID   string    `dynamodbav:"taskId"`
	Owner    string    `dynamodbav:"owner,omitempty"`
	Due      time.Time `dynamodbav:"due,omitempty" entity:"time=s"`
	Title    string    `dynamodbav:"title,omitempty"`
	Points   int       `dynamodbav:"points"`
}

// Batch is verbatim: an existing table's own key layout, a constant partition half, copies kept in step.
type Batch struct {
	_ entity.Key `name:"Batch" pk:"device_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}"`
	_ entity.GSI `name:"devices" index:"gsi1" pk:"gsi1pk=devices" sk:"gsi1sk={last_seen_at}"`
	_ entity.GSI `name:"born" index:"gsi2" pk:"gsi2pk={device_id}" sk:"gsi2sk={created_at}"`

	DeviceID   string    `dynamodbav:"device_id"`
	Timestamp  int64     `dynamodbav:"timestamp_ms"`
	BatchID    string    `dynamodbav:"batch_id"`
	LastSeenAt time.Time `dynamodbav:"last_seen_at,omitempty" entity:"time=ms"`
	CreatedAt  time.Time `dynamodbav:"created_at" entity:"created_at,time=ms"`
	State      string    `dynamodbav:"state,omitempty"`
}

// Order has native keys: the attributes are the keys, in their own types.
type Order struct {
	_ entity.Key `name:"Order" pk:"customer" sk:"number"`
	_ entity.GSI `name:"byStatus" index:"status-index" pk:"status" sk:"placed"`
	_ entity.LSI `name:"byAmount" index:"amount-index" sk:"amount"`

	Customer string `dynamodbav:"customer"`
	Number   int    `dynamodbav:"number"`
	Status   string `dynamodbav:"status"`
	Placed   int64  `dynamodbav:"placed,omitempty"`
	Amount   int    `dynamodbav:"amount,omitempty"`
	Note     string `dynamodbav:"note,omitempty"`
}
