// Package cursor encodes a position in a query as opaque text and decodes it, rejecting the cursors of other queries. With
// keys the text is encrypted; without, anyone can read it, so it must not contain secrets.
package cursor

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// Error reports a cursor that cannot be used.
type Error = entitytype.CursorError

// Reason says why a cursor cannot be used.
type Reason = entitytype.CursorReason

// The reasons.
const (
	Malformed = entitytype.CursorMalformed
	Foreign   = entitytype.CursorForeign
	Altered   = entitytype.CursorAltered
	Gone      = entitytype.CursorGone
)

// The first byte of an encoded cursor is its form. A cursor of an unknown form is malformed.
const (
	open   = '{' // JSON, not encrypted
	sealed = 2   // encrypted; see seal.go
)

// version is that of the open form.
const version = 1

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

// wire is the open form.
type wire struct {
	Version int              `json:"v"`
	Query   []byte           `json:"q"` // fingerprint of the query
	Item    map[string]value `json:"k"`
}

type value struct {
	S *string `json:"s,omitempty"`
	N *string `json:"n,omitempty"`
	B []byte  `json:"b,omitempty"`
}

func fingerprint(query string) []byte {
	sum := sha256.Sum256([]byte(query))
	return sum[:12]
}

// Encode returns the cursor after the item with the given key in the query with this description.
func (c Codec) Encode(query string, key item.Item) (string, error) {
	position := map[string]value{}
	for name, av := range key {
		switch v := av.(type) {
		case *types.AttributeValueMemberS:
			position[name] = value{S: &v.Value}
		case *types.AttributeValueMemberN:
			position[name] = value{N: &v.Value}
		case *types.AttributeValueMemberB:
			position[name] = value{B: v.Value}
		default:
			return "", errors.New("the item at the end of the page lacks the key attribute " + name)
		}
	}
	var body []byte
	var err error
	if len(c.seals) > 0 {
		if body, err = json.Marshal(position); err == nil { // maps are written in the order of their keys
			body = c.seals[0].close(query, body)
		}
	} else {
		body, err = json.Marshal(wire{version, fingerprint(query), position})
	}
	return base64.RawURLEncoding.EncodeToString(body), err
}

// Attr is a key attribute that a cursor of a query must have.
type Attr struct {
	Name string
	Type types.ScalarAttributeType
}

// Decode returns the key in a cursor of the query with this description. The key must have exactly the attributes attrs.
// The error is an *Error.
func (c Codec) Decode(query, text string, attrs []Attr) (item.Item, error) {
	position, err := c.read(query, text)
	if err != nil {
		return nil, err
	}
	if len(position) != len(attrs) {
		return nil, &Error{Reason: Altered}
	}
	key := item.Item{}
	for _, a := range attrs {
		av := position[a.Name].attribute(a.Type)
		if av == nil {
			return nil, &Error{Reason: Altered}
		}
		key[a.Name] = av
	}
	return key, nil
}

func (c Codec) read(query, text string) (position map[string]value, err error) {
	if len(text) > maxLength {
		return nil, &Error{Reason: Malformed}
	}
	body, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || base64.RawURLEncoding.EncodeToString(body) != text { // decoding ignores line ends and spare bits
		return nil, &Error{Reason: Malformed}
	}
	if len(c.seals) > 0 {
		if body, err = c.open(query, body); err == nil && json.Unmarshal(body, &position) != nil {
			err = &Error{Reason: Malformed}
		}
		return position, err
	}
	var w wire
	switch {
	case len(body) == 0 || body[0] != open || json.Unmarshal(body, &w) != nil || w.Version != version:
		return nil, &Error{Reason: Malformed}
	case !bytes.Equal(w.Query, fingerprint(query)):
		return nil, &Error{Reason: Foreign}
	}
	return w.Item, nil
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
			if a.Role.Has(tag.Secret) {
				return &entitytype.InputError{Code: bind.CodeCursorKey, Type: s.Type.String(), Field: a.Field, Problem: "a cursor would show the field, which is secret and part of the key that is read; set Config.CursorKey, under which cursors are encrypted"}
			}
		}
	}
	return nil
}
