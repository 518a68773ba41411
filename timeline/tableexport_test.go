package timeline_test

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
)

// exported is an export of a table as DynamoDB writes it.
type exported struct {
	summary map[string]any
	lines   [][]string // of each data file
	files   fstest.MapFS
}

// export returns the table as DynamoDB exports it: in several files, and in no order within them.
func (l *lab) export(table string) *exported {
	l.T.Helper()
	x := &exported{lines: make([][]string, 3), summary: map[string]any{
		"version":      "2020-06-30",
		"exportArn":    "arn:aws:dynamodb:eu-north-1:123456789012:table/" + table + "/export/01693685827463-2d8752fd",
		"tableArn":     "arn:aws:dynamodb:eu-north-1:123456789012:table/" + table,
		"exportTime":   l.Clock.Now().UTC().Format(time.RFC3339Nano),
		"outputFormat": "DYNAMODB_JSON", "exportType": "FULL_EXPORT",
	}}
	seed := uint64(time.Now().UnixNano())
	l.T.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, it := range l.Items() {
		text, err := attributevalue.MarshalMapJSON(it)
		require.NoError(l.T, err)
		n := random.IntN(2) // the last file stays empty, as of a partition without items
		x.lines[n] = append(x.lines[n], fmt.Sprintf(`{"Item":%s}`, text))
	}
	for _, file := range x.lines {
		random.Shuffle(len(file), func(i, j int) { file[i], file[j] = file[j], file[i] })
	}
	x.write()
	return x
}

