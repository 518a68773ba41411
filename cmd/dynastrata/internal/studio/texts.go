package studio

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
	"unicode"
)

// texts are the functions of the templates. None returns markup.
var texts = template.FuncMap{
	"moment": moment, "size": size, "units": units, "plural": plural,
	"classOf": class, "join": strings.Join, "slug": func(s string) string { return strings.ReplaceAll(s, " ", "-") }, "kilo": kilo,
	"areas": func() []string { return []string{"area", "json", "set", "bytes"} },
	"form": func(kind string) string {
		return map[string]string{"json": "as JSON", "set": "a value a line", "bytes": "base64"}[kind]
	},
	"typed": typed, "has": func(all []string, one string) bool { return slices.Contains(all, one) },
}

// typed is what a field of one line has of a text.
func typed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// moment prints a time in UTC.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.UTC()
	if t.Nanosecond() != 0 {
		return t.Format("2006-01-02 15:04:05.000")
	}
	return t.Format("2006-01-02 15:04:05")
}

// size prints a number of bytes.
func size(n int) string { return kilo(int64(n)) }

func kilo(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/1024)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// units prints read units.
func units(n float64) string {
	switch {
	case n == 1:
		return "1 read unit"
	case n >= 100 || n == float64(int64(n)):
		return fmt.Sprintf("%.0f read units", n)
	}
	return fmt.Sprintf("%.1f read units", n)
}

func plural(n any, what string) string {
	if fmt.Sprint(n) == "1" {
		return "1 " + what
	}
	return fmt.Sprint(n) + " " + what + "s"
}
