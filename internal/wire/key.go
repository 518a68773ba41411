package wire

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Key is a primary key, without the memory of a map. Its attributes are in the order of their names; a key without sort key
// has one, and the second name is "".
type Key struct {
	Names  *[2]string
	Values [2]types.AttributeValue
}

// KeyOf returns the key of a map with one or two attributes.
func KeyOf(m map[string]types.AttributeValue) Key {
	k, n := Key{Names: new([2]string)}, 0
	for name := range m {
		k.Names[n] = name
		n++
	}
	if n == 2 && k.Names[1] < k.Names[0] {
		k.Names[0], k.Names[1] = k.Names[1], k.Names[0]
	}
	return k.With(m)
}

// With returns the key of a map with the names of k.
func (k Key) With(m map[string]types.AttributeValue) Key {
	k.Values[0], k.Values[1] = m[k.Names[0]], m[k.Names[1]]
	return k
}

func (k Key) Map() map[string]types.AttributeValue {
	m := make(map[string]types.AttributeValue, 2)
	for i, name := range k.Names {
		if name != "" {
			m[name] = k.Values[i]
		}
	}
	return m
}
