// Package cursor writes positions in queries as opaque text, encrypted under a key.
package cursor
