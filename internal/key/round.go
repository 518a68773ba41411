package key

import "time"

// position says where a value lies relative to all values the part can have.
type position int

const (
	below position = iota - 1
	within
	above
)

// round gives the text of the nearest value that the part can have, upwards or
// downwards, or says that there is none.
func (f *Field) round(v Value, up bool) (string, position) {
	switch {
	case v.Kind == String && v.S == "", v.Kind == Int && v.I < 0:
		return "", below
	case v.Kind == Time:
		v.T = f.Time.nearest(v.T, up)
		if v.T.Year() < 0 || !f.Time.Text() && v.T.Before(time.Unix(0, 0)) {
			return "", below
		}
	}
	text, err := f.Text(v)
	if err != nil {
		return "", above // too wide, or behind the year 9999
	}
	return text, within
}

// nearest gives the nearest time of the format that is not before t, or not
// after it.
func (f TimeFormat) nearest(t time.Time, up bool) time.Time {
	if up {
		return f.ceil(t)
	}
	return f.Truncate(t)
}
