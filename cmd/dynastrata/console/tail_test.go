package console

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/stream"
)

// dry is streams whose first reads fail.
type dry struct {
	stream.Client
	mu    sync.Mutex
	fails []error
}

func (d *dry) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, opts ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.fails) == 0 {
		return d.Client.GetRecords(ctx, in, opts...)
	}
	err := d.fails[0]
	d.fails = d.fails[1:]
	return nil, err
}

// tail runs the command on streams whose first reads fail.
func (l *lab) tail(fails []error, args ...string) result {
	var s session
	s.use(l.client)
	app := l.app()
	app.Client, app.streams = l.client, &dry{Client: s.streams, fails: fails}
	return l.start(l.t.Context(), app, "", append([]string{"--table", l.table}, args...)...)
}

// What was lost is shown between the changes, and throttling is waited out.
func TestTail_PrintsWhatIsLost(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	throttled, trimmed := &streamtypes.LimitExceededException{}, &streamtypes.TrimmedDataAccessException{}
	r := l.tail([]error{throttled, trimmed}, "tail", "--from-start", "--limit", "1")
	require.Equal(t, ExitOK, r.code, r.err)
	require.Contains(t, r.out, "  records lost TABLE: they were older than 24 hours\n")
	require.Equal(t, 2, strings.Count(r.out, "\n"), r.out)
	r = l.tail([]error{trimmed}, "--json", "tail", "--from-start", "--limit", "1")
	require.Equal(t, ExitOK, r.code, r.err)
	require.Contains(t, r.out, `{"change":"records lost","table":"TABLE","time":"`)
}

// Other errors end tail.
func TestTail_EndsWithAnErrorThatDoesNotPass(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	r := l.tail([]error{&smithy.GenericAPIError{Code: "AccessDeniedException"}}, "tail")
	require.Equal(t, ExitFailed, r.code)
	require.Contains(t, r.err, "read the stream of TABLE")
	require.Contains(t, r.err, "AccessDeniedException")
}

var stamp = regexp.MustCompile(`(?m)^\S+Z  `)

func TestTail_PrintsTypedChanges(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	r := l.run("tail", "--from-start", "--limit", "16")
	require.Equal(t, ExitOK, r.code, r.err)
	golden(t, "tail.txt", sorted(stamp.ReplaceAllString(r.out, "TIME  ")+"\n")) // the records of a transaction have no order
	r = l.run("--json", "tail", "--from-start", "--limit", "2", "Telemetry")
	require.Equal(t, 2, strings.Count(r.out, `"entity":"Telemetry"`), r.out+r.err)
}

// The limit counts the changes of all shards together.
func TestTail_LimitIsThatOfAllShards(t *testing.T) {
	t.Parallel()
	m, _ := fuzzModel(t)
	var b strings.Builder
	x := &tail{s: &session{m: m, app: App{Clock: time.Now}, out: newPrinter(&b, false, true)}, chosen: map[string]bool{}, left: 1}
	r := stream.Record{Operation: "INSERT", New: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "x"}, "sk": &types.AttributeValueMemberS{Value: "y"}}}
	for range 3 { // shards
		require.ErrorIs(t, x.print("app", []stream.Record{r, r}), errEnough)
	}
	require.Equal(t, 1, strings.Count(b.String(), "\n"))
}

// Only changes of items that have the values are printed, or of those that had them before; they are read as those of find.
func TestTail_Where(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	r := l.run("tail", "--from-start", "--limit", "1", "--where", "department=Sales", "--where", "version=3")
	require.Equal(t, ExitOK, r.code, r.err)
	golden(t, "tail-where.txt", sorted(stamp.ReplaceAllString(r.out, "TIME  ")+"\n"))
	for want, args := range map[string]string{
		"EDD-9197 command: none of the entities has an attribute departmen": "tail --where departmen=Sales",
		"none of the entities has an attribute department":                  "tail --where department=Sales Telemetry",
		"--where is given as attribute=value":                               "tail --where department",
		"--where is given without a value":                                  "tail --where department=",
	} {
		r := l.run(strings.Fields(args)...)
		require.Equal(t, ExitUsage, r.code, r.err)
		require.Contains(t, r.err, want)
	}

	m := modelOfFile(t, l.lock, "app")
	image := func(department, version string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "$app#v1#employee#e-1"}, "sk": &types.AttributeValueMemberS{Value: "$app#v1#employee"}, "__edd_e__": &types.AttributeValueMemberS{Value: "Employee"},
			"employeeId": &types.AttributeValueMemberS{Value: "e-1"}, "department": &types.AttributeValueMemberS{Value: department}, "version": &types.AttributeValueMemberN{Value: version},
		}
	}
	for args, want := range map[string]int{
		"department=Sales": 3, "department=R&D": 1, "department=Sales version=2": 2, "department=R&D version=2": 0, "version=2.0": 2, "version=x": 0, "employeeId=e-1": 4, "pk=$app#v1#employee#e-1": 0, "": 5,
	} {
		var b strings.Builder
		x := &tail{s: &session{m: m, app: App{Clock: time.Now}, out: newPrinter(&b, true, true)}, chosen: map[string]bool{}}
		for _, text := range strings.Fields(args) {
			name, value, _ := strings.Cut(text, "=")
			x.where = append(x.where, word{name, value})
		}
		require.NoError(t, x.print("app", []stream.Record{
			{Operation: "INSERT", New: image("Sales", "1")}, {Operation: "MODIFY", Old: image("R&D", "1"), New: image("Sales", "2")}, {Operation: "REMOVE", Old: image("Sales", "2")}, {Operation: "MODIFY", Old: image("Lab", "4"), New: image("Lab", "5")},
			{Operation: "INSERT", New: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "x"}, "sk": &types.AttributeValueMemberS{Value: "y"}}},
		}))
		require.Equal(t, want, strings.Count(b.String(), "\n"), args)
	}
}
