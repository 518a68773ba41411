package main

import (
	"errors"
	"regexp"
	"time"

	"github.com/dynastrata/dynastrata/check"
	"github.com/dynastrata/dynastrata/entity"
)

// APIKey is an item of the table api_keys. The key itself is not stored, only what it hashes to.
type APIKey struct {
	_ entity.Key `name:"APIKey" table:"api_keys" pk:"key_id"`
	_ entity.GSI `name:"byHash" index:"api_key_hash_index" pk:"api_key_hash"`
	_ entity.GSI `name:"byCreation" index:"gsi1" pk:"gsi1pk=api_keys" sk:"gsi1sk={created_at}"`

	KeyID       check.UUID4 `dynamodbav:"key_id"`
	Hash        KeyHash     `dynamodbav:"api_key_hash" entity:"immutable,secret"`
	CreatedAt   time.Time   `dynamodbav:"created_at" entity:"created_at,time=s"`
	LastUsedAt  time.Time   `dynamodbav:"last_used_at,omitempty" entity:"time=s"`
	IsActive    bool        `dynamodbav:"is_active"`
	Description Description `dynamodbav:"description,omitempty"`
}

// KeyHash is the hash of an API key, in lower-case hexadecimal digits.
type KeyHash string

var sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Validate refuses what is no such hash.
func (h KeyHash) Validate() error {
	return check.Pattern(h, sha256Hex, "64 lower-case hexadecimal digits")
}

// Description is what the administrator noted about an API key.
type Description string

// Validate refuses descriptions that are empty, long, or not printable.
func (d Description) Validate() error {
	return errors.Join(check.Characters(d, 1, 256), check.Printable(d))
}
