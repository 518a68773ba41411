package entity_test

import (
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
)

// Tables has the handles of a program.
type Tables struct {
	Members *entity.Store[Crewman]
	ByTeam  *entity.Index[Crewman] `entity:"byTeam"`
}

type Crewman struct {
	_    entity.Key `name:"Crewman" pk:"$#{id}" sk:"$"`
	_    entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	ID   string     `dynamodbav:"id"`
	Team string     `dynamodbav:"team"`
}

func ExampleBind() {
	db, err := entity.Open(nil, entity.Config{Table: "app"}) // with a client to run what is printed here
	if err != nil {
		fmt.Println(err)
		return
	}
	app, err := entity.Bind[Tables](db)
	if err != nil { // all mistakes in the declarations of all entities
		fmt.Println(err)
		return
	}
	fmt.Println(app.Members.Query(Crewman{ID: "m-1"}))
	fmt.Println(app.ByTeam.Query(Crewman{Team: "blue"}))
	// Output:
	// Query Crewman on app
	//   key    pk = "$app#v1#crewman#m-1" AND sk = "$app#v1#crewman"
	//   filter attribute_not_exists(_k) AND __edd_e__ = "Crewman"
	// Query Crewman on app index gsi1
	//   key    gsi1pk = "$app#v1#crewman#blue" AND begins_with(gsi1sk, "$app#v1#crewman#")
}
