package entitytype_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
)

type Employee struct {
	_ entity.Key `name:"Employee" pk:"$#{employeeId}"`

	EmployeeID string `dynamodbav:"employeeId"`
	Name       string `dynamodbav:"name"`
}

// A mistake in the arguments of a call is an InputError, whatever the verb.
func Example() {
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	employees := entity.Must(entity.New[Employee](db))

	_, err := employees.Get(context.Background(), Employee{Name: "Alice"})
	var mistake *entitytype.InputError
	if errors.As(err, &mistake) {
		fmt.Println(mistake.Code, mistake.Field+":", mistake.Problem)
	}
	// Output: EDD-9101 EmployeeID: the key part is missing
}
