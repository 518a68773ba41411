package docs_test

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

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
	var cells [][2]string
	for _, name := range names {
		cells = append(cells, flat(name, item[name])...)
	}
	width := 10
	for _, c := range cells {
		if strings.Contains(c[0], ".") { // of a map
			width = max(width, len(c[0]))
		}
	}
	lines := make([]string, len(cells))
	for i, c := range cells {
		lines[i] = fmt.Sprintf("%-*s %s", width, c[0], c[1])
	}
	return strings.Join(lines, "\n")
}

// flat is an attribute as its name and value, a map as one of both for each entry.
func flat(name string, av types.AttributeValue) (cells [][2]string) {
	m, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		return [][2]string{{name, scalar(av)}}
	}
	for _, entry := range slices.Sorted(maps.Keys(m.Value)) {
		cells = append(cells, flat(name+"."+entry, m.Value[entry])...)
	}
	return cells
}

func scalar(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		if strings.ContainsFunc(v.Value, unicode.IsControl) {
			return "S    " + strconv.Quote(v.Value)
		}
		return "S    " + v.Value
	case *types.AttributeValueMemberN:
		return "N    " + v.Value
	case *types.AttributeValueMemberBOOL:
		return "BOOL " + strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberB:
		return "B    " + hex.EncodeToString(v.Value)
	case *types.AttributeValueMemberSS:
		return "SS   " + strings.Join(slices.Sorted(slices.Values(v.Value)), ", ")
	case *types.AttributeValueMemberNS:
		return "NS   " + strings.Join(slices.Sorted(slices.Values(v.Value)), ", ")
	case *types.AttributeValueMemberL:
		var elements []string
		for _, e := range v.Value {
			elements = append(elements, scalar(e))
		}
		return "L    [" + strings.Join(elements, ", ") + "]"
	case *types.AttributeValueMemberM:
		var entries []string
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			entries = append(entries, name+" = "+strings.Join(strings.Fields(scalar(v.Value[name])), " "))
		}
		return "M    {" + strings.Join(entries, ", ") + "}"
	}
	return fmt.Sprintf("%T", av)
}
