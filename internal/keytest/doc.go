// Package keytest holds tests of keys, cursors and secrets as a program meets them, against a local database. It has no
// code of its own.
package keytest
