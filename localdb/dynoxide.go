package localdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// dynoxide has a build for each platform; those whose digest is known are listed, by GOOS/GOARCH.
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
	server.token = "" // it was shown, and cannot be shown again
	return server, nil
}

// tokenTable describes the table that Dynoxide makes when it starts, to show that it is the one that was started.
const tokenTable = `{"Table": {"TableName": %q, "BillingMode": "PAY_PER_REQUEST",
	"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}}`
