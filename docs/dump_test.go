package docs_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

// dump prints every item of a table as it is stored: one line per attribute, its name, type and value. Key attributes come
// first; items are in the order of their keys.
func dump(t *testing.T, client *dynamodb.Client, table string, keys ...string) string {
	t.Helper()
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
	require.NoError(t, err)
	items := make([]string, len(out.Items))
	for i, item := range out.Items {
		items[i] = dumpItem(item, keys)
	}
	slices.Sort(items)
	return strings.Join(items, "\n\n")
}

func dumpItem(item map[string]types.AttributeValue, keys []string) string {
	names := slices.Clone(keys)
	for _, name := range slices.Sorted(maps.Keys(item)) {
		if !slices.Contains(keys, name) {
			names = append(names, name)
		}
	}
	lines := make([]string, len(names))
	for i, name := range names {
		lines[i] = fmt.Sprintf("%-10s %s", name, scalar(item[name]))
	}
	return strings.Join(lines, "\n")
}

func scalar(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return "S    " + v.Value
	case *types.AttributeValueMemberN:
		return "N    " + v.Value
	case *types.AttributeValueMemberBOOL:
		return "BOOL " + strconv.FormatBool(v.Value)
	}
	return fmt.Sprintf("%T", av)
}
