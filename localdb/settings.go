package localdb

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// settings is what the environment asks for. Start reads it once, so that nothing below reads the environment again and tests
// of this package can run beside each other.
type settings struct {
	endpoint string
	allowAWS bool
	kind     string // "" for any
	cache    string // "" if none can be had
	noFetch  bool
	javaHome string
	apart    bool // each access key has tables of its own, which no other one sees

	notify io.Writer                                         // where the user is told of a fetch
	pack   func(ctx context.Context, spec, dir string) error // leaves the archive of spec in dir
	look   func(program string) (path string, err error)     // finds a program of the machine
	launch func(dir string, argv ...string) (*child, error)  // starts a database; nil: launch
}

// readSettings reads the environment through getenv.
func readSettings(getenv func(string) string, notify io.Writer) (settings, error) {
	cfg := settings{
		endpoint: getenv("DYNAMODB_ENDPOINT"),
		kind:     getenv("LOCALDB_KIND"),
		cache:    getenv("LOCALDB_CACHE"),
		javaHome: getenv("JAVA_HOME"),
		notify:   notify,
		pack:     npmPack,
		look:     lookPath,
	}
	var err error
	if cfg.allowAWS, err = flag(getenv, "LOCALDB_ALLOW_AWS"); err != nil {
		return settings{}, err
	}
	if cfg.noFetch, err = flag(getenv, "LOCALDB_NO_FETCH"); err != nil {
		return settings{}, err
	}
	if cfg.cache, err = cacheDir(cfg.cache); err != nil {
		return settings{}, err
	}
	return cfg, nil
}

// flag reads an on-off variable. A word that is neither is an error: LOCALDB_NO_FETCH=yes must not fetch.
func flag(getenv func(string) string, name string) (bool, error) {
	text := getenv(name)
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("localdb: %s=%q: want 1 or 0", name, text)
	}
	return on, nil
}

// cacheDir returns where fetched programs are kept. A relative path would mean another directory in every package under test, so it is
// made absolute; a user without a home directory gets "", which only those who have to fetch complain about.
func cacheDir(chosen string) (string, error) {
	if chosen != "" {
		dir, err := filepath.Abs(chosen)
		if err != nil {
			return "", fmt.Errorf("localdb: LOCALDB_CACHE=%q: %w", chosen, err)
		}
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", nil
	}
	return filepath.Join(dir, "dynastrata", "localdb"), nil
}
