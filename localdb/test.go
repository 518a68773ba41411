package localdb

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TB is the part of [testing.TB] that [Test] needs, so that this package does not bring the testing package into programs.
type TB interface {
	Helper()
	Name() string
	Cleanup(func())
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// sharedPatience bounds the start of the database for tests, downloads included.
const sharedPatience = 10 * time.Minute

// shared is the database of this process's tests: that of all test processes. A start that failed is not tried again: it would fail again, once for every test.
var shared = sync.OnceValues(func() (*Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sharedPatience)
	defer cancel()
	cfg, err := readSettings(os.Getenv, os.Stderr)
	if err != nil {
		return nil, err
	}
	// DynamoDB Local serves those who see the same tables by one thread. The processes of a test run do not wait for each other
	// when each has its own access key.
	cfg.apart = true
	server, err := openShared(ctx, cfg, candidates, idleTime)
	if err == nil && cfg.endpoint == "" {
		server.key = accessKey + rand.Text()[:12]
	}
	return server, err
})

// Test returns a client of the tests' database and a table name that no other test uses, made of the test's own name. The
// test creates the table, and any others whose names begin with it ("<table>-audit"; up to 80 more characters). When the test
// ends they are all deleted. optFns change the client's options, as for [Server.Client].
//
// If there is no database, the test is skipped with the reason, or fails if DYNASTRATA_REQUIRE_DB is 1. Test may be called more than
// once in a test, for several names, and from parallel tests.
func Test(t TB, optFns ...func(*dynamodb.Options)) (client *dynamodb.Client, table string) {
	t.Helper()
	return testOn(t, shared, required(os.Getenv), optFns)
}

// required reports whether a missing database is a failure. A value that is neither yes nor no counts as yes: a typing error skips no test.
func required(getenv func(string) string) bool {
	on, err := flag(getenv, "DYNASTRATA_REQUIRE_DB")
	return on || err != nil
}

func testOn(t TB, database func() (*Server, error), required bool, optFns []func(*dynamodb.Options)) (*dynamodb.Client, string) {
	t.Helper()
	server, err := database()
	if err != nil {
		if required {
			t.Fatalf("%v", err)
		}
		t.Skipf("%v", err)
		return nil, "" // not reached with a real testing.TB
	}
	table := tableName(t.Name())
	t.Cleanup(func() {
		// Not the test's own client: that one may be made to fail.
		if err := dropTables(context.Background(), server.Client(), table); err != nil {
			t.Fatalf("localdb: delete the tables of %s: %v", t.Name(), err)
		}
	})
	return server.Client(optFns...), table
}

// maxTestName is how much of a test's name is used. DynamoDB allows 255 characters; this leaves room for what tests append.
const maxTestName = 160

// tableName makes a table name out of a test's name, and unique by a random suffix.
func tableName(test string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '.', r == '-':
			return r
		}
		return '_'
	}, test)
	return name[:min(len(name), maxTestName)] + "-" + strings.ToLower(rand.Text()[:12])
}

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
