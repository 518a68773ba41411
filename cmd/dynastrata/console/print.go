package console

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"
)

// printer writes the output of a command.
type printer struct {
	w      io.Writer
	color  bool
	width  int // of the terminal; 0 for a pipe or a file
	json   bool
	clock  func() time.Time // of progress
	failed error            // of the first write that failed
}

// newPrinter returns a printer that uses colours on a terminal, unless the user does not want them: https://no-color.org.
func newPrinter(w io.Writer, json, noColor bool) *printer {
	p := &printer{w: w, json: json, clock: time.Now}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.color = !noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			p.width = width
		}
	}
	return p
}

// The colours of kinds, of the 16 that every terminal has.
var kindColors = map[Kind]string{
	KindCurrent: "10", KindEvent: "12", KindVersion: "13", KindDeleted: "9", KindSentinel: "11", KindCheckpoint: "6",
	KindRow: "14", KindPages: "14", KindParts: "14", KindManifest: "14", KindUnknown: "9",
}

func (p *printer) styled(s lipgloss.Style, text string) string {
	if !p.color || text == "" {
		return text
	}
	return s.Render(printable(text, false))
}

func (p *printer) kind(k Kind) string {
	return p.styled(lipgloss.NewStyle().Foreground(lipgloss.Color(kindColors[k])), string(k))
}
func (p *printer) bold(text string) string  { return p.styled(lipgloss.NewStyle().Bold(true), text) }
func (p *printer) faint(text string) string { return p.styled(lipgloss.NewStyle().Faint(true), text) }
func (p *printer) alarm(text string) string {
	return p.styled(lipgloss.NewStyle().Foreground(lipgloss.Color("9")), text)
}

// write writes text, in which nothing but colours drives a terminal.
func (p *printer) write(text string) { p.raw(printable(text, p.color)) }

// raw writes text as it is, and keeps the first error.
func (p *printer) raw(text string) {
	if _, err := io.WriteString(p.w, text); err != nil && p.failed == nil {
		p.failed = fmt.Errorf("write the output: %w", err)
	}
}

var colors = regexp.MustCompile("\x1b\\[[0-9;]*m")

// printable escapes each rune of a text that is not printable, other than line ends, and colours if these are allowed.
func printable(text string, colored bool) string {
	if colored {
		var b strings.Builder
		for at := colors.FindStringIndex(text); at != nil; at = colors.FindStringIndex(text) {
			b.WriteString(printable(text[:at[0]], false) + text[at[0]:at[1]])
			text = text[at[1]:]
		}
		return b.String() + printable(text, false)
	}
	odd := func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, odd) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if odd(r) || r == utf8.RuneError && n == 1 {
			quoted := strconv.Quote(text[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// line writes a line, cut to the width of the terminal.
func (p *printer) line(format string, args ...any) {
	p.write(p.cut(fmt.Sprintf(format, args...)) + "\n")
}

// cut shortens a line to the width of the terminal. A cut line ends with …
func (p *printer) cut(line string) string {
	if p.width <= 0 || lipgloss.Width(line) <= p.width {
		return line
	}
	return lipgloss.NewStyle().MaxWidth(p.width-1).Render(line) + "…"
}

// object writes a value as one line of JSON.
func (p *printer) object(v any) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	var line strings.Builder
	for _, r := range b.String() {
		if r == '\n' || strconv.IsPrint(r) {
			line.WriteRune(r)
			continue
		}
		for _, half := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&line, `\u%04x`, half)
		}
	}
	p.raw(line.String())
	return p.failed
}

// columns returns the widths of the columns of rows.
func columns(rows [][]string) (widths []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], lipgloss.Width(cell))
		}
	}
	return widths
}

// fits reports whether a table of rows is no wider than the terminal.
func (p *printer) fits(rows [][]string) bool {
	total := -2
	for _, w := range columns(rows) {
		total += w + 2
	}
	return p.width <= 0 || total <= p.width
}

// table writes rows in columns; the first row is the header.
func (p *printer) table(rows [][]string) {
	widths := columns(rows)
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if n == 0 {
				cell = p.bold(cell)
			}
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-lipgloss.Width(cell)+2))
			}
		}
		p.line("%s", strings.TrimRight(b.String(), " "))
	}
}

// node is a node of a printed tree.
type node struct {
	text string
	sub  []node
}

// tree writes a tree.
func (p *printer) tree(n node) {
	p.line("%s", n.text)
	p.branches("", n.sub)
}

func (p *printer) branches(indent string, nodes []node) {
	for i, n := range nodes {
		twig, more := "├─ ", "│  "
		if i == len(nodes)-1 {
			twig, more = "└─ ", "   "
		}
		p.line("%s%s", p.faint(indent+twig), n.text)
		p.branches(indent+more, n.sub)
	}
}

// progress shows how far a long command is, on standard error: as a bar that is drawn again on a terminal, and as lines otherwise.
type progress struct {
	p     *printer
	what  string
	total int64     // 0 if unknown
	last  time.Time // of the last line; zero before the first
	drawn bool
	parts bool // of a thousand, shown as a percentage
}

// mostOften is the time between two lines of progress.
const mostOften = 10 * time.Second

// newProgress begins to show the progress of something of a size, 0 if it is not known.
func newProgress(p *printer, what string, total int64) *progress {
	b := &progress{p: p, what: what, total: total}
	b.set(0)
	return b
}

// newShare begins to show the progress of something that is done in thousandths.
func newShare(p *printer, what string) *progress {
	b := &progress{p: p, what: what, total: 1000, parts: true}
	b.set(0)
	return b
}

// set shows that n are done.
func (b *progress) set(n int64) {
	if b.p.width == 0 {
		if now := b.p.clock(); b.last.IsZero() || now.Sub(b.last) >= mostOften {
			b.last = now
			b.p.line("%s: %s", b.what, b.share(n))
		}
		return
	}
	const cells = 24
	bar := ""
	if b.total > 0 {
		full := int(min(n, b.total) * cells / b.total)
		bar = strings.Repeat("█", full) + strings.Repeat("░", cells-full) + " "
	}
	b.p.raw("\r\x1b[K" + printable(b.p.cut(b.what+" "+bar+b.share(n)), b.p.color))
	b.drawn = true
}

func (b *progress) share(n int64) string {
	if b.parts {
		return fmt.Sprintf("%d %%", n*100/max(b.total, 1))
	}
	if b.total > 0 {
		return fmt.Sprintf("%d of about %d", n, max(n, b.total))
	}
	return fmt.Sprint(n)
}

// clear removes the bar, so that other output can follow.
func (b *progress) clear() {
	if b.drawn {
		b.p.raw("\r\x1b[K")
		b.drawn = false
	}
}
