package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go/logging"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tables/schemalock"
)

// App is a program that embeds the command.
type App struct {
	// Open opens the program's database on the connection that the flags name, and declares every store. It does no I/O. Without it
	// the command knows only the schema lock, and reads only.
	Open func(ctx context.Context, c Connection) (Program, error)

	// Context returns a context with who writes, and why, of the flags --actor and --reason, for Config.FromContext of the program: what its
	// own requests do before they write. Without it the command takes no such flags, and cannot write entities that require them.
	Context func(ctx context.Context, by By) context.Context

	Clock func() time.Time // by which items expire; default time.Now

	// Client is used instead of a connection that the flags name. Its options are also those of the streams.
	Client *dynamodb.Client

	// Vet runs the command vet on packages. The binary sets it; without it there is no such command.
	Vet func(ctx context.Context, patterns ...string) ([]Mistake, error)

	name    string                                     // of the program, for the shell; "" for dynastrata
	streams stream.Client                              // of a test
	salt    []byte                                     // of the pseudonyms of a test
	wait    func(context.Context, time.Duration) error // of a test
}

// A Connection holds the flags --endpoint, --region and --table.
type Connection struct {
	Client *dynamodb.Client
	Table  string // of --table, "" if it is not given
}

// A Program is opened by Open of an [App].
type Program struct {
	DB *entity.DB // with every store declared
	// Handles is what entity.Bind returned, or another pointer to a struct of handles. The commands that write can work on its entities, and
	// rebuild and catchup on its views. What is declared in DB alone can be read.
	Handles any
}

// Main runs the command with the arguments of the process, and exits with one of the codes in docs/command.md. A program of which it
// is a subcommand gives the words before its arguments: Main(app, "table") runs "shop table show Employee", and returns, having done
// nothing, if the arguments do not begin with these words. An interrupt ends the command after the request that is under way, and a
// second one at once.
func Main(app App, subcommand ...string) {
	args := os.Args[min(1, len(os.Args)):]
	if len(args) < len(subcommand) || !slices.Equal(args[:len(subcommand)], subcommand) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	app.name = strings.Join(append([]string{filepath.Base(os.Args[0])}, subcommand...), " ")
	os.Exit(Run(ctx, app, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, args[len(subcommand):]))
}

// Streams are the input and output of a command. Colours and progress bars need an *os.File that is a terminal.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs the command with arguments, without the name of the program, and returns the exit code. Its cost is that of the command.
func Run(ctx context.Context, app App, std Streams, args []string) int {
	if app.Clock == nil {
		app.Clock = time.Now
	}
	if app.wait == nil {
		app.wait = engine.Sleep
	}
	s := &session{app: app, std: std, out: newPrinter(std.Out, false, false), err: newPrinter(std.Err, false, false)}
	root := s.root()
	root.Writer, root.ErrWriter, root.Reader = std.Out, std.Err, std.In
	root.ExitErrHandler = func(context.Context, *cli.Command, error) {}
	err := root.Run(ctx, append([]string{root.Name}, args...))
	if err == nil {
		err = s.out.failed
	}
	if closed := s.close(); err == nil {
		err = closed
	}
	code := exitCode(err)
	if code == ExitUsage && s.wrote != "" {
		code = ExitFailed
	}
	var usage *usageError
	if errors.As(err, &usage) {
		s.help(usage.of)
	}
	switch {
	case code == ExitInterrupted:
		s.err.line("interrupted")
	case err != nil && !errors.Is(err, errFindings):
		s.err.write(s.err.alarm("dynastrata:") + " " + printable(err.Error(), false) + "\n") // whole, however wide
	}
	if s.wrote != "" && err != nil {
		s.err.write(s.wrote + "\n") // whole, however wide
	}
	switch {
	case s.resume != "" && (code == ExitInterrupted || s.unfinished && err != nil):
		s.err.write("go on with: " + printable(s.resume, false) + "\n")
	case code == ExitInterrupted:
		s.err.line("nothing was written")
	}
	return code
}

// session is one run of the command.
type session struct {
	app      App
	std      Streams
	out, err *printer
	resume   string // the command line that goes on after an interrupt
	wrote    string // what was written, if not all that was asked for may be

	unfinished bool // whether resume is the way out of any failure

	opened  bool
	m       *model
	db      *entity.DB // nil without a program
	stores  []store
	views   []view
	client  *dynamodb.Client
	streams stream.Client
	server  *localdb.Server
}

func (s *session) close() error {
	if s.server == nil {
		return nil
	}
	return s.server.Close()
}

// flags lists the flags of every command.
func (s *session) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "lock", Value: "dynastrata.lock", Usage: "schema lock of the program", Sources: cli.EnvVars("DYNASTRATA_LOCK")},
		&cli.StringSliceFlag{Name: "table", Usage: "physical name of the default table, or logical=physical"},
		&cli.StringFlag{Name: "endpoint", Usage: "URL of the database, or local to start one", Sources: cli.EnvVars("DYNAMODB_ENDPOINT")},
		&cli.StringFlag{Name: "region", Usage: "AWS region; by default that of the AWS configuration"},
		&cli.BoolFlag{Name: "json", Usage: "write JSON, one object a line"},
		&cli.BoolFlag{Name: "no-color", Usage: "no colours, as with NO_COLOR=1"},
		&cli.BoolFlag{Name: "yes", Usage: "write without asking"},
		&cli.StringFlag{Name: "actor", Usage: "who writes, for entities that store it"},
		&cli.StringFlag{Name: "reason", Usage: "why, for entities that store it"},
	}
}

