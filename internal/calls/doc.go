// Package calls holds tests of calls that do many things, or the wrong thing: writes of many requests that are cut off,
// transactions that are repeated under one token, tables made by several programs at once, handles that were not opened.
// It has no code of its own.
package calls
