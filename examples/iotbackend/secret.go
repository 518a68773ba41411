package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
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

// MarshalText hides the text from JSON.
func (secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// equal compares in constant time, so its duration does not show how much of a guess is right. Hashing first makes both sides
// equally long.
func (s secret) equal(guess string) bool {
	a, b := sha256.Sum256([]byte(s.text)), sha256.Sum256([]byte(guess))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

type (
	// RawKey is an API key as a device has it.
	RawKey = secret
	// Pepper is the part of every hash that is not in the database.
	Pepper = secret
)

// hash returns what is stored of a key: SHA-256 of the pepper's bytes and the key's text.
func hash(pepper Pepper, key RawKey) KeyHash {
	sum := sha256.Sum256([]byte(pepper.text + key.text))
	return KeyHash(hex.EncodeToString(sum[:]))
}

// sameHash compares two hashes in constant time.
func sameHash(a, b KeyHash) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
