// Package conformance holds the tests of features together: every combination of unique values, versions and soft delete,
// on every verb, alone and in transactions.
package conformance
