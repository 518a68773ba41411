package subject

import "github.com/dynastrata/dynastrata/entity"

// The codes of the mistakes that an *entity.InputError has. README.md explains each.
const (
	codeOptions  = "SUBJ-01" // Options that do not fit, or no database
	codeNothing  = "SUBJ-02" // no bound entity has a field with the role subject
	codeKeep     = "SUBJ-03" // Keep names an entity that has no subject, twice, or without a reason
	codeView     = "SUBJ-04" // Views names a view that is not made from such entities, twice, or without a function
	codeRequest  = "SUBJ-05" // a request without an id, or an export without a writer
	codeCursor   = "SUBJ-06" // a cursor of another request, or of other declarations
	codeUnopened = "SUBJ-07" // a Subjects that New did not make
)

// mistake returns an error about an argument.
func mistake(code, typ, field, problem string) error {
	return &entity.InputError{Code: code, Type: typ, Field: field, Problem: problem}
}
