package schema_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestConfig_MistakesAreReportedTogether(t *testing.T) {
	t.Parallel()
	_, err := entity.Open(nil, entity.Config{
		Namespace:     entity.Namespace{Name: "app#1", Version: -1},
		TimePrecision: time.Minute,
		MaxAttempts:   -1,
		CursorKey:     []byte("short"),
		PK:            "key", SK: "key",
	})
	var got []mistake
	for _, m := range mistakes(err) {
		require.Equal(t, "entity.Config", m.Type)
		got = append(got, mistake{m.Code, m.Field})
	}
	require.ElementsMatch(t, []mistake{
		{"EDD-9050", "Namespace.Name"}, {"EDD-9050", "Namespace.Version"}, {"EDD-9050", "TimePrecision"},
		{"EDD-9050", "MaxAttempts"}, {"EDD-9050", "CursorKey"}, {"EDD-9050", "PK"},
	}, got)

	_, err = entity.Open(nil, entity.Config{
		Namespace:     entity.Namespace{Name: "shop", Version: 2},
		TimePrecision: time.Millisecond,
		MaxAttempts:   1,
		CursorKey:     []byte("0123456789abcdef"),
		PK:            "key", SK: "sort", TTL: "expires",
	})
	require.NoError(t, err)
}

func TestConfig_LibraryAttributesAreNotForKeysOrExpiry(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"_w", "_k", "_at", "_pv", "_op", "__edd_e__"} {
		for field, cfg := range map[string]entity.Config{"PK": {PK: name}, "SK": {SK: name}, "TTL": {TTL: name}} {
			_, err := entity.Open(nil, cfg)
			found := mistakes(err)
			if assert.Len(t, found, 1, "%s is %s", field, name) {
				assert.Equal(t, mistake{"EDD-9050", field}, mistake{found[0].Code, found[0].Field})
			}
		}
	}
}

func TestConfig_ASharedTableNeedsMilliseconds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  entity.Config
		want []string
	}{
		"default times":   {entity.Config{Interop: true}, []string{"TimePrecision"}},
		"seconds":         {entity.Config{Interop: true, TimePrecision: time.Second}, []string{"TimePrecision"}},
		"as it should be": {entity.Config{Interop: true, TimePrecision: time.Millisecond}, nil},
	} {
		_, err := entity.Open(nil, c.cfg)
		var got []string
		for _, m := range mistakes(err) {
			assert.Equal(t, "EDD-9050", m.Code, name)
			got = append(got, m.Field)
		}
		assert.ElementsMatch(t, c.want, got, name)
	}
}
