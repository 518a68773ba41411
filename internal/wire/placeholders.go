package wire

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Placeholders are the names and values that the placeholders of expressions stand for, without the memory of maps: the i-th
// name for #i, the i-th value for :i.
type Placeholders struct {
	Names  []string
	Values []types.AttributeValue
}

// NameMap returns the names as a request has them, nil without any.
func (p *Placeholders) NameMap() map[string]string {
	if len(p.Names) == 0 {
		return nil
	}
	m := make(map[string]string, len(p.Names))
	for i, name := range p.Names {
		m[Placeholder('#', i)] = name
	}
	return m
}

// ValueMap returns the values as a request has them, nil without any.
func (p *Placeholders) ValueMap() map[string]types.AttributeValue {
	if len(p.Values) == 0 {
		return nil
	}
	m := make(map[string]types.AttributeValue, len(p.Values))
	for i, v := range p.Values {
		m[Placeholder(':', i)] = v
	}
	return m
}

// some are the placeholders of one digit and two.
var some = func() (all struct{ names, values [100]string }) {
	for i := range 100 {
		all.names[i], all.values[i] = "#"+strconv.Itoa(i), ":"+strconv.Itoa(i)
	}
	return all
}()

// Placeholder returns the placeholder of the i-th name, for '#', or value, for ':'.
func Placeholder(of byte, i int) string {
	switch {
	case i >= len(some.names):
		return string(of) + strconv.Itoa(i)
	case of == '#':
		return some.names[i]
	}
	return some.values[i]
}
