// Package lint has the tests that hold the source tree to the rules that the compiler does not know.
package lint

import "regexp"

// Avoided matches words that obscure a sentence, or that the glossary has a better term for. Neither documents nor comments
// use them.
var Avoided = regexp.MustCompile(`(?i)\b(anew|tells|told|somebody|beside|thereof|satellites?|the bin|is none)\b`)
