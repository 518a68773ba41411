package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/internal/studio"
	"github.com/dynastrata/dynastrata/internal/avjson"
	"github.com/dynastrata/dynastrata/internal/layout"
)

// place is where a value is stored, and what it was.
type place struct {
	Table string
	Key   json.RawMessage
	Attr  string
	Sum   []byte // of the content
}

// placeOf returns the place of an attribute of a stored item.
func placeOf(x stored, f field) []byte {
	text, _ := json.Marshal(place{x.Table, positionText(layout.KeyOf(x.model.s, x.raw)), f.Name, sumOf(contentOf(f))}) // of texts and bytes
	return text
}

func sumOf(content []byte) []byte {
	sum := sha256.Sum256(content)
	return sum[:16]
}

// contentOf returns all of a value.
func contentOf(f field) []byte {
	switch v := f.Plain.(type) {
	case string:
		return []byte(v)
	case []byte:
		return v
	}
	return jsonText(f.Plain)
}

// jsonText returns a plain value as JSON that people read: its names are sorted.
func jsonText(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // of what plain returns
	return b.Bytes()
}

// Content implements studio.Data. What is hidden on pages is not returned.
func (d *studioData) Content(ctx context.Context, whole []byte) (studio.Content, error) {
	var at place
	gone := &studio.Mistaken{Err: errors.New("the value has changed since the page was loaded: load the page again")}
	if err := json.Unmarshal(whole, &at); err != nil {
		return studio.Content{}, gone
	}
	key, problem := avjson.Item(at.Key)
	if problem != "" || !slices.Contains(d.s.m.tables(), at.Table) {
		return studio.Content{}, gone
	}
	it, err := d.s.get(ctx, at.Table, key, &spent{})
	if err != nil {
		return studio.Content{}, err
	}
	if it == nil {
		return studio.Content{}, gone
	}
	x := d.s.m.decode(at.Table, it, d.s.app.Clock())
	if x.model == nil {
		return studio.Content{}, gone
	}
	for _, f := range slices.Concat(x.Attrs, d.storage(x)) {
		content := contentOf(f)
		if f.Name != at.Attr || f.Plain == hidden || !bytes.Equal(at.Sum, sumOf(content)) {
			continue
		}
		return studio.Content{Entity: x.Entity, Name: f.Name, Type: f.Type, Bytes: content}, nil
	}
	return studio.Content{}, gone
}
