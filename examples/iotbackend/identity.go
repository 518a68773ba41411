package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/dynastrata/dynastrata/check"
)

// randomUUID returns a new UUID of version 4.
func randomUUID() check.UUID4 {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: see crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return check.UUID4(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}

// randomKey returns a new API key: 32 random bytes.
func randomKey() RawKey {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: see crypto/rand
	return RawKey{hex.EncodeToString(b[:])}
}
