package timeline

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/md5" // the checksum that exports have
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/item/packed"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/timeline/internal/spool"
)

// Export makes [View.Rebuild] read the sources from exports of their tables to S3 instead of scanning the tables, so that a
// build consumes no read units for them. Each argument is the folder of one full export in the format DYNAMODB_JSON: it has
// the file manifest-summary.json. Exports of all tables of the sources are needed, in any order; feeds are read as always.
//
// The rows are those of a build at the time of the earliest export: later events wait for [View.CatchUp], which scans. If the
// served rows contain later events, the build catches up with them before it replaces them, which costs a scan; so the
// sources must then record accept times. [Resume] continues a build from the same exports only.
//
// The items are sorted in temporary files of about the size of the history. Errors: *[ExportError] for an export that is
// incomplete, damaged, of another kind, or not of a source's table.
func Export(exports ...fs.FS) BuildOption {
	return func(o *buildOptions) {
		if len(exports) == 0 || slices.Contains(exports, nil) {
			o.err = badOption("Export needs a folder for each table")
		}
		o.exports = exports
	}
}

// ExportError reports an export of a table that cannot be read.
type ExportError struct {
	Export  string // its ARN, or "" if that could not be read
	File    string // within the export, "" if the mistake is not in one
	Problem string // what is wrong, as a phrase that quotes no value
	Err     error  // cause, or nil
}

func (e *ExportError) Error() string {
	text := "export"
	for _, part := range []string{e.Export, e.File} {
		if part != "" {
			text += " " + part
		}
	}
	if text += ": " + e.Problem; e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *ExportError) Unwrap() error { return e.Err }

// Names of an export's files.
const (
	summaryFile = "manifest-summary.json"
	filesFile   = "manifest-files.json"
)

// summary is the content of manifest-summary.json that a build needs.
type summary struct {
	ExportArn    string    `json:"exportArn"`
	TableArn     string    `json:"tableArn"`
	ExportTime   time.Time `json:"exportTime"`
	ItemCount    int64     `json:"itemCount"`
	OutputFormat string    `json:"outputFormat"`
	ExportType   string    `json:"exportType"` // absent in exports from before there were incremental ones
}

// dataFile is a line of manifest-files.json.
type dataFile struct {
	ItemCount int64  `json:"itemCount"`
	MD5       string `json:"md5Checksum"`
	Key       string `json:"dataFileS3Key"`
}

// name returns the place of the file in its export.
func (f dataFile) name() string { return path.Join("data", path.Base(f.Key)) }

// tableExport is an export whose manifests have been read.
type tableExport struct {
	fsys  fs.FS
	about summary
	files []dataFile
}

// is reports whether the export is of a table, by its name or its ARN.
func (x *tableExport) is(table string) bool { return table == x.table() || table == x.about.TableArn }

// problem returns an error about the export or one of its files.
func (x *tableExport) problem(file string, err error, format string, args ...any) error {
	return &ExportError{Export: x.about.ExportArn, File: file, Problem: fmt.Sprintf(format, args...), Err: err}
}

// table returns the name of the exported table.
func (x *tableExport) table() string {
	_, name, _ := strings.Cut(x.about.TableArn, ":table/")
	return name
}

// openExport reads the manifests of an export.
func openExport(fsys fs.FS) (*tableExport, error) {
	x := &tableExport{fsys: fsys}
	text, err := x.manifest(summaryFile)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &x.about); err != nil {
		return nil, x.problem(summaryFile, err, "it is malformed")
	}
	switch a := x.about; {
	case a.ExportArn == "" || x.table() == "" || a.ExportTime.IsZero():
		return nil, x.problem(summaryFile, nil, "it lacks exportArn, tableArn or exportTime")
	case a.OutputFormat != string(types.ExportFormatDynamodbJson):
		return nil, x.problem(summaryFile, nil, "the format is %q; %s is needed", a.OutputFormat, types.ExportFormatDynamodbJson)
	case a.ExportType != "" && a.ExportType != string(types.ExportTypeFullExport):
		return nil, x.problem(summaryFile, nil, "the export is of type %q; %s is needed", a.ExportType, types.ExportTypeFullExport)
	}
	if text, err = x.manifest(filesFile); err != nil {
		return nil, err
	}
	names, items := map[string]bool{}, int64(0)
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var f dataFile
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			return nil, x.problem(filesFile, err, "it is malformed")
		}
		if f.Key == "" || f.MD5 == "" || names[f.name()] {
			return nil, x.problem(filesFile, nil, "a file has no name, no checksum, or the name of another")
		}
		names[f.name()] = true
		items += f.ItemCount
		x.files = append(x.files, f)
	}
	if items != x.about.ItemCount {
		return nil, x.problem(filesFile, nil, "its files have %d items, but the export %d", items, x.about.ItemCount)
	}
	return x, nil
}

