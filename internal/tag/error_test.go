package tag_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/tag"
)

// requireProblem checks that err is an *Error at pos whose problem contains part.
func requireProblem(t *testing.T, err error, pos int, part string) {
	t.Helper()
	var problem *tag.Error
	require.ErrorAs(t, err, &problem)
	assert.Equal(t, pos, problem.Pos, problem.Problem)
	assert.Contains(t, problem.Problem, part)
}

func TestErrorText(t *testing.T) {
	err := &tag.Error{Pos: 3, Problem: "empty segment"}
	assert.Equal(t, "empty segment (at byte 3)", err.Error())
}
