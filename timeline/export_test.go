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

// CursorAfter is a cursor into any rows, as the program made it when it served them.
func CursorAfter[K comparable, S any](v *View[K, S], generation, group string) (string, error) {
	return v.cursorAfter(generation, group)
}
