package timeline

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
)

type value = types.AttributeValue

var errCorruptRecord = errors.New("timeline: the bytes are no event")

// instant is a time as bytes that sort as times do.
func formatInstant(t time.Time) (string, error) { return key.Nano.Format(t) }

// appendRecord writes r as bytes.
func appendRecord(b []byte, r *record) ([]byte, error) {
	b = binary.AppendUvarint(b, uint64(r.origin))
	b = binary.AppendVarint(b, r.version)
	b = binary.AppendVarint(b, int64(r.payloadVersion))
	meta := item.Item{"n": item.S(r.name), "k": item.S(r.key)}
	for name, t := range map[string]time.Time{"a": r.at, "s": r.acceptedAt} {
		text, err := formatInstant(t)
		if err != nil {
			return nil, err
		}
		meta[name] = item.S(text)
	}
	b = item.AppendBinary(item.AppendBinary(b, meta), r.item)
	if r.before != nil {
		b = item.AppendBinary(b, r.before)
	}
	return b, nil
}

// parseRecord reads what appendRecord wrote.
func parseRecord(b []byte) (*record, error) {
	origin, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, errCorruptRecord
	}
	b = b[n:]
	var numbers [2]int64
	for i := range numbers {
		if numbers[i], n = binary.Varint(b); n <= 0 {
			return nil, errCorruptRecord
		}
		b = b[n:]
	}
	r := &record{origin: int(origin), version: numbers[0], payloadVersion: int(numbers[1])}
	meta, b, err := item.ParseBinary(b)
	if err != nil {
		return nil, err
	}
	text := func(name string) string {
		s, _ := meta[name].(*types.AttributeValueMemberS)
		if s == nil {
			return ""
		}
		return s.Value
	}
	r.name, r.key = text("n"), text("k")
	if r.at, err = key.Nano.Parse(text("a")); err != nil {
		return nil, err
	}
	if r.acceptedAt, err = key.Nano.Parse(text("s")); err != nil {
		return nil, err
	}
	if r.item, b, err = item.ParseBinary(b); err == nil && len(b) > 0 {
		r.before, _, err = item.ParseBinary(b)
	}
	return r, err
}
