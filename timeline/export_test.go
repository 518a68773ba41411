package timeline

import "reflect"

// GroupText is the text of a group key.
func GroupText[K comparable](k K) (string, error) {
	shape, problem := shapeOf(reflect.TypeFor[K]())
	if problem != "" {
		panic(problem)
	}
	return shape.text(reflect.ValueOf(&k).Elem())
}
