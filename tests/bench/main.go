// Command bench measures what the library costs, compared with the SDK used by hand and with github.com/guregu/dynamo: CPU time and
// allocations without a network, requests and capacity units on a local database, and how they grow with a history.
//
//	go -C tests/bench run . [-parts cpu,requests,growth] [-rows regexp] [-rounds 20] [-markdown docs/performance.md]
//
// docs/performance.md explains the tables and keeps the last ones.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/localdb"
)

// settings are the flags.
type settings struct {
	parts    string
	rows     *regexp.Regexp
	rounds   int
	length   time.Duration
	events   int
	markdown string
	save     string
}

func main() {
	var s settings
	var rows string
	flag.StringVar(&s.parts, "parts", "cpu,requests,growth", "what to measure: cpu, requests, growth, size (of programs; takes minutes)")
	flag.StringVar(&rows, "rows", "", "only the operations whose name matches this regular expression")
	flag.IntVar(&s.rounds, "rounds", 20, "rounds of cpu; more give a smaller spread")
	flag.DurationVar(&s.length, "length", 40*time.Millisecond, "CPU time of one operation in one round")
	flag.IntVar(&s.events, "events", 10_000, "the longest history of growth")
	flag.StringVar(&s.markdown, "markdown", "", "write the tables into this document, too")
	flag.StringVar(&s.save, "save", "", "write the numbers into this file, for the test of allocations: before.json")
	flag.Parse()
	var err error
	if s.rows, err = regexp.Compile(rows); err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		err = run(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures the parts and prints a table for each.
func run(ctx context.Context, s settings) error {
	fmt.Println(versions())
	saved := record{Operations: map[string]ratio{}, New: map[string]ratio{}, Requests: map[string]string{}}
	for _, part := range strings.Split(s.parts, ",") {
		var tables []table
		var err error
		switch part {
		case "cpu":
			tables, err = cpuTables(ctx, s, &saved)
		case "requests":
			tables, err = requestTables(ctx, s, &saved)
		case "growth":
			tables, err = growthTables(ctx, s)
		case "size":
			tables, err = sizeTables(ctx)
		default:
			err = fmt.Errorf("unknown part %q", part)
		}
		if err != nil {
			return err
		}
		for _, t := range tables {
			if err := t.print(os.Stdout); err != nil {
				return err
			}
			if s.markdown != "" {
				if err := t.replaceIn(s.markdown); err != nil {
					return err
				}
			}
		}
	}
	if s.save != "" {
		return saved.save(s.save)
	}
	return nil
}

// progress shows what is being done, where a terminal replaces it.
func progress(text string) { fmt.Fprintf(os.Stderr, "\r%-40s\r", text) }

// versions describes what is measured, and where.
func versions() string {
	text := fmt.Sprintf("%s %s/%s, %d CPUs", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			switch m.Path {
			case "github.com/aws/aws-sdk-go-v2/service/dynamodb", "github.com/guregu/dynamo/v2":
				text += ", " + strings.TrimPrefix(m.Path, "github.com/") + " " + m.Version
			}
		}
	}
	return text + "\n"
}

func cpuTables(ctx context.Context, s settings, saved *record) ([]table, error) {
	c := &canned{}
	results, err := measure(ctx, c, allTimed(c, s.rows), s.rounds, s.length, progress)
	if err != nil {
		return nil, err
	}
	t := table{name: "operations", head: []string{"operation", "raw SDK: µs / allocations", "guregu", "(a), (b)", "(c)"}}
	for _, m := range results {
		cells := []string{m.name, number(m.series[withRaw].cpu()/1000) + "/" + number(m.series[withRaw].allocs())}
		for _, lib := range []library{withGuregu, withOurs, withOursSeeing} {
			middle, low, high := m.ratio(lib)
			allocs := m.series[lib].allocs() / m.series[lib.base()].allocs()
			cells = append(cells, fmt.Sprintf("%s/%.2f", ratioText(middle, low, high), allocs))
			if lib == withOurs {
				saved.Operations[m.name] = ratio{middle, allocs}
			}
		}
		t.rows = append(t.rows, cells)
	}
	made, err := declare(s.rounds)
	if err != nil {
		return nil, err
	}
	news := table{name: "new", head: []string{"declaration", "CPU µs", "allocations"}}
	for _, d := range declarations {
		got := made[d.name]
		saved.New[d.name] = got
		news.rows = append(news.rows, []string{d.name, number(got.CPU), number(got.Allocs)})
	}
	return []table{t, news}, nil
}

func requestTables(ctx context.Context, s settings, saved *record) (ts []table, err error) {
	t := table{name: "requests", head: []string{"verb", "by hand", "guregu", "dynastrata"}}
	err = onDatabase(ctx, func(db *database, m *meter) error {
		m.units = true
		all := chosen(rows(db.client, db.tables), s.rows)
		counts, err := countRows(ctx, db, m, all)
		if err != nil {
			return err
		}
		for _, r := range all {
			c := counts[r.name]
			saved.Requests[r.name] = c[withOurs].String()
			if c[withOurs] != c[withRaw] || c[withGuregu] != c[withRaw] {
				t.rows = append(t.rows, []string{r.name, c[withRaw].String(), c[withGuregu].String(), c[withOurs].String()})
			}
		}
		var some []verb
		for _, v := range verbs(db.client, db.tables) {
			if s.rows.MatchString(v.name) {
				some = append(some, v)
			}
		}
		sums, err := countVerbs(ctx, db, m, some)
		for _, v := range some {
			saved.Requests[v.name] = sums[v.name].String()
			t.rows = append(t.rows, []string{v.name, v.byHand, "–", sums[v.name].String()})
		}
		return err
	})
	return []table{t}, err
}

func growthTables(ctx context.Context, s settings) ([]table, error) {
	var t table
	err := onDatabase(ctx, func(db *database, m *meter) (err error) {
		var sizes []int
		for n := 10; n <= s.events; n *= 10 {
			sizes = append(sizes, n)
		}
		t, err = grow(ctx, db, m, sizes, progress)
		return err
	})
	return []table{t}, err
}

// onDatabase runs f with tables of its own on a local database.
func onDatabase(ctx context.Context, f func(*database, *meter) error) (err error) {
	server, err := localdb.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	m := &meter{next: server.Client().Options().HTTPClient}
	client := server.Client(func(o *dynamodb.Options) { o.HTTPClient = m })
	db, err := openDatabase(ctx, client, "bench-"+strings.ToLower(rand.Text()[:8]))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.drop(context.WithoutCancel(ctx))) }()
	return f(db, m)
}

func chosen(all []row, names *regexp.Regexp) []row {
	var some []row
	for _, r := range all {
		if names.MatchString(r.name) {
			some = append(some, r)
		}
	}
	return some
}
