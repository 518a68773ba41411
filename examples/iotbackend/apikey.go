package main

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// APIKey is an item of the table api_keys. The key itself is not stored, only what it hashes to.
type APIKey struct {
	_ entity.Key `name:"APIKey" table:"api_keys" pk:"key_id"`
	_ entity.GSI `name:"byHash" index:"api_key_hash_index" pk:"api_key_hash"`
	_ entity.GSI `name:"byCreation" index:"gsi1" pk:"gsi1pk=api_keys" sk:"gsi1sk={created_at}"`

	KeyID       UUID4       `dynamodbav:"key_id" validate:"uuid4"`
	Hash        KeyHash     `dynamodbav:"api_key_hash" entity:"immutable,secret" validate:"sha256,lowercase"`
	CreatedAt   time.Time   `dynamodbav:"created_at" entity:"created_at,time=s"`
	LastUsedAt  time.Time   `dynamodbav:"last_used_at,omitempty" entity:"time=s"`
	IsActive    bool        `dynamodbav:"is_active"`
	Description Description `dynamodbav:"description,omitempty" validate:"omitempty,note"`
}

// KeyHash is the hash of an API key, in lower-case hexadecimal digits.
type KeyHash string

// Description is what the administrator noted about an API key.
type Description string
