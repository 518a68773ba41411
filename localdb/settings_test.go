package localdb

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// env is an environment for readSettings.
type env map[string]string

func (e env) get(name string) string { return e[name] }

func TestReadSettings(t *testing.T) {
	t.Parallel()
	cfg, err := readSettings(env{
		"DYNAMODB_ENDPOINT": "http://localhost:1", "LOCALDB_KIND": "docker", "LOCALDB_CACHE": "here", "LOCALDB_NO_FETCH": "1",
		"LOCALDB_ALLOW_AWS": "true", "JAVA_HOME": "/java",
	}.get, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "http://localhost:1", cfg.endpoint)
	assert.Equal(t, "docker", cfg.kind)
	assert.True(t, filepath.IsAbs(cfg.cache))
	assert.Equal(t, "here", filepath.Base(cfg.cache))
	assert.True(t, cfg.noFetch)
	assert.True(t, cfg.allowAWS)
	assert.Equal(t, "/java", cfg.javaHome)

	cfg, err = readSettings(env{"LOCALDB_NO_FETCH": "0"}.get, io.Discard)
	require.NoError(t, err)
	assert.False(t, cfg.noFetch)
	assert.False(t, cfg.allowAWS)
}

func TestReadSettingsRefusesUnclearWords(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"LOCALDB_NO_FETCH", "LOCALDB_ALLOW_AWS"} {
		_, err := readSettings(env{name: "yes"}.get, io.Discard)
		assert.EqualError(t, err, `localdb: `+name+`="yes": want 1 or 0`)
	}
}

func TestRequired(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "0": false, "false": false, "1": true, "true": true, "yes": true} {
		assert.Equal(t, want, required(env{"DYNASTRATA_REQUIRE_DB": text}.get), text)
	}
}
