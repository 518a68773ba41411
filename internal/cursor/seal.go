package cursor

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// A sealed cursor is a byte for its kind, a mark of its query, a nonce, and the position encrypted by AES-256-GCM, with the bytes
// before the nonce as additional data. The nonce is derived from what is encrypted, so that a cursor depends only on its
// key, query and position; docs/design/cursors-and-reads.md explains why that is safe.
const (
	markSize  = 16
	headSize  = 1 + markSize
	nonceSize = 12
)

// seal is the keys derived from one secret.
type seal struct {
	aead         cipher.AEAD
	marks, nonce []byte // keys
}

func newSeal(secret []byte) (*seal, error) {
	derive := func(what string) ([]byte, error) {
		return hkdf.Key(sha256.New, secret, nil, "dynastrata cursor 2 "+what, 32)
	}
	encryption, err := derive("encryption")
	if err != nil {
		return nil, err
	}
	s := &seal{}
	if s.marks, err = derive("query"); err != nil {
		return nil, err
	}
	if s.nonce, err = derive("nonce"); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(encryption)
	if err != nil {
		return nil, err
	}
	s.aead, err = cipher.NewGCM(block)
	return s, err
}

// mark identifies the query of a cursor. Without the key, queries cannot be guessed from it.
func (s *seal) mark(query string) []byte { return mac(s.marks, []byte(query))[:markSize] }

func (s *seal) close(k kind, query string, position []byte) []byte {
	head := append([]byte{sealed + byte(k)}, s.mark(query)...)
	nonce := mac(s.nonce, head, position)[:nonceSize]
	out := append(head[:headSize:headSize], nonce...)
	return s.aead.Seal(out, nonce, position, head)
}

// open returns the kind of a sealed cursor of the query, and what it holds.
func (c Codec) open(query string, body []byte) (kind, []byte, error) {
	if len(body) < headSize+nonceSize || body[0] < sealed+byte(after) || body[0] > sealed+byte(several) {
		return 0, nil, &Error{Reason: Malformed}
	}
	k := kind(body[0] - sealed)
	head, nonce, text := body[:headSize], body[headSize:headSize+nonceSize], body[headSize+nonceSize:]
	for _, s := range c.seals {
		position, err := s.aead.Open(nil, nonce, text, head)
		switch {
		case err != nil: // of another key, or altered: they cannot be distinguished
		case !hmac.Equal(head[1:], s.mark(query)):
			return k, nil, &Error{Reason: Foreign}
		default:
			return k, position, nil
		}
	}
	return k, nil, &Error{Reason: Altered}
}

// mac returns the HMAC-SHA256 of parts, each preceded by its length.
func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write(p)
	}
	return h.Sum(nil)
}
