package check

// Rule names a rule of this package.
type Rule string

// The rules that an [Error] can name.
const (
	RuleMAC         Rule = "mac"          // of MAC
	RuleUUID4       Rule = "uuid4"        // of UUID4
	RuleUTCSeconds  Rule = "utc_seconds"  // of UTCSeconds
	RuleBytes       Rule = "bytes"        // of Bytes
	RuleCharacters  Rule = "characters"   // of Characters
	RulePrintable   Rule = "printable"    // of Printable and ASCII
	RulePattern     Rule = "pattern"      // of Pattern
	RuleOneOf       Rule = "one_of"       // of OneOf
	RuleBetween     Rule = "between"      // of Between
	RuleFinite      Rule = "finite"       // of Finite
	RuleUnixSeconds Rule = "unix_seconds" // of UnixSeconds
	RuleUnixMillis  Rule = "unix_millis"  // of UnixMillis
)

// Error is a value that does not follow a rule. Problem says what the rule asks for, never what the value was.
type Error struct {
	Rule    Rule
	Problem string
}

// Error returns the rule and what it asks for.
func (e *Error) Error() string { return string(e.Rule) + ": " + e.Problem }
