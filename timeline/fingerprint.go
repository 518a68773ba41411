package timeline

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// formatVersion is that of rows and manifests. Rows of another one are not read.
const formatVersion = 1

// fingerprint identifies a definition by everything visible that changes rows; functions have Version.
func (d *definition) computeFingerprint() (string, error) {
	h := sha256.New()
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(h, format+"\n", args...) } // a hash takes everything
	line("format %d name %q version %d", formatVersion, d.Name, d.Version)
	line("descending %t skip %t retention %s", d.Descending, d.SkipUngrouped, d.Retention)
	writeTypeShape(h, "key", d.key)
	writeTypeShape(h, "state", d.state)
	start, err := d.states.bytes(reflect.ValueOf(d.Start()).Elem())
	if err != nil {
		return "", err
	}
	line("start %x", start)
	var events []string
	for _, w := range d.Handlers {
		events = append(events, fmt.Sprintf("%q applies %t", w.event, w.apply != nil))
	}
	slices.Sort(events)
	line("events %s", strings.Join(events, ", "))
	origins := slices.SortedFunc(slices.Values(d.all), func(a, b *origin) int { return strings.Compare(a.id, b.id) })
	for _, o := range origins {
		names := slices.Sorted(slices.Values(o.eventNames))
		line("source %q payload %d classified %t names %q clocks %q", o.id, o.payloadVersion, o.classify != nil, names, o.timeAttrs)
		writeTypeShape(h, "payload", o.payload)
		for _, s := range o.upgrades {
			line("upgrade from %d", s.from)
			writeTypeShape(h, "old", s.old)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// shape writes what a type looks like from outside: fields with their tags, recursively. Names of types do not count.
func writeTypeShape(w io.Writer, what string, t reflect.Type) {
	_, _ = fmt.Fprintf(w, "%s %s\n", what, typeShape(t, nil))
}

func typeShape(t reflect.Type, inside []reflect.Type) string {
	if slices.Contains(inside, t) {
		return fmt.Sprintf("recursive %d", slices.Index(inside, t))
	}
	inside = append(inside, t)
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + typeShape(t.Elem(), inside)
	case reflect.Slice:
		return "[slice]" + typeShape(t.Elem(), inside)
	case reflect.Array:
		return fmt.Sprintf("[array %d]%s", t.Len(), typeShape(t.Elem(), inside))
	case reflect.Map:
		return "map[" + typeShape(t.Key(), inside) + "]" + typeShape(t.Elem(), inside)
	case reflect.Struct:
		if t == timeType {
			return "time"
		}
		var b strings.Builder
		b.WriteString("{")
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(&b, "%s %s %q;", f.Name, typeShape(f.Type, inside), f.Tag)
		}
		return b.String() + "}"
	}
	return t.Kind().String()
}
