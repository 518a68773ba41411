package migrate_test

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// indexed is the same item with its index.
type indexed struct {
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_ entity.Key `name:"Worker" pk:"$#{id}" sk:"$"`

	ID      string    `dynamodbav:"id"`
	Team    string    `dynamodbav:"team"`
	Tasks   int       `dynamodbav:"tasks"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}