// manifest reads a manifest, and compares it with its checksum if that is there: in a file of the same name with another
// extension.
func (x *tableExport) manifest(name string) ([]byte, error) {
	text, err := fs.ReadFile(x.fsys, name)
	if err != nil {
		return nil, x.problem(name, err, "it cannot be read")
	}
	for _, extension := range []string{".md5", ".checksum"} {
		file := strings.TrimSuffix(name, ".json") + extension
		sum, err := fs.ReadFile(x.fsys, file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, x.problem(file, err, "it cannot be read")
		default:
			h := md5.New()
			h.Write(text)
			if checksum(h) != strings.TrimSpace(string(sum)) {
				return nil, x.problem(name, nil, "it does not have its checksum")
			}
		}
	}
	return text, nil
}

// checksum returns a checksum as exports have it.
func checksum(h hash.Hash) string { return base64.StdEncoding.EncodeToString(h.Sum(nil)) }

// read calls take with each item of a file. The file is complete and as it was exported if read returns no error.
func (x *tableExport) read(ctx context.Context, f dataFile, take func(item.Item) error) (err error) {
	name := f.name()
	file, err := x.fsys.Open(name)
	if err != nil {
		return x.problem(name, err, "it cannot be opened")
	}
	defer func() { err = joinClose(err, file.Close()) }()
	h := md5.New()
	raw := bufio.NewReaderSize(io.TeeReader(file, h), 1<<16)
	text, err := gzip.NewReader(raw)
	if err != nil {
		return x.problem(name, err, "it cannot be decompressed")
	}
	lines := json.NewDecoder(text)
	for n := int64(0); ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		var line struct{ Item json.RawMessage }
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			if n != f.ItemCount {
				return x.problem(name, nil, "it has %d items, but its manifest says %d", n, f.ItemCount)
			}
			break
		}
		if err != nil {
			return x.problem(name, err, "line %d cannot be read", n+1)
		}
		it, err := attributevalue.UnmarshalMapJSON(line.Item)
		if err != nil || len(it) == 0 || !typed(&types.AttributeValueMemberM{Value: it}) {
			return x.problem(name, nil, "line %d is not an item", n+1) // err may quote a value
		}
		if err := take(it); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return x.problem(name, err, "it cannot be read")
	}
	if checksum(h) != f.MD5 {
		return x.problem(name, nil, "it does not have its checksum")
	}
	return nil
}

// typed reports whether a value and those in it have types of DynamoDB.
func typed(av types.AttributeValue) bool {
	switch v := av.(type) {
	case nil, *types.UnknownUnionMember:
		return false
	case *types.AttributeValueMemberL:
		return !slices.ContainsFunc(v.Value, func(e types.AttributeValue) bool { return !typed(e) })
	case *types.AttributeValueMemberM:
		for _, e := range v.Value {
			if !typed(e) {
				return false
			}
		}
	}
	return true
}

// exportSet are the exports of a build: one for each table of its sources.
type exportSet struct {
	byTable map[string]*tableExport // by the name or ARN that the sources have
	ids     []string                // ARNs, sorted
	at      time.Time               // of the earliest export
	items   int64
}

// openExports reads the manifests of a build's exports; nil if it has none.
func (b *builder) openExports() (*exportSet, error) {
	if b.exports == nil {
		return nil, nil
	}
	s, all := &exportSet{byTable: map[string]*tableExport{}}, []*tableExport{}
	for _, fsys := range b.exports {
		x, err := openExport(fsys)
		if err != nil {
			return nil, b.withView(err)
		}
		if slices.ContainsFunc(all, func(y *tableExport) bool { return y.about.TableArn == x.about.TableArn }) {
			return nil, b.withView(x.problem("", nil, "there is another export of table %s", x.table()))
		}
		all = append(all, x)
		s.ids = append(s.ids, x.about.ExportArn)
		s.items += x.about.ItemCount
		if s.at.IsZero() || x.about.ExportTime.Before(s.at) {
			s.at = x.about.ExportTime.UTC()
		}
	}
	slices.Sort(s.ids)
	used := map[*tableExport]bool{}
	for _, o := range b.all {
		if o.core == nil {
			continue
		}
		table := o.core.Table
		for _, x := range all {
			switch {
			case !x.is(table):
			case s.byTable[table] != nil && s.byTable[table] != x:
				return nil, b.withView(x.problem("", nil, "there is another export of a table %s", table))
			default:
				s.byTable[table], used[x] = x, true
			}
		}
		if s.byTable[table] == nil {
			return nil, b.withView(&ExportError{Problem: "there is no export of table " + table})
		}
	}
	for _, x := range all {
		if !used[x] {
			return nil, b.withView(x.problem("", nil, "no source reads table %s", x.table()))
		}
	}
	return s, nil
}

