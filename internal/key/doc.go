// Package key composes the text of keys so that text order is the order of the
// values, and computes the ranges of sort keys that a query needs. It does no
// I/O and knows nothing of entities: the schema builds its templates.
package key
