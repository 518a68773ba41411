// Command guregu stores and reads an item with github.com/guregu/dynamo.
package main

import (
	"context"
	"errors"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/guregu/dynamo/v2"
)

type note struct {
	ID   string `dynamo:"id,hash"`
	Text string `dynamo:"text"`
}

func main() {
	ctx := context.Background()
	notes := dynamo.NewFromIface(dynamodb.New(dynamodb.Options{})).Table("notes")
	var n note
	if err := errors.Join(
		notes.Put(note{"1", "hello"}).If("attribute_not_exists(id)").Run(ctx),
		notes.Get("id", "1").One(ctx, &n),
	); err != nil {
		log.Fatal(err)
	}
}
