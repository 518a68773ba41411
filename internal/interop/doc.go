// Package interop has no code. Its tests replay what was recorded of effect-dynamodb with this library's public API, and
// compare the tables byte by byte and the keys vector by vector.
package interop
