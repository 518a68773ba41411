// Command raw stores and reads an item with the SDK.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

type note struct {
	ID   string `dynamodbav:"id"`
	Text string `dynamodbav:"text"`
}

func main() {
	client, ctx := dynamodb.New(dynamodb.Options{}), context.Background()
	if err := run(ctx, client); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client *dynamodb.Client) error {
	it, err := attributevalue.MarshalMap(note{"1", "hello"})
	if err != nil {
		return err
	}
	expr, err := expression.NewBuilder().WithCondition(expression.AttributeNotExists(expression.Name("id"))).Build()
	if err != nil {
		return err
	}
	if _, err = client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String("notes"), Item: it, ConditionExpression: expr.Condition(), ExpressionAttributeNames: expr.Names(),
	}); err != nil {
		return err
	}
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("notes"), Key: it})
	if err != nil {
		return err
	}
	var n note
	return attributevalue.UnmarshalMap(out.Item, &n)
}