// printers sets up the output as the flags say.
func (s *session) printers(c *cli.Command) {
	s.out = newPrinter(s.std.Out, c.Bool("json"), c.Bool("no-color"))
	s.err = newPrinter(s.std.Err, false, c.Bool("no-color"))
	s.err.clock = s.app.Clock
}

// tableNames returns the physical names of --table, by logical name; "" is the default table.
func tableNames(c *cli.Command) (map[string]string, error) {
	names := map[string]string{}
	for _, text := range c.StringSlice("table") {
		logical, physical, mapped := strings.Cut(text, "=")
		if !mapped {
			logical, physical = "", text
		}
		if _, twice := names[logical]; twice {
			what := "the default table"
			if logical != "" {
				what = item.Text(logical)
			}
			return nil, &usageError{c, fmt.Errorf("--table names %s twice", what)}
		}
		names[logical] = physical
	}
	return names, nil
}

// open learns the entities: from the program, or from the schema lock.
func (s *session) open(ctx context.Context, c *cli.Command) error {
	if s.opened {
		return nil
	}
	s.opened = true
	names, err := tableNames(c)
	if err != nil {
		return err
	}
	if s.app.Open != nil {
		if err := s.connect(ctx, c); err != nil {
			return err
		}
		program, err := s.app.Open(ctx, Connection{s.client, names[""]})
		if err != nil {
			return err
		}
		return s.learn(program)
	}
	path := c.String("lock")
	text, err := os.ReadFile(path)
	if err != nil {
		return invalid(bind.CodeConsoleLock, "the schema lock cannot be read: %v", err)
	}
	l, err := schemalock.Parse(text)
	if err != nil {
		return invalid(bind.CodeConsoleLock, "%s: %v", path, err)
	}
	s.m, err = modelOf(l, func(logical string) string {
		if name, ok := names[logical]; ok {
			return name
		}
		return logical
	})
	if err == nil && s.m.blind {
		s.err.line("%s is of format 1, which does not say what is secret: values are hidden; write it again with %s=1 go test", path, schemalock.UpdateVariable)
	}
	return err
}

// learn takes the entities of a program.
func (s *session) learn(program Program) (err error) {
	if program.DB == nil {
		return invalid(bind.CodeConsoleProgram, "App.Open returned no DB")
	}
	s.db = program.DB
	if s.stores, s.views, err = handlesOf(program.Handles); err != nil {
		return err
	}
	s.m, err = modelOfDB(program.DB)
	return err
}

// database learns the entities and connects.
func (s *session) database(ctx context.Context, c *cli.Command) error {
	if err := s.open(ctx, c); err != nil {
		return err
	}
	for _, e := range s.m.entities {
		if e.table == "" {
			return invalid(bind.CodeConsoleProgram, "the lock does not know the name of the default table: give --table NAME")
		}
	}
	return s.connect(ctx, c)
}

// connect makes the clients, once.
func (s *session) connect(ctx context.Context, c *cli.Command) error {
	if s.client != nil {
		return nil
	}
	if s.app.Client != nil {
		s.use(s.app.Client)
		return nil
	}
	endpoint := c.String("endpoint")
	if endpoint == "local" {
		server, err := localdb.Shared(ctx)
		if err != nil {
			return err
		}
		s.server = server
		s.use(server.Client()) // with the credentials of every program that uses it
		return nil
	}
	var options []func(*config.LoadOptions) error
	if region := c.String("region"); region != "" {
		options = append(options, config.WithRegion(region))
	}
	if strings.HasPrefix(endpoint, "http://127.0.0.1") || strings.HasPrefix(endpoint, "http://localhost") {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("localdb", "localdb", "")))
		if c.String("region") == "" {
			options = append(options, config.WithRegion("us-east-1"))
		}
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return fmt.Errorf("read the AWS configuration: %w", err)
	}
	cfg.Logger = logging.Nop{} // the output is the command's
	var base *string
	if endpoint != "" {
		base = aws.String(endpoint)
	}
	s.client = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.BaseEndpoint = base })
	s.streams = dynamodbstreams.NewFromConfig(cfg, func(o *dynamodbstreams.Options) { o.BaseEndpoint = base })
	return nil
}

// use makes a client the connection, and one of the streams from its options.
func (s *session) use(client *dynamodb.Client) {
	s.client, s.streams = client, s.app.streams
	if o := client.Options(); s.streams == nil {
		s.streams = dynamodbstreams.New(dynamodbstreams.Options{BaseEndpoint: o.BaseEndpoint, Region: o.Region, Credentials: o.Credentials, HTTPClient: o.HTTPClient})
	}
}

// confirm asks before something is written, unless --yes is given.
func (s *session) confirm(ctx context.Context, c *cli.Command, what string) error {
	if c.Bool("yes") {
		return nil
	}
	return s.ask(ctx, what)
}

// ask asks, and returns errDeclined without a yes.
func (s *session) ask(ctx context.Context, what string) error {
	s.err.write(printable(what, false) + " [y/N] ")
	answers := make(chan string, 1)
	go func() { // ends with the answer, or with the process
		var answer string
		_, _ = fmt.Fscanln(s.std.In, &answer)
		answers <- answer
	}()
	select {
	case <-ctx.Done():
		s.err.write("\n")
		return ctx.Err()
	case answer := <-answers:
		if strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes") {
			return nil
		}
		if answer == "" {
			s.err.write("\n")
		}
		return errDeclined
	}
}
