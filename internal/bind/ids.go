package bind

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// randomBytes are the bytes of an id that follow its time. A UUID replaces 6 of their bits.
type randomBytes [10]byte

// idBytes returns the 48 bits of a time in milliseconds, followed by random.
func idBytes(ms uint64, random randomBytes) (id [16]byte) {
	binary.BigEndian.PutUint64(id[:8], ms<<16)
	copy(id[6:], random[:])
	return id
}

// uuidV7 returns a UUID of version 7, as in RFC 9562, section 5.7, with 74 of the random bits.
func uuidV7(ms uint64, random randomBytes) [16]byte {
	id := idBytes(ms, random)
	id[6] = id[6]&0x0f | 7<<4    // version
	id[8] = id[8]&0x3f | 0b10<<6 // variant
	return id
}

// uuidText returns the text of a UUID in lower case.
func uuidText(id [16]byte) string {
	text := make([]byte, 0, 36)
	for i, end := range []int{4, 6, 8, 10, 16} {
		if i > 0 {
			text = append(text, '-')
		}
		text = hex.AppendEncode(text, id[[]int{0, 4, 6, 8, 10}[i]:end])
	}
	return string(text)
}

// crockford are the digits of base 32 in the text of a ULID.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// ulidText returns the text of a ULID: 26 digits of 5 bits, the highest first.
func ulidText(id [16]byte) string {
	high, low := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	var text [26]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = crockford[low&31]
		high, low = high>>5, low>>5|high<<59
	}
	return string(text[:])
}

// newID returns an id for attribute a with the time of now. Its random bits are a digest of text, which is unique, so that
// every Config.NewID gives as many bits as an id needs.
func newID(s *schema.Schema, a *schema.Attr, now time.Time, text string) (id [16]byte, err error) {
	ms := now.UnixMilli()
	if ms < 0 || ms >= 1<<48 {
		return id, Invalid(s, CodeIDTime, a, "the clock is outside the years 1970 to 10889, which are those of generated ids")
	}
	digest := sha256.Sum256([]byte(text))
	random := randomBytes(digest[:10])
	if a.Role.ID == schema.UUIDv7 {
		return uuidV7(uint64(ms), random), nil
	}
	return idBytes(uint64(ms), random), nil
}
