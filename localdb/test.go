package localdb

import (
	"context"
	"crypto/rand"
	"errors"
	"hash/crc32"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TB is the part of [testing.TB] that [Test] needs. With it this package need not import testing.
type TB interface {
	Helper()
	Name() string
	Cleanup(func())
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// sharedPatience bounds the start of the database for tests, downloads included.
const sharedPatience = 10 * time.Minute

// shared is the database of this process's tests, shared by all test processes. A failed start is not tried again: it would
// fail once for every test.
var shared = sync.OnceValues(func() (*Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sharedPatience)
	defer cancel()
	cfg, err := readSettings(os.Getenv, os.Stderr)
	if err != nil {
		return nil, err
	}
	// DynamoDB Local serves each set of tables by one thread. With access keys of their own, test processes do not wait for
	// each other.
	cfg.separateKeys = true
	server, err := openShared(ctx, cfg, candidates, idleTime)
	if err == nil && cfg.endpoint == "" {
		server.key = accessKey + rand.Text()[:12]
	}
	return server, err
})

// Test returns a client of the tests' database and a unique table name, derived from the test's name. The test creates the
// table, and any others whose names begin with it ("<table>-audit"; up to 80 more characters). When the test ends they are
// all deleted. optFns change the client's options, as for [Server.Client].
//
// If there is no database, the test is skipped with the reason, or fails if DYNASTRATA_REQUIRE_DB is 1. Test may be called
// several times in a test, for several names, and from parallel tests.
func Test(t TB, optFns ...func(*dynamodb.Options)) (client *dynamodb.Client, table string) {
	t.Helper()
	return testOn(t, shared, required(os.Getenv), optFns)
}

// SkipOn skips a test, with the reason, if the tests' database is of a kind on which the test cannot hold: [KindDynoxide], say. It
// fails the test if DYNASTRATA_REQUIRE_DB is 1. Without a database the test ends as in [Test].
func SkipOn(t TB, kind, reason string) {
	t.Helper()
	skipOn(t, shared, required(os.Getenv), kind, reason)
}

func skipOn(t TB, database func() (*Server, error), required bool, kind, reason string) {
	t.Helper()
	switch server := databaseOf(t, database, required); {
	case server.Kind() != kind:
	case required:
		t.Fatalf("the database is %s: %s", kind, reason)
	default:
		t.Skipf("the database is %s: %s", kind, reason)
	}
}

// required reports whether a missing database is a failure. A value that is not a boolean counts as true: a typo must not
// skip tests.
func required(getenv func(string) string) bool {
	on, err := flag(getenv, "DYNASTRATA_REQUIRE_DB")
	return on || err != nil
}

func testOn(t TB, database func() (*Server, error), required bool, optFns []func(*dynamodb.Options)) (*dynamodb.Client, string) {
	t.Helper()
	server := databaseOf(t, database, required).forTest(t.Name())
	table := tableName(t.Name())
	t.Cleanup(func() {
		// Not the test's client, whose requests may be made to fail.
		if err := dropTables(context.Background(), server.Client(), table); err != nil {
			t.Fatalf("localdb: delete the tables of %s: %v", t.Name(), err)
		}
	})
	return server.Client(optFns...), table
}

// lanes is the number of sets of tables of a test process: one thread of DynamoDB Local serves each, so that none slows all tests down.
const lanes = 4

// forTest returns the server with the access key of a test, which its subtests share.
func (s *Server) forTest(name string) *Server {
	if s.key == "" {
		return s
	}
	name, _, _ = strings.Cut(name, "/")
	own := *s
	own.key += strconv.Itoa(int(crc32.ChecksumIEEE([]byte(name)) % lanes))
	return &own
}

// databaseOf returns the database of a test. Without one the test ends.
func databaseOf(t TB, database func() (*Server, error), required bool) *Server {
	t.Helper()
	server, err := database()
	if err != nil && required {
		t.Fatalf("%v", err)
	}
	if err != nil {
		t.Skipf("%v", err)
	}
	return server
}

// maxTestName bounds how much of a test's name is used. DynamoDB allows 255 characters; tests append to the name.
const maxTestName = 160

// tableName returns a unique table name: a test's name with a random suffix.
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

// dropTable deletes one table. It waits while the table is still being created or changed, and accepts one that is already
// deleted.
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
