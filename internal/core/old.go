package core

import (
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/opt"
)

// Returning is spec for a verb whose items are T and that knows the item before its write: what entity.Returning asks for
// is filled in when the write has been applied.
func Returning[T any](c *Core, spec opt.Spec) opt.Spec {
	if spec.Old == nil {
		return spec
	}
	dst, ok := spec.Old.(*T)
	if !ok {
		spec.Errs = append(spec.Errs, fmt.Errorf("Returning takes a pointer to a %s, not a %T", reflect.TypeFor[T](), spec.Old))
		return spec
	}
	spec.Was = func(it map[string]types.AttributeValue) error {
		var old T
		if it != nil {
			var err error
			if old, err = Decode[T](c, it); err != nil {
				return err
			}
		}
		*dst = old
		return nil
	}
	return spec
}
