// Package lint has no code, only tests: they hold the source tree to the rules that the compiler does not know.
package lint
