package cursor

import (
	"slices"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Places begin a page of a query over several partitions.
type Places struct {
	Before bool        // the page ends at the places; otherwise it begins there
	Keys   []item.Item // of each partition the key of the item next to the page; nil for its beginning, or its end for Before
	// Bound is the item next to the page in the order of all partitions, or nil, and In the number of its partition.
	Bound item.Item
	In    int
}

// placesBody is the encoded form of Places.
type placesBody struct {
	Before bool       `json:"b,omitempty"`
	Keys   []position `json:"k"`
	Bound  position   `json:"e"`
	In     int        `json:"n,omitempty"`
}

// Beginning reports whether the page is the first one.
func (p Places) Beginning() bool {
	return !p.Before && p.Bound == nil && !slices.ContainsFunc(p.Keys, func(k item.Item) bool { return k != nil })
}

// EncodePlaces returns the cursor of places in the query with this description.
func (c Codec) EncodePlaces(query string, at Places) (string, error) {
	body := placesBody{Before: at.Before, In: at.In, Keys: make([]position, len(at.Keys))}
	var err error
	for i, key := range at.Keys {
		if body.Keys[i], err = positionOf(key); err != nil {
			return "", err
		}
	}
	if body.Bound, err = positionOf(at.Bound); err != nil {
		return "", err
	}
	return c.encode(query, openForm{Version: several, Several: body})
}

// DecodePlaces returns the places in a cursor of the query with this description, which has partitions with the key
// attributes attrs. The bound has those of bounds. The error is an *Error.
func (c Codec) DecodePlaces(query, text string, attrs [][]Attr, bounds []Attr) (at Places, err error) {
	w, err := c.read(query, text, (len(attrs)+1)*maxLength)
	body := w.Several
	switch {
	case err != nil:
		return at, err
	case w.Version != several:
		return at, &Error{Reason: Malformed}
	case len(body.Keys) != len(attrs) || body.In < 0 || body.In >= len(attrs):
		return at, &Error{Reason: Altered}
	}
	at.Before, at.In, at.Keys = body.Before, body.In, make([]item.Item, len(attrs))
	for i, p := range body.Keys {
		if p == nil {
			continue
		}
		if at.Keys[i], err = p.key(attrs[i]); err != nil {
			return at, err
		}
	}
	if body.Bound != nil {
		at.Bound, err = body.Bound.key(bounds)
	}
	return at, err
}
