// Command entity stores and reads an item with package entity.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
)

type note struct {
	_ entity.Key `name:"Note" pk:"id"`

	ID   string `dynamodbav:"id"`
	Text string `dynamodbav:"text"`
}

func main() {
	ctx := context.Background()
	db := entity.Must(entity.Open(dynamodb.New(dynamodb.Options{}), entity.Config{Table: "notes"}))
	notes := entity.Must(entity.New[note](db))
	n, err := notes.Create(ctx, note{ID: "1", Text: "hello"})
	if err == nil {
		_, err = notes.Get(ctx, n)
	}
	if err != nil {
		log.Fatal(err)
	}
}
