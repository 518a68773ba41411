package localdb

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// dropPatience bounds the deletion of a test's tables.
const dropPatience = 5 * time.Minute

// dropTables deletes the tables whose names begin with prefix.
func dropTables(ctx context.Context, client *dynamodb.Client, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, dropPatience)
	defer cancel()
	pages := dynamodb.NewListTablesPaginator(client, &dynamodb.ListTablesInput{})
	var names []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, name := range page.TableNames {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
	}
	var failed []error
	for _, name := range names {
		failed = append(failed, dropTable(ctx, client, name))
	}
	return errors.Join(failed...)
}

// dropTable deletes one table. One that is still being created or changed is busy for a moment; one that the test has deleted is fine.
func dropTable(ctx context.Context, client *dynamodb.Client, name string) error {
	for {
		_, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(name)})
		var gone *types.ResourceNotFoundException
		var busy *types.ResourceInUseException
		switch {
		case err == nil, errors.As(err, &gone):
			return nil
		case !errors.As(err, &busy):
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
