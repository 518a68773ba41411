package localdb

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// dynoxide has a build for each platform; those whose digest is known are listed, by GOOS/GOARCH.
var dynoxide = map[string]pin{
	"linux/amd64": {
		title: "Dynoxide", size: "4 MB", licence: "MIT or Apache-2.0",
		pkg: "@dynoxide/linux-x64", version: "1.2.1",
		sha512:   "sBHqlxJ9ANkLluFkYRfd5r8Y0ApFew4FhOrlhgRAgD4XzEoFOukEo1nuBTQ1+jTtofqwn4NWQ2k0Tn5mNTjgUg==",
		unpacked: 32 << 20,
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
	return boot(ctx, KindDynoxide, dir, 30*time.Second, func(port int) []string {
		return []string{filepath.Join(dir, "dynoxide"), "serve", "--host", "127.0.0.1", "--port", strconv.Itoa(port)}
	})
}
