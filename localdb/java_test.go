package localdb

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJavaVersion(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]int{
		"openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment":                 17,
		"java version \"1.8.0_392\"":                                                          8,
		"openjdk version \"21-ea\" 2023-09-19":                                                21,
		"openjdk version \"25\" 2025-09-16":                                                   25,
		"Picked up JAVA_TOOL_OPTIONS: -Dx=\"9\"\nopenjdk version \"17.0.1\" 2021-10-19\nmore": 17,
	} {
		version, ok := javaVersion(output)
		assert.True(t, ok, output)
		assert.Equal(t, want, version, output)
	}
	_, ok := javaVersion("The operation couldn't be completed. Unable to locate a Java Runtime.")
	assert.False(t, ok)
}

func TestFindJavaReportsBothPlaces(t *testing.T) {
	t.Parallel()
	_, err := findJava(t.Context(), settings{javaHome: t.TempDir(), look: func(string) (string, error) { return lookPath("no-such-program") }})
	require.ErrorContains(t, err, "java of JAVA_HOME: ")
	require.ErrorContains(t, err, "needs Java 17 or newer: no-such-program is not in PATH")
}
