// Command leaving runs the functions of leaving.md. Its arguments are a table, and for ChangeEmail the id of a member and its new address.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func main() {
	client := dynamodb.New(dynamodb.Options{
		Region: os.Getenv("AWS_REGION"), BaseEndpoint: aws.String(os.Getenv("DYNAMODB_ENDPOINT")),
		Credentials: credentials.NewStaticCredentialsProvider(os.Getenv("AWS_ACCESS_KEY_ID"), "secret", ""),
	})
	if err := run(context.Background(), client, os.Args[1], os.Args[2:]...); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client *dynamodb.Client, table string, change ...string) error {
	if len(change) > 0 {
		return ChangeEmail(ctx, client, table, change[0], change[1], time.Now())
	}
	counts, err := Export(ctx, client, table, os.Stdout)
	fmt.Println(counts)
	return err
}
