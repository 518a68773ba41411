package main

import (
	"crypto/rand"
	"fmt"
)

// MAC is a hardware address of six bytes as upper-case hexadecimal pairs: "AA:BB:CC:00:11:22". Another spelling of the
// same address would be another key.
type MAC string

// UUID4 is a random UUID in lower-case hexadecimal digits.
type UUID4 string

// randomUUID returns a new UUID of version 4.
func randomUUID() UUID4 {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: see crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return UUID4(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}
