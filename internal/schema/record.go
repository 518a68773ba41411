package schema

import (
	"strconv"
	"time"
)

// Recorder is implemented by what a feature keeps: what it settles about items on disk. It is how package schemalock
// learns of features without knowing them.
type Recorder interface{ Record(*Schema) Record }

// Record is one declaration of a feature, with the settings that what is on disk depends on.
type Record struct {
	Name     string // versioned.Retain, unique.Constraint(email)
	Settings []Setting
}

// Setting is one of them, as text.
type Setting struct{ Key, Value string }

// ForHowLong is a duration as a tag would have it; 0 is for ever.
func DurationText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == 0:
		return "forever"
	case d%day == 0:
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return d.String()
}
