package idempotent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
)

// KeyOf returns a key of several values, "" if there are none or one is empty. Different values make different keys.
func KeyOf(values ...string) string {
	var b strings.Builder
	for _, v := range values {
		if v == "" {
			return ""
		}
		b.WriteString(strconv.Quote(v))
	}
	return b.String()
}

// canonical returns what is compared of a payload: bytes as they are, anything else as JSON with sorted members.
func canonical(payload any) (string, error) {
	if payload == nil {
		return "", nil
	}
	if raw, ok := payload.([]byte); ok {
		return "bytes " + string(raw), nil
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return "", err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a float64 would make different integers equal
	var value any
	if err := decoder.Decode(&value); err != nil {
		return "", err
	}
	text, err = json.Marshal(value)
	return "json " + string(text), err
}

// digest returns the SHA-256 digest of texts, each with its length.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		h.Write(strconv.AppendInt(nil, int64(len(t)), 10))
		h.Write([]byte{' '})
		h.Write([]byte(t))
	}
	return hex.EncodeToString(h.Sum(nil))
}
