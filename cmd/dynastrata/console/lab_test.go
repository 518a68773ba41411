package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/schemalock"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

var update = flag.Bool("update", false, "write the golden files again")

// The models are those of examples/lifecycle and examples/telemetry, with a secret.

type Employee struct {
	_ entity.Key           `name:"Employee" pk:"$#{employeeId}" sk:"$" stream:"both"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenantId}" sk:"$#{department}#{employeeId}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`

	EmployeeID  string    `dynamodbav:"employeeId"`
	TenantID    string    `dynamodbav:"tenantId" entity:"immutable"`
	Department  string    `dynamodbav:"department"`
	Email       string    `dynamodbav:"email" entity:"secret"`
	DisplayName string    `dynamodbav:"displayName" entity:"required"`
	Salary      int       `dynamodbav:"salary,omitempty" entity:"secret"`
	Version     int64     `dynamodbav:"version" entity:"version"`
	CreatedAt   time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt   time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

type Telemetry struct {
	_ entity.Key        `name:"Telemetry" pk:"$#{channel}#{deviceId}" sk:"$"`
	_ entity.GSI        `name:"byAccount" index:"gsi1" pk:"$#{accountId}" sk:"$#{deviceId}"`
	_ timeseries.Events `orderBy:"timestamp" ttl:"7d" late:"record"`

	Channel   string    `dynamodbav:"channel"`
	DeviceID  string    `dynamodbav:"deviceId"`
	Timestamp time.Time `dynamodbav:"timestamp" entity:"time=s"`
	Location  *string   `dynamodbav:"location,omitempty" entity:"append"`
	AccountID string    `dynamodbav:"accountId,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
}

type Visits struct {
	Reports int64 `dynamodbav:"reports"`
}

// lab is a database with the items of a short story, at a fixed time.
type lab struct {
	t      *testing.T
	client *dynamodb.Client
	table  string
	now    time.Time
	ids    int
	prefix string // begins the ids of writes, which are tokens of transactions
	space  entity.Namespace
	db     *entity.DB
	lock   string                 // path
	before atomic.Pointer[func()] // called before each request, if set

	employees *entity.Store[Employee]
	telemetry *timeseries.Series[Telemetry]
	visits    *timeline.View[string, Visits]
}

// hooked is a client that calls a function before each request.
type hooked struct {
	dynamodb.HTTPClient
	before *atomic.Pointer[func()]
}

func (h hooked) Do(r *http.Request) (*http.Response, error) {
	if f := h.before.Load(); f != nil {
		(*f)()
	}
	return h.HTTPClient.Do(r)
}

var noon = time.Date(2026, 4, 22, 12, 0, 0, 0, time.UTC)

// secrets must be in no output.
var secrets = []string{"alice@example.com", "bob@example.com", "a.baker@example.com", "77123"}

// declare declares the entities on a client, nil for none.
func (l *lab) declare(client entity.Client, table string) {
	l.t.Helper()
	require.NoError(l.t, l.open(client, table))
}

func (l *lab) open(client entity.Client, table string) error {
	db, err := entity.Open(client, entity.Config{
		Table: table, Namespace: l.space, TimePrecision: time.Second, Clock: func() time.Time { return l.now },
		NewID: func() string { l.ids++; return fmt.Sprintf("%s-%02d", l.prefix, l.ids) },
	})
	if err != nil {
		return err
	}
	l.db = db
	if l.employees, err = entity.New[Employee](db); err != nil {
		return err
	}
	if l.telemetry, err = timeseries.New[Telemetry](db); err != nil {
		return err
	}
	l.visits, err = timeline.New(db, timeline.Projection[string, Visits]{
		Name: "visits", Version: 1, Retention: 24 * time.Hour, Source: timeline.Series(l.telemetry), Start: func() Visits { return Visits{} },
		Handlers: []timeline.Handler[string, Visits]{timeline.On("telemetry.appended", func(x Telemetry) string { return x.DeviceID },
			func(v *Visits, _ timeline.Event[Telemetry]) error { v.Reports++; return nil })},
	})
	return err
}

// newLab returns a lab with its tables. Without a database the test is skipped.
func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, now: noon, prefix: rand.Text()[:5]}
	l.client, l.table = localdb.Test(t, func(o *dynamodb.Options) { o.HTTPClient = hooked{o.HTTPClient, &l.before} })
	l.declare(l.client, l.table)
	require.NoError(t, tables.Create(t.Context(), l.db))
	l.lock = filepath.Join(t.TempDir(), "dynastrata.lock")
	require.NoError(t, os.WriteFile(l.lock, []byte(schemalock.Of(l.db).String()), 0o600))
	return l
}

// story writes the items.
func (l *lab) story() {
	ctx, t := l.t.Context(), l.t
	e := entity.Fields[Employee]()
	alice := entity.Must(l.employees.Create(ctx, Employee{EmployeeID: "e-1", TenantID: "t-1", Department: "R&D", Email: "alice@example.com", DisplayName: "Alice", Salary: 77123}))
	l.now = l.now.Add(time.Hour)
	alice = entity.Must(l.employees.Update(ctx, alice, entity.Set(&e.DisplayName, "Alice Baker"), entity.Set(&e.Email, "a.baker@example.com")))
	l.now = l.now.Add(time.Hour)
	entity.Must(l.employees.Update(ctx, alice, entity.Set(&e.Department, "Sales")))
	bob := entity.Must(l.employees.Create(ctx, Employee{EmployeeID: "e-2", TenantID: "t-1", Department: "R&D", Email: "bob@example.com", DisplayName: "Bob"}))
	l.now = l.now.Add(time.Hour)
	err := l.employees.Delete(ctx, bob)
	require.NoError(t, err)
	for i := range 3 {
		dock := fmt.Sprintf("dock %d", i+1)
		entity.Must(l.telemetry.Append(ctx, Telemetry{Channel: "c-1", DeviceID: "d-7", Timestamp: noon.Add(time.Duration(i) * time.Minute), Location: &dock}))
	}
	f := entity.Fields[Telemetry]()
	entity.Must(l.telemetry.Update(ctx, Telemetry{Channel: "c-1", DeviceID: "d-7"}, entity.Set(&f.AccountID, "acct-1")))
}

// result is what a run of the command gave.
type result struct {
	code     int
	out, err string
}

// run runs the command with the lock of the lab.
func (l *lab) run(args ...string) result {
	flags := []string{"--lock", l.lock}
	if !slices.Contains(args, "--table") {
		flags = append(flags, "--table", l.table)
	}
	return l.start(l.t.Context(), App{Clock: func() time.Time { return l.now }}, "", append(flags, args...)...)
}

// embedded runs the command as a program does.
func (l *lab) embedded(input string, args ...string) result {
	return l.start(l.t.Context(), l.app(), input, append([]string{"--table", l.table}, args...)...)
}

// handles are those of the lab, and other read models.
func (l *lab) handles() any {
	return &struct {
		Employees *entity.Store[Employee]
		Inner     struct {
			ByTenant  *entity.Index[Employee] // of an entity that is there already
			Telemetry *timeseries.Series[Telemetry]
		}
		Visits *timeline.View[string, Visits]
		None   *timeline.View[string, Visits]
	}{
		Employees: l.employees, Visits: l.visits, Inner: struct {
			ByTenant  *entity.Index[Employee]
			Telemetry *timeseries.Series[Telemetry]
		}{entity.Must(l.employees.Index("byTenant")), l.telemetry},
	}
}

func (l *lab) app() App {
	return App{Clock: func() time.Time { return l.now }, Open: func(context.Context, Connection) (Program, error) {
		return Program{DB: l.db, Handles: l.handles()}, nil
	}}
}

func (l *lab) start(ctx context.Context, app App, input string, args ...string) result {
	l.t.Helper()
	var out, errs bytes.Buffer
	app.Client, app.salt = l.client, []byte("salt")
	code := Run(ctx, app, Streams{In: strings.NewReader(input), Out: &out, Err: &errs}, args)
	r := result{code, l.named(out.String()), l.named(errs.String())}
	for _, secret := range secrets {
		require.NotContains(l.t, r.out+r.err, secret, "%q printed a secret", args)
	}
	return r
}

// named replaces what differs between runs.
func (l *lab) named(text string) string {
	return strings.NewReplacer(l.table, "TABLE", l.lock, "LOCK", l.prefix+"-", "write-").Replace(text)
}

// golden compares text with a file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "%s; go test -update rewrites it", path)
}

// listen returns a listener on a free port of this machine.
func listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// modelOfFile returns the model of a lock file whose default table has a name.
func modelOfFile(t *testing.T, path, table string) *model {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	l, err := schemalock.Parse(text)
	require.NoError(t, err)
	m, err := modelOf(l, func(string) string { return table })
	require.NoError(t, err)
	return m
}
