// Package cursor writes a position in a query as opaque text and reads it back, refusing what belongs to another query.
package cursor

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// ErrInvalid is the error of every cursor that cannot be used.
var ErrInvalid = errors.New("cursor is malformed, altered, or of another query")

// version of the format. A cursor of an unknown version is refused.
const version = 1

const maxLength = 16 * 1024

// Codec writes and reads cursors. With a Key they are signed, and any alteration is found.
type Codec struct{ Key []byte }

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

// Encode returns the cursor of the position after the item with the given key, in the query that query describes.
func (c Codec) Encode(query string, key item.Item) (string, error) {
	w := wire{Version: version, Query: fingerprint(query), Item: map[string]value{}}
	for name, av := range key {
		switch v := av.(type) {
		case *types.AttributeValueMemberS:
			w.Item[name] = value{S: &v.Value}
		case *types.AttributeValueMemberN:
			w.Item[name] = value{N: &v.Value}
		case *types.AttributeValueMemberB:
			w.Item[name] = value{B: v.Value}
		default:
			return "", errors.New("the item at the end of the page lacks the key attribute " + name)
		}
	}
	body, err := json.Marshal(w) // maps are written in the order of their keys
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(body, c.sign(body)...)), nil
}

// Attr is a key attribute that a cursor of a query must have.
type Attr struct {
	Name string
	Type types.ScalarAttributeType
}

// Decode returns the key in a cursor of the query that query describes. It must have exactly the attributes attrs.
func (c Codec) Decode(query, text string, attrs []Attr) (item.Item, error) {
	if len(text) > maxLength {
		return nil, ErrInvalid
	}
	body, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || base64.RawURLEncoding.EncodeToString(body) != text { // decoding overlooks line ends and spare bits
		return nil, ErrInvalid
	}
	if len(c.Key) > 0 {
		if len(body) < sha256.Size {
			return nil, ErrInvalid
		}
		signature := body[len(body)-sha256.Size:]
		body = body[:len(body)-sha256.Size]
		if !hmac.Equal(signature, c.sign(body)) {
			return nil, ErrInvalid
		}
	}
	var w wire
	if json.Unmarshal(body, &w) != nil || w.Version != version || !hmac.Equal(w.Query, fingerprint(query)) || len(w.Item) != len(attrs) {
		return nil, ErrInvalid
	}
	key := item.Item{}
	for _, a := range attrs {
		av := w.Item[a.Name].attribute(a.Type)
		if av == nil {
			return nil, ErrInvalid
		}
		key[a.Name] = av
	}
	return key, nil
}

// attribute is the value as one of the given type, nil when it is not exactly that.
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

func (c Codec) sign(body []byte) []byte {
	if len(c.Key) == 0 {
		return nil
	}
	h := hmac.New(sha256.New, c.Key)
	h.Write(body)
	return h.Sum(nil)
}
