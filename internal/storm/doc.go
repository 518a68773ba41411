// Package storm holds tests of the features that keep versions, deleted copies and unique values, all of them together:
// what concurrent writers, lost answers and stops in the middle must never break. It has no code of its own.
package storm
