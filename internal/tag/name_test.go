package tag_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/tag"
)

func TestName(t *testing.T) {
	for _, text := range []string{"a", "Z", "Telemetry", "by_account-2", "a9"} {
		t.Run(text, func(t *testing.T) { require.NoError(t, tag.Name(text)) })
	}
	tests := []struct {
		text string
		pos  int
		part string
	}{
		{"", 0, "empty"},
		{"_a", 0, "begins with a letter"},
		{"9a", 0, "begins with a letter"},
		{"-a", 0, "begins with a letter"},
		{"a.b", 1, "only letters"},
		{"ab#", 2, "only letters"},
		{"a b", 1, "only letters"},
		{"née", 1, "only letters"},
	}
	for _, test := range tests {
		t.Run("bad "+test.text, func(t *testing.T) {
			requireProblem(t, tag.Name(test.text), test.pos, test.part)
		})
	}
}