func md5Of(b []byte) string {
	sum := md5.Sum(b)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// write writes the files.
func (x *exported) write() {
	x.files = fstest.MapFS{"_started": {}}
	var manifest bytes.Buffer
	items := 0
	for i, lines := range x.lines {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		for _, line := range lines {
			_, _ = fmt.Fprintln(w, line)
		}
		_ = w.Close()
		name := fmt.Sprintf("data/%04d.json.gz", i)
		x.files[name] = &fstest.MapFile{Data: b.Bytes()}
		items += len(lines)
		fmt.Fprintf(&manifest, `{"itemCount":%d,"md5Checksum":%q,"etag":"e-1","dataFileS3Key":"some/prefix/AWSDynamoDB/01693685827463-2d8752fd/%s"}`+"\n", len(lines), md5Of(b.Bytes()), name)
	}
	x.summary["itemCount"] = items
	summary, _ := json.Marshal(x.summary)
	for name, text := range map[string][]byte{"manifest-files": manifest.Bytes(), "manifest-summary": summary} {
		x.files[name+".json"] = &fstest.MapFile{Data: text}
		x.files[name+".md5"] = &fstest.MapFile{Data: []byte(md5Of(text))}
	}
}

func (l *lab) tableName() string { return l.Config.Table }

// story appends readings, some of them late, and lets messages change, be deleted and restored.
func (l *lab) story() {
	l.T.Helper()
	l.fill(4, 1, 3, 2)
	for i := range 4 {
		id := fmt.Sprintf("m-%d", i)
		l.create(id, "one")
		l.update(id, "two")
		if i%2 == 0 {
			l.remove(id)
		}
		if i == 0 {
			_, err := l.bin.Restore(l.Ctx, message{ID: id})
			require.NoError(l.T, err)
		}
	}
}

func TestExport_RowsAreThoseOfAScan(t *testing.T) {
	t.Parallel()
	small := func(f *timeline.Projection[string, totals]) { f.Memory = 1 } // so that everything is sorted in files
	l := newLab(t)
	l.story()
	x := l.export(l.tableName())
	compare(l, view(l, l.sites()), x)
	compare(l, view(l, l.devices()), x)
	compare(l, view(l, l.histories()), x)
	compare(l, view(l, l.sites(small, func(f *timeline.Projection[string, totals]) { f.Name = "small" })), x)
}

// compare builds rows from an export, and from the table.
func compare[S any](l *lab, v *timeline.View[string, S], x *exported) {
	l.T.Helper()
	l.Wire.Reset()
	meta := rebuild(l, v, timeline.Export(x.files))
	require.Zero(l.T, l.Wire.Count("Scan"), "the table is not read")
	require.Equal(l.T, x.summary["exportTime"], meta.Through.Format(time.RFC3339Nano))
	require.True(l.T, meta.HistoryComplete)
	got := rows(l, v)
	require.NotEmpty(l.T, got)
	rebuild(l, v)
	require.Equal(l.T, rows(l, v), got)
}

func TestExport_LaterEventsWaitForACatchUp(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	x := l.export(l.tableName())
	l.append("d-1", "s-1", 2.5, 9)
	v := view(l, l.sites())
	rebuild(l, v, timeline.Export(x.files))
	before := rows(l, v)
	catchUp(l, v)
	after := rows(l, v)
	require.Equal(t, before["s-1"].Events+2, after["s-1"].Events)
	rebuild(l, v)
	require.Equal(t, rows(l, v), after)

	// The served rows have these events, so an old export does not take them away.
	rebuild(l, v, timeline.Export(x.files))
	require.Equal(t, after, rows(l, v))
}

func TestExport_IsResumedFromTheSameExportOnly(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	x := l.export(l.tableName())
	l.connect(once)
	v := view(l, l.sites())
	dropRows := func(r faults.Request) faults.Fault {
		if isRow(r) {
			return faults.Drop
		}
		return faults.None
	}
	l.Wire.Inject(dropRows)
	_, err := v.Rebuild(l.Ctx, timeline.Export(x.files))
	require.Error(t, err)
	l.Wire.Inject(nil)
	l.append("x", "x", 1)
	l.Clock.Move(time.Minute) // the lease ends
	meta := rebuild(l, v, timeline.Resume(), timeline.Export(x.files))
	require.Equal(t, x.summary["exportTime"], meta.Through.Format(time.RFC3339Nano))
	require.EqualValues(t, len(l.readingsIn(x)), meta.Counters.Folded)
	require.NotContains(t, rows(l, v), "x")

	// Another export begins again.
	v = view(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Name = "other" }))
	l.Wire.Inject(dropRows)
	_, err = v.Rebuild(l.Ctx, timeline.Export(x.files))
	require.Error(t, err)
	l.Wire.Inject(nil)
	l.Clock.Move(time.Minute)
	other := l.export(l.tableName())
	other.summary["exportArn"] = x.summary["exportArn"].(string) + "0"
	other.write()
	meta = rebuild(l, v, timeline.Resume(), timeline.Export(other.files))
	require.Equal(t, other.summary["exportTime"], meta.Through.Format(time.RFC3339Nano))
	require.Equal(t, 1, rows(l, v)["x"].State.Count)
}

// readingsIn returns the lines of an export that are readings of the projection sites.
func (l *lab) readingsIn(x *exported) (events []string) {
	for _, line := range slices.Concat(x.lines...) {
		if strings.Contains(line, `"_k":{"S":"e"}`) {
			events = append(events, line)
		}
	}
	return events
}

func TestExport_OfATableThatIsNotTheSourcesOne(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.sites())
	for name, c := range map[string]struct {
		exports []fs.FS
		problem string
	}{
		"another table": {[]fs.FS{l.export("other").files}, "there is no export of table"},
		"one too many":  {[]fs.FS{l.export(l.tableName()).files, l.export("other").files}, "no source reads table other"},
		"twice":         {[]fs.FS{l.export(l.tableName()).files, l.export(l.tableName()).files}, "there is another export"},
		"empty folder":  {[]fs.FS{fstest.MapFS{}}, "it cannot be read"},
	} {
		_, err := v.Rebuild(l.Ctx, timeline.Export(c.exports...))
		var wrong *timeline.ExportError
		require.ErrorAs(t, err, &wrong, name)
		require.Contains(t, wrong.Problem, c.problem, name)
	}
	for _, opt := range []timeline.BuildOption{timeline.Export(), timeline.Export(nil)} {
		_, err := v.Rebuild(l.Ctx, opt)
		require.Equal(t, "EDD-9133", dbtest.InputCode(err))
	}
	_, err := v.CatchUp(l.Ctx, timeline.Export(fstest.MapFS{}))
	require.Equal(t, "EDD-9133", dbtest.InputCode(err))
	require.Empty(t, l.Wire.Count("PutItem"), "nothing was written")
}

