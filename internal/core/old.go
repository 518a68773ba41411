package core

import (
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/opt"
)

// Returning is spec for a verb that knows the item before its write: what entity.Returning asks for is filled in when the
// write has been applied.
func Returning(c *Core, spec opt.Write) opt.Write {
	if spec.Old == nil {
		return spec
	}
	dst := reflect.ValueOf(spec.Old)
	if dst.Type() != reflect.PointerTo(c.Schema.Type) {
		spec.Add(fmt.Errorf("Returning takes a pointer to a %s, not a %T", c.Schema.Type, spec.Old))
		return spec
	}
	spec.Was = func(it map[string]types.AttributeValue) error {
		old := reflect.New(c.Schema.Type)
		if it != nil {
			if err := c.Decode(it, old.Interface()); err != nil {
				return err
			}
		}
		dst.Elem().Set(old.Elem())
		return nil
	}
	return spec
}
