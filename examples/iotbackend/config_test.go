package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// environment has the variables of a program.
type environment map[string]string

func (e environment) get(name string) string { return e[name] }

func TestConfig_SaysEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	env := environment{
		envDevices: "same", envKeys: "same", envRetention: "ninety", envStrong: "perhaps", envRecovery: "maybe", envCursor: "short",
	}
	_, err := readConfig(env.get)
	for _, name := range []string{envDevices, envKeys, envRetention, envStrong, envRecovery, envCursor, envPepper, envAdmin} {
		require.ErrorContains(t, err, name)
	}
	for _, days := range []string{"0", "-1", "1.5", "36501", "213504", "99999999", "2147483647", "9223372036854775807"} {
		env = environment{envPepper: "p", envAdmin: "a", envRetention: days}
		_, err = readConfig(env.get)
		require.ErrorContains(t, err, envRetention, days)
	}
	for days, want := range map[string]time.Duration{"1": 24 * time.Hour, "90": 90 * 24 * time.Hour, "36500": 36500 * 24 * time.Hour} {
		env[envRetention] = days
		cfg, err := readConfig(env.get)
		require.NoError(t, err)
		require.Equal(t, want, cfg.Retention)
	}
	delete(env, envRetention)
	cfg, err := readConfig(env.get)
	require.NoError(t, err)
	require.Zero(t, cfg.Retention)
}

// Cursors are encrypted if there is a key.
func TestConfig_CursorsCanBeSigned(t *testing.T) {
	t.Parallel()
	signed := newLab(t, func(c *config) { c.CursorKey = secret{"sixteen bytes at least"} })
	signed.registered(macA)
	signed.registered(macB)
	page, err := signed.listDevices(t.Context(), 1, "")
	require.NoError(t, err)
	other := labOf(t, signed.cfg, epoch)
	other.cfg.CursorKey = secret{}
	_, err = other.open(signed.client).listDevices(t.Context(), 1, page.Next)
	require.Error(t, err)
	_, err = signed.listDevices(t.Context(), 1, page.Next)
	require.NoError(t, err)
}