func TestExport_DamageIsFound(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	l.append("d-9", "s-1", 4)
	v := view(l, l.sites())
	for name, damage := range map[string]func(*exported){
		"format":      func(x *exported) { x.summary["outputFormat"] = "ION"; x.write() },
		"incremental": func(x *exported) { x.summary["exportType"] = "INCREMENTAL_EXPORT"; x.write() },
		"no time":     func(x *exported) { delete(x.summary, "exportTime"); x.write() },
		"changed manifest": func(x *exported) {
			x.files["manifest-files.json"].Data = append(x.files["manifest-files.json"].Data, ' ')
		},
		"changed summary": func(x *exported) { x.files["manifest-summary.json"].Data[0] = ' ' },
		"malformed summary": func(x *exported) {
			x.files["manifest-summary.json"].Data = nil
			delete(x.files, "manifest-summary.md5")
		},
		"missing file":   func(x *exported) { delete(x.files, "data/0001.json.gz") },
		"truncated file": func(x *exported) { f := x.files["data/0000.json.gz"]; f.Data = f.Data[:len(f.Data)-12] },
		"added bytes":    func(x *exported) { f := x.files["data/0000.json.gz"]; f.Data = append(f.Data, 0) },
		"another file":   func(x *exported) { x.files["data/0000.json.gz"] = x.files["data/0001.json.gz"] },
		"not compressed": func(x *exported) { x.files["data/0000.json.gz"].Data = []byte(x.lines[0][0]) },
		"not an item":    func(x *exported) { x.lines[0][0] = `{"Item":{"a":{"X":"y"}}}`; x.write() },
		"a nested type":  func(x *exported) { x.lines[0][0] = `{"Item":{"a":{"L":[{"M":{"b":{"X":"y"}}}]}}}`; x.write() },
		"no item":        func(x *exported) { x.lines[0][0] = `{}`; x.write() },
		"not JSON":       func(x *exported) { x.lines[0][0] = `{"Item":`; x.write() },
		"no key":         func(x *exported) { x.lines[0][0] = withoutKey(l, x); x.write() },
	} {
		x := l.export(l.tableName())
		damage(x)
		_, err := v.Rebuild(l.Ctx, timeline.Export(x.files))
		var wrong *timeline.ExportError
		require.ErrorAs(t, err, &wrong, name)
		require.NotContains(t, err.Error(), "s-1", name)
		page, err := v.Page(l.Ctx, 1, 10)
		require.True(t, err != nil || len(page.Rows) == 0, "%s: no rows are served", name)
	}
}

// withoutKey returns an event of an export without its sort key.
func withoutKey(l *lab, x *exported) string {
	line := l.readingsIn(x)[0]
	var item struct{ Item map[string]json.RawMessage }
	require.NoError(l.T, json.Unmarshal([]byte(line), &item))
	delete(item.Item, "pk")
	text, err := json.Marshal(item)
	require.NoError(l.T, err)
	return string(text)
}

// An item records no accept time, so a build that is older than the served rows could not bring them up to date.
func TestExport_OlderThanRowsOfItemsWithoutAcceptTimes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	f := entity.Fields[message]()
	v := view(l, journals("items", timeline.Items(l.messages, &f.Created), "message", func(m message) string { return m.User },
		func(e timeline.Event[message]) string { return e.Payload.Text }, "stored"))
	l.create("m-1", "one")
	x := l.export(l.tableName())
	rebuild(l, v, timeline.Export(x.files))
	rebuild(l, v, timeline.Export(x.files))
	l.create("m-2", "two")
	rebuild(l, v)
	_, err := v.Rebuild(l.Ctx, timeline.Export(x.files))
	require.ErrorIs(t, err, timeline.ErrNoAcceptTime)
	require.Len(t, rows(l, v)["u"].State.Lines, 2)
}
