package tag

import "strings"

// Nearest gives the word of known that word is most likely a misspelling of,
// or "" when none is near. Case does not count; of equally near words the first
// is taken.
func Nearest(word string, known []string) string {
	best, least := "", 0
	for _, candidate := range known {
		a, b := []rune(strings.ToLower(word)), []rune(strings.ToLower(candidate))
		longer := max(len(a), len(b))
		limit := min((longer+2)/3, 3) // about one mistake in three letters
		if longer-min(len(a), len(b)) > limit {
			continue // before distance, whose cost is the product of the lengths
		}
		d := distance(a, b)
		if d <= limit && d < longer && (best == "" || d < least) {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b []rune) int {
	var before []int // the row above previous, for swaps
	previous := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := previous[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, previous[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, previous = previous, row
	}
	return previous[len(b)]
}
