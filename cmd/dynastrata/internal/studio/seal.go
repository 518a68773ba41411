package studio

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
)

// sealer makes texts that only this process reads: keys with secret parts in URLs, and what a form was made from. The process keeps
// nothing of them.
type sealer struct {
	aead cipher.AEAD
	key  [32]byte // of the marks
}

var errSealed = errors.New("this link is of an earlier start of the studio, or damaged: begin at the first page")

func newSealer() *sealer {
	var s sealer
	var secret [32]byte
	rand.Read(secret[:]) // never fails
	rand.Read(s.key[:])
	block, _ := aes.NewCipher(secret[:]) // fails for other lengths
	s.aead, _ = cipher.NewGCM(block)     // fails for other block sizes
	return &s
}

// seal returns the text of a value for a purpose.
func (s *sealer) seal(purpose string, v any) string {
	text, _ := json.Marshal(v) // of strings, numbers and bytes
	nonce := make([]byte, s.aead.NonceSize())
	rand.Read(nonce)
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, text, []byte(purpose)))
}

// open reads what seal made for the same purpose.
func (s *sealer) open(purpose, text string, v any) error {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if n := s.aead.NonceSize(); err == nil && len(raw) >= n {
		var plain []byte
		if plain, err = s.aead.Open(nil, raw[:n], raw[n:], []byte(purpose)); err == nil && json.Unmarshal(plain, v) == nil {
			return nil
		}
	}
	return errSealed
}

// mark returns a text that shows that this process has seen another for a purpose.
func (s *sealer) mark(purpose, text string) string {
	h := hmac.New(sha256.New, s.key[:])
	h.Write([]byte(purpose + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func (s *sealer) marked(purpose, text, mark string) bool {
	return hmac.Equal([]byte(mark), []byte(s.mark(purpose, text)))
}
