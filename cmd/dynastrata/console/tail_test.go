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
