package schema

import (
	"reflect"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// becomeText makes a one that is stored as the text that its type marshals itself to.
func (a *Attr) becomeText() {
	a.Text, a.zero, a.Options = true, item.ZeroText(bare(a.Type)), ""
	a.Key, a.Scalar = keyField(a)
}

// TextField is how a Text is encoded.
func (a *Attr) TextField() *item.TextField {
	return &item.TextField{Index: a.Index, Attr: a.Name, OmitEmpty: a.Tag.OmitEmpty, Zero: a.zero}
}

// Mixed reports that the stored order is not that of the values: equality is all that can be asked.
func (a *Attr) Mixed() bool { return a.Text && !a.Role.Ordered }

// asPart makes a part of the primary key a text that could not be one otherwise: no item can have it in another form. What
// may be stored already, the part of another key, has to say so by its role.
func (d *Decl) asPart(a *Attr) {
	if d.primary && a.Key == nil && a.Scalar == "" && a.Tag.Set == "" && item.IsText(bare(a.Type)) {
		a.becomeText()
	}
}

// textHint continues the refusal of a key part.
func textHint(a *Attr) string {
	if !a.Role.Has(tag.Text) && item.IsText(bare(a.Type)) {
		return `; with the role entity:"text" it is stored as its own text, and can`
	}
	return ""
}

// textNested continues the refusal of a type inside a nested value.
func textNested(t reflect.Type) string {
	if item.IsText(t) {
		return "; a type that marshals itself as text can be a field of the entity itself, not of what lies inside one"
	}
	return ""
}
