package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
)

// hidden replaces a secret wherever it is printed.
const hidden = "[hidden]"

// secret is a text that no printing, logging or encoding shows. Only the field has the text.
type secret struct{ text string }

// String hides the text.
func (secret) String() string { return hidden }

// GoString hides the text from %#v.
func (secret) GoString() string { return hidden }

// LogValue hides the text from logs.
func (secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// equal compares in constant time, so its duration does not show how much of a guess is right. Hashing first makes both sides
// equally long.
func (s secret) equal(guess string) bool {
	a, b := sha256.Sum256([]byte(s.text)), sha256.Sum256([]byte(guess))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
