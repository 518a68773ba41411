package console

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
)

// A version that was too large to be kept is listed as omitted, cannot be compared, and leaves unknown what changed after it.
func TestLog_ShowsWhatIsOmitted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	e := entity.Fields[Employee]()
	x := entity.Must(l.employees.Create(t.Context(), Employee{EmployeeID: "e-1", TenantID: "t-1", Department: "R&D", Email: "alice@example.com", DisplayName: "Alice"}))
	l.now = l.now.Add(time.Hour)
	x = entity.Must(l.employees.Update(t.Context(), x, entity.Set(&e.Department, "Sales")))
	key := item.Item{"pk": item.S("$app#v1#employee#e-1"), "sk": item.S("$app#v1#employee")}
	out, err := l.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &l.table, Key: key})
	require.NoError(t, err)
	large := item.Item(out.Item)
	large["displayName"] = item.S("Alice" + strings.Repeat("a", 400*1024-item.Size(large)))
	l.put(large)
	l.now = l.now.Add(time.Hour)
	entity.Must(l.employees.Update(t.Context(), x, entity.Set(&e.DisplayName, "Alice Baker")))
	r := l.run("log", "Employee", "employeeId=e-1")
	require.Equal(t, ExitOK, r.code, r.err)
	golden(t, "read/log-omitted.txt", r.out)
	require.Contains(t, r.out, "EDD-9272 the content of the state was left out")
	for _, versions := range [][]string{{"1", "2"}, {"2", "3"}} {
		r = l.run(append([]string{"diff", "Employee", "employeeId=e-1"}, versions...)...)
		require.Equal(t, ExitFailed, r.code)
		golden(t, "read/diff-omitted.txt", r.out+r.err)
	}
	r = l.run("diff", "Employee", "employeeId=e-1", "1", "3")
	require.Equal(t, ExitOK, r.code, r.err)
	require.Equal(t, ExitOK, l.run("check").code)
	require.Equal(t, ExitOK, l.embedded("", "check").code)
}
