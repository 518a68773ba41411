package cursor

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Error reports a cursor that cannot be used.
type Error = entitytype.CursorError

// Reason says why a cursor cannot be used.
type Reason = entitytype.CursorReason

// The reasons.
const (
	Malformed Reason = "malformed"
	Foreign   Reason = "foreign"
	Altered   Reason = "altered"
	Gone      Reason = "gone"
)

// The first byte of an encoded cursor is its form. A cursor of an unknown form is malformed.
const (
	open   = '{' // JSON, not encrypted
	sealed = 1   // plus the kind: encrypted; see seal.go
)

// kind distinguishes the contents of cursors. It is the version of the open form. Each kind has a form of its own, so that a release that
// does not know the kind refuses the cursor.
type kind int

const (
	after   kind = 1 // the position of the item before the page, or nothing for the beginning
	before  kind = 2 // the position of the item after the page, or nothing for the end
	several kind = 3 // positions in several partitions
)

// maxLength limits the text of a cursor with one position, and of one with several the part for each position.
const maxLength = 16 * 1024

// Codec encodes and decodes cursors. The zero Codec has no key and writes open ones.
type Codec struct{ seals []*seal }

// New returns a Codec that encrypts cursors under the first key and reads those of all keys. The error says that the
// cryptographic library does not accept a key.
func New(keys ...[]byte) (Codec, error) {
	var c Codec
	for _, k := range keys {
		s, err := newSeal(k)
		if err != nil {
			return Codec{}, err
		}
		c.seals = append(c.seals, s)
	}
	return c, nil
}

type openForm struct {
	Version kind       `json:"v"`
	Query   []byte     `json:"q"` // fingerprint of the query
	Item    position   `json:"k"`
	Several placesBody `json:"m,omitzero"`
}

// position is the key of an item, without attributes that the query fixes.
type position map[string]value

type value struct {
	S *string `json:"s,omitempty"`
	N *string `json:"n,omitempty"`
	B []byte  `json:"b,omitempty"`
}

func fingerprint(query string) []byte {
	sum := sha256.Sum256([]byte(query))
	return sum[:12]
}

// A Position begins a page.
type Position struct {
	Key    item.Item // of the item next to the page; nil: the page begins, or ends, with the query
	Before bool      // the page ends before that item; otherwise it begins after it
}

func positionOf(key item.Item) (position, error) {
	if key == nil {
		return nil, nil
	}
	written := position{}
	for name, av := range key {
		switch v := av.(type) {
		case *types.AttributeValueMemberS:
			written[name] = value{S: &v.Value}
		case *types.AttributeValueMemberN:
			written[name] = value{N: &v.Value}
		case *types.AttributeValueMemberB:
			written[name] = value{B: v.Value}
		default:
			return nil, errors.New("the item at the end of the page lacks the key attribute " + name)
		}
	}
	return written, nil
}

// key returns the key of a position, which must have exactly the attributes attrs.
func (p position) key(attrs []Attr) (item.Item, error) {
	if len(p) != len(attrs) {
		return nil, &Error{Reason: Altered}
	}
	key := item.Item{}
	for _, a := range attrs {
		av := p[a.Name].attribute(a.Type)
		if av == nil {
			return nil, &Error{Reason: Altered}
		}
		key[a.Name] = av
	}
	return key, nil
}

// body returns what an encrypted cursor holds of w.
func (w *openForm) body() any {
	if w.Version == several {
		return &w.Several
	}
	return &w.Item
}

// encode returns the cursor with the content of w.
func (c Codec) encode(query string, w openForm) (string, error) {
	var text []byte
	var err error
	if len(c.seals) > 0 {
		if text, err = json.Marshal(w.body()); err == nil { // maps are written in the order of their keys
			text = c.seals[0].close(w.Version, query, text)
		}
	} else {
		w.Query = fingerprint(query)
		text, err = json.Marshal(w)
	}
	return base64.RawURLEncoding.EncodeToString(text), err
}

