package main

import "strings"

// screen is the largest number of characters in a line of the output.
const screen = 118

// fold breaks a long line after a space or a comma, and indents the rest.
func fold(line string) string {
	var folded []string
	indent := strings.Repeat(" ", len(line)-len(strings.TrimLeft(line, " "))+4)
	for len(line) > screen {
		at := strings.LastIndex(line[:screen], ",") + 1 // between attributes, where there are some
		if at < screen/2 {
			at = strings.LastIndexAny(line[:screen], " ,") + 1
		}
		if at <= len(indent) { // a word that is longer than the screen
			next := strings.IndexAny(line[screen:], " ,")
			if next < 0 {
				break
			}
			at = screen + next + 1
		}
		folded = append(folded, strings.TrimRight(line[:at], " "))
		line = indent + strings.TrimLeft(line[at:], " ")
	}
	return strings.Join(append(folded, line), "\n")
}
