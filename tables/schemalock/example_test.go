package schemalock_test

import (
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables/schemalock"
)

// Account is as it was when the lock was made.
type Account struct {
	_ entity.Key `name:"Account" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}"`

	ID    string `dynamodbav:"id"`
	Owner string `dynamodbav:"owner,omitempty"`
}

// AccountToday is the same entity some commits later: the field and the index have other names in Go, which the lock
// ignores; there is a new attribute; and the index has another key.
type AccountToday struct {
	_ entity.Key `name:"Account" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"ofOwner" index:"gsi1" pk:"$#{owner|lower}"`

	AccountID string `dynamodbav:"id"`
	Owner     string `dynamodbav:"owner,omitempty"`
	Balance   int    `dynamodbav:"balance"`
}

// accounts declares a struct on a database without a client.
func accounts[T any]() *entity.DB {
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	entity.Must(entity.New[T](db))
	return db
}

// The lock of a program, as in the file.
func ExampleOf() {
	fmt.Print(schemalock.Of(accounts[Account]()))
	// Output:
	// # dynastrata schema lock, format 2
	// # What the entities of this program keep on disk. Made by schemalock; do not edit.
	// # DYNASTRATA_UPDATE_LOCK=1 go test rewrites it; review the difference.
	//
	// entity Account
	//   table = (default)
	//   items = $
	//   payload = 1
	//   key partition = pk S $app#v1#account#{id string}
	//   key sort = sk S $app#v1#account
	//   index gsi1 = global
	//   index gsi1 partition = gsi1pk S $app#v1#account#{owner string}
	//   index gsi1 projection = all
	//   index gsi1 name = byOwner
	//   attribute id = S always
	//   attribute owner = S optional
}

// Two locks, and what their difference means for stored items.
func ExampleCompare() {
	old, err := schemalock.Parse([]byte(schemalock.Of(accounts[Account]()).String()))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, change := range schemalock.Compare(old, schemalock.Of(accounts[AccountToday]())) {
		fmt.Println(change)
	}
	// Output:
	// breaking: Account: index gsi1 partition: gsi1pk S $app#v1#account#{owner string} → gsi1pk S $app#v1#account#{owner string|lower}: DynamoDB cannot change the key of an index, and existing items have the old one
	// compatible: Account: index gsi1 name: byOwner → ofOwner: it is a name in Go, and is not stored
	// compatible: Account: attribute balance: (none) → N int64 always: existing items do not have it
}

// printer is a TB that prints; a program uses its *testing.T.
type printer struct{}

func (printer) Helper()                           {}
func (printer) Logf(format string, args ...any)   { fmt.Printf(format+"\n", args...) }
func (printer) Errorf(format string, args ...any) { fmt.Printf("FAIL "+format+"\n", args...) }
func (printer) Fatalf(format string, args ...any) { fmt.Printf("FAIL "+format+"\n", args...) }

// A test of a program declares all its stores and calls Check. The file has to be written first.
func ExampleCheck() {
	schemalock.Check(printer{}, accounts[Account](), "testdata/missing.lock")
	// Output:
	// FAIL schema lock: testdata/missing.lock does not exist; write it with DYNASTRATA_UPDATE_LOCK=1 go test, and commit it
}

// A program compares its declarations with the lock when it starts.
func ExampleVerify() {
	lock := []byte(schemalock.Of(accounts[Account]()).String()) // in a program: //go:embed dynastrata.lock
	err := schemalock.Verify(accounts[AccountToday](), lock)
	fmt.Println(err)
	// Output:
	// schema lock: items written under it do not survive these changes of the declarations:
	//   breaking: Account: index gsi1 partition: gsi1pk S $app#v1#account#{owner string} → gsi1pk S $app#v1#account#{owner string|lower}: DynamoDB cannot change the key of an index, and existing items have the old one
}
