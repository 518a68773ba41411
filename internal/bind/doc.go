// Package bind checks and encodes the arguments of verbs: options, keys, values, conditions, changes, and the index keys that follow.
// It has the codes of bad input. Nothing is read or sent here.
package bind
