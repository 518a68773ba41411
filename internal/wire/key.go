package wire

import (
	"slices"

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

// KeyNamed returns a key without values that has one or two names.
func KeyNamed(names []string) Key {
	k := Key{Names: new([2]string)}
	copy(k.Names[:], slices.Sorted(slices.Values(names)))
	return k
}

// With returns the key of a map with the names of k.
func (k Key) With(m map[string]types.AttributeValue) Key {
	for i := range k.Len() {
		k.Values[i] = m[k.Names[i]]
	}
	return k
}

// Len returns the number of attributes.
func (k Key) Len() int {
	if k.Names[1] == "" {
		return 1
	}
	return 2
}

// Map returns the key as attribute values.
func (k Key) Map() map[string]types.AttributeValue {
	m := make(map[string]types.AttributeValue, 2)
	for i := range k.Len() {
		m[k.Names[i]] = k.Values[i]
	}
	return m
}
