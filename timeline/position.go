package timeline

import "strings"

// separator stands between the parts of a position and sorts before every byte of them.
const separator = "\x00"

// position is where an event stands in the order of its group: time, source and key, compared as bytes.
func position(o *origin, r *record) (string, error) {
	at, err := formatInstant(r.at)
	return at + separator + o.id + separator + r.key, err
}

// sortKey is what events are sorted by: their group, then their position; downwards turns the latter round.
func sortKey(group, position string, downwards bool) []byte {
	if downwards {
		position = reversed(position)
	}
	return []byte(group + separator + position)
}

// turned is text whose order is the reverse of that of positions: every byte is turned round, and the end sorts after
// all of them.
func reversed(position string) string {
	b := make([]byte, len(position)+1)
	for i := range len(position) {
		b[i] = 0xFF - position[i]
	}
	b[len(position)] = 0xFF
	return string(b)
}

// groupOf is the group of a sort key.
func groupOfSortKey(sortKey []byte) string {
	group, _, _ := strings.Cut(string(sortKey), separator)
	return group
}
