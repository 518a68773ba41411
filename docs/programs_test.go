package docs_test

import (
	"go/format"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/migrate"
)

const awsPackages = "github.com/aws/aws-sdk-go-v2/"

// source returns the blocks of one side of a guide as a file: those in the given language, with what they import.
func source(t *testing.T, guide, language string, imports ...string) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("package main\n")
	for _, path := range imports {
		text.WriteString("import \"" + path + "\"\n")
	}
	for _, block := range blocks(read(t, guide), strings.TrimSpace("go "+language)) {
		formatted, err := format.Source([]byte(block))
		require.NoError(t, err)
		require.Equal(t, string(formatted), block, "a block is not formatted")
		text.WriteString("\n" + block)
	}
	return text.String()
}

// onDatabase runs a program that uses the database of a client, and returns what it prints.
func onDatabase(t *testing.T, client *dynamodb.Client, binary string, args ...string) string {
	t.Helper()
	key, err := client.Options().Credentials.Retrieve(t.Context())
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(cmd.Environ(), "AWS_REGION="+client.Options().Region, "AWS_ACCESS_KEY_ID="+key.AccessKeyID)
	return printed(t, *client.Options().BaseEndpoint, cmd)
}

// check returns how many items are not as the declaration of a store says, by kind.
func check[T any](t *testing.T, store *entity.Store[T]) map[migrate.Kind]int {
	t.Helper()
	done, err := migrate.Check(t.Context(), store, func(migrate.Finding) error { return nil })
	require.NoError(t, err)
	require.NotZero(t, done.Evaluated)
	return done.Findings
}
