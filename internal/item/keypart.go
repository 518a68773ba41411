package item

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/key"
)

// KeyPart is an attribute that keys of the item tell too. Where an item lacks it, because an index does not carry it or
// another program has stored it in the key alone, the first key that is there is read back.
type KeyPart struct {
	Attr string
	Keys []KeyText
}

// KeyText is a stored key attribute and how its text is composed.
type KeyText struct {
	Attr     string
	Template *key.Template
}

// withParts is it with the key parts that it lacks. An item that has them costs a look at each and no more.
func (c *Codec) withParts(it Item) (Item, error) {
	full := it
	for i := range c.Parts {
		p := &c.Parts[i]
		if _, ok := it[p.Attr]; ok {
			continue
		}
		av, err := p.read(it)
		switch {
		case err != nil:
			return nil, err
		case av == nil:
			continue
		case len(full) == len(it):
			full = Clone(it)
		}
		full[p.Attr] = av
	}
	return full, nil
}

// read is the part as the item's keys give it, nil when they are absent.
func (p *KeyPart) read(it Item) (types.AttributeValue, error) {
	for _, k := range p.Keys {
		s, ok := it[k.Attr].(*types.AttributeValueMemberS)
		if !ok {
			continue
		}
		av, err := k.Template.Read(s.Value, p.Attr)
		if err != nil {
			return nil, &FieldError{p.Attr, "the attribute is absent, and the text in " + k.Attr + ", which it is part of, does not fit its template"}
		}
		return av, nil
	}
	return nil, nil
}
