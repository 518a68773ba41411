package schema

import (
	"math"
	"strings"
	"time"
)

// units are the letters of the units of a duration, in the order in which it names them, and unitSizes how long they are.
const units = "dhms"

var unitSizes = [len(units)]time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second}

// Duration reads "90d" or "1h30m": whole numbers of days, hours, minutes and seconds, each unit at most once and in that
// order, without sign, fraction or bare number. "0d" is 0.
func Duration(text string) (time.Duration, error) {
	if text == "" {
		return 0, errorAt(0, `empty duration: write one like "90d" or "1h30m"`)
	}
	var total time.Duration
	used := 0 // units before this index have passed
	for at := 0; at < len(text); {
		start := at
		var count int64
		for at < len(text) && text[at] >= '0' && text[at] <= '9' {
			digit := int64(text[at] - '0')
			if count > (math.MaxInt64-digit)/10 {
				return 0, errorAt(start, "the duration is too long")
			}
			count = count*10 + digit
			at++
		}
		if at == start {
			return 0, errorAt(at, "expected a whole number")
		}
		if at == len(text) {
			return 0, errorAt(at, "expected a unit: d, h, m or s")
		}
		unit := strings.IndexByte(units, text[at])
		switch {
		case unit < 0:
			return 0, errorAt(at, "expected a unit: d, h, m or s")
		case unit < used:
			return 0, errorAt(at, "each unit can be given once, in the order d h m s")
		}
		size := unitSizes[unit]
		if count > int64((math.MaxInt64-total)/size) {
			return 0, errorAt(start, "the duration is too long")
		}
		total += time.Duration(count) * size
		used = unit + 1
		at++
	}
	return total, nil
}