// EncodePosition returns the cursor of a position in the query with this description.
func (c Codec) EncodePosition(query string, at Position) (string, error) {
	written, err := positionOf(at.Key)
	if err != nil {
		return "", err
	}
	k := after
	if at.Before {
		k = before
	}
	return c.encode(query, openForm{Version: k, Item: written})
}

// Encode returns the cursor after the item with the given key in the query with this description.
func (c Codec) Encode(query string, key item.Item) (string, error) {
	return c.EncodePosition(query, Position{Key: key})
}

// Attr is a key attribute that a cursor of a query must have.
type Attr struct {
	Name string
	Type types.ScalarAttributeType
}

// DecodePosition returns the position in a cursor of the query with this description. A key must have exactly the
// attributes attrs. The error is an *Error.
func (c Codec) DecodePosition(query, text string, attrs []Attr) (Position, error) {
	w, err := c.read(query, text, maxLength)
	at := Position{Before: w.Version == before}
	switch {
	case err != nil:
		return at, err
	case w.Version == several:
		return at, &Error{Reason: Malformed}
	case w.Item == nil:
		return at, nil
	}
	at.Key, err = w.Item.key(attrs)
	return at, err
}

// Decode returns the key in a cursor that Encode made for the query with this description. The key must have exactly the
// attributes attrs. The error is an *Error.
func (c Codec) Decode(query, text string, attrs []Attr) (item.Item, error) {
	at, err := c.DecodePosition(query, text, attrs)
	if err == nil && (at.Before || at.Key == nil) {
		err = &Error{Reason: Malformed}
	}
	if err != nil {
		return nil, err
	}
	return at.Key, nil
}

// read decodes a cursor of up to most characters.
func (c Codec) read(query, text string, most int) (w openForm, err error) {
	if len(text) > most {
		return w, &Error{Reason: Malformed}
	}
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || base64.RawURLEncoding.EncodeToString(decoded) != text { // decoding ignores line ends and spare bits
		return w, &Error{Reason: Malformed}
	}
	if len(c.seals) > 0 {
		var plain []byte
		if w.Version, plain, err = c.open(query, decoded); err == nil && json.Unmarshal(plain, w.body()) != nil {
			err = &Error{Reason: Malformed}
		}
		return w, err
	}
	switch {
	case len(decoded) == 0 || decoded[0] != open || json.Unmarshal(decoded, &w) != nil || w.Version < after || w.Version > several:
		return w, &Error{Reason: Malformed}
	case !bytes.Equal(w.Query, fingerprint(query)):
		return w, &Error{Reason: Foreign}
	}
	return w, nil
}

// attribute returns the value as an attribute of type t, or nil if it is of another type.
func (v value) attribute(t types.ScalarAttributeType) types.AttributeValue {
	switch {
	case t == types.ScalarAttributeTypeS && v.S != nil && *v.S != "" && v.N == nil && v.B == nil:
		return item.S(*v.S)
	case t == types.ScalarAttributeTypeN && v.N != nil && v.S == nil && v.B == nil:
		if _, err := item.ParseDecimal(*v.N); err == nil {
			return item.N(*v.N)
		}
	case t == types.ScalarAttributeTypeB && len(v.B) > 0 && v.S == nil && v.N == nil:
		return &types.AttributeValueMemberB{Value: v.B}
	}
	return nil
}

// Allow rejects open cursors in reads of s whose keys contain a secret field: the position would show it, and the
// fingerprint of the query would allow guessing it.
func (c Codec) Allow(s *schema.Schema, keys ...*schema.KeyDef) error {
	if len(c.seals) > 0 {
		return nil
	}
	for _, h := range keys {
		if h == nil {
			continue
		}
		for _, a := range h.Parts {
			if a.IsSecret() {
				return &entitytype.InputError{Code: bind.CodeCursorKey, Type: s.Type.String(), Field: a.Field, Problem: "a cursor would show the field, which is secret and part of the key that is read; set Config.CursorKey, under which cursors are encrypted"}
			}
		}
	}
	return nil
}