// exportOf returns what the builder reads instead of a source's table; nil: nothing.
func (b *builder) exportOf(o *origin) *tableExport {
	if b.read == nil || o.core == nil {
		return nil
	}
	return b.read.byTable[o.core.Table]
}

// partsOf returns in how many parts a source is read if tables are read in n: the files of an export, if each item is an
// event.
func (b *builder) partsOf(o *origin, n int) int {
	x := b.exportOf(o)
	switch {
	case x != nil && o.kind != "versions":
		return max(len(x.files), 1)
	case x != nil || o.feed != nil:
		return 1
	}
	return n
}

// readExportPart reads a part of an export: a file whose items are events, or all of it.
func (b *builder) readExportPart(ctx context.Context, o *origin, x *tableExport, part JobPart, now time.Time, to recordSink) error {
	if o.kind == "versions" {
		return b.readExport(ctx, o, x, now, to)
	}
	if len(x.files) == 0 {
		return nil
	}
	wanted := o.scanFilter(now)
	p := &partitions{o: o, to: to, events: o.assemble()}
	f := x.files[part.Segment]
	err := x.read(ctx, f, func(it item.Item) error {
		if !wanted.Holds(it) {
			return nil
		}
		if _, err := o.itemOrder(it); err != nil {
			return x.problem(f.name(), err, "an item has no primary key")
		}
		return p.push(it)
	})
	if err != nil {
		return err
	}
	to.page(int(f.ItemCount))
	return p.end()
}

// route names how a build from the exports reads its history, so that only a build from the same ones resumes it.
func (s *exportSet) route() string { return "exports " + strings.Join(s.ids, " ") }

// readExport reads a source from an export. The items are not in order, so it sorts them by key first.
func (b *builder) readExport(ctx context.Context, o *origin, x *tableExport, now time.Time, to recordSink) (err error) {
	wanted := o.scanFilter(now)
	sorted := spool.New(max(b.Memory/2, minMemory), b.TempDir)
	defer func() { err = joinClose(err, sorted.Close()) }()
	if err := b.spoolExport(ctx, x, o, wanted, sorted, to.page); err != nil {
		return err
	}
	p := &partitions{o: o, to: to, events: o.assemble()}
	for e, err := range sorted.Sorted() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		it, _, err := packed.Parse(e.Value)
		if err != nil {
			return err
		}
		if err := p.push(it); err != nil {
			return err
		}
	}
	return p.end()
}

// spoolExport adds the wanted items of an export to s, several files at a time. count is called with the numbers of items
// that were read.
func (b *builder) spoolExport(ctx context.Context, x *tableExport, o *origin, wanted expr.Cond, s *spool.Spool, count func(int)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	errs := make([]error, len(x.files))
	engine.Parallel(len(x.files), b.segments, func(i int) {
		if errs[i] = ctx.Err(); errs[i] != nil {
			return
		}
		read := 0
		errs[i] = x.read(ctx, x.files[i], func(it item.Item) error {
			if read++; read%itemsPerReport == 0 {
				count(itemsPerReport)
			}
			if !wanted.Holds(it) {
				return nil
			}
			key, err := o.itemOrder(it)
			if err != nil {
				return x.problem(x.files[i].name(), err, "an item has no primary key")
			}
			value := item.AppendBinary(nil, it)
			mu.Lock()
			defer mu.Unlock()
			return s.Add(key, value)
		})
		if count(read % itemsPerReport); errs[i] != nil {
			stop()
		}
	})
	return decisiveError(errs)
}

// itemsPerReport is the number of items of an export that are read between two reports of progress.
const itemsPerReport = 1000

// itemOrder returns a text by which items sort partition by partition, and in a partition by their sort key if that is a
// text. If it is not, each item is an event of its own, and their order does not matter.
func (o *origin) itemOrder(it item.Item) ([]byte, error) {
	s := o.core.Schema
	pk := s.PK.Attribute()
	if it[pk] == nil || s.SK != nil && it[s.SK.Attribute()] == nil {
		return nil, errNoKey
	}
	text := []byte(layout.KeyID(item.Item{pk: it[pk]}) + separator)
	if s.SK == nil {
		return text, nil
	}
	if v, ok := it[s.SK.Attribute()].(*types.AttributeValueMemberS); ok {
		return append(text, v.Value...), nil
	}
	return append(text, layout.KeyID(item.Item{s.SK.Attribute(): it[s.SK.Attribute()]})...), nil
}

var errNoKey = errors.New("a key attribute is missing")
