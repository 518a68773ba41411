package timeline

import "reflect"

// GroupText is the text of a group key.
func GroupText[K comparable](k K) (string, error) {
	shape, problem := groupKeyCodecOf(reflect.TypeFor[K]())
	if problem != "" {
		panic(problem)
	}
	return shape.text(reflect.ValueOf(&k).Elem())
}

// CursorAfter is a cursor into any rows, as the program made it when it served them.
func CursorAfter[K comparable, S any](v *View[K, S], generation, group string) (string, error) {
	return v.view.cursorAfter(generation, group)
}

// Assembled pushes items through the assembler of a source, and tells after each, and after the end, how many are held.
func Assembled(s Source, items []map[string]value, told func(name string, version int64, before bool), held func(int)) error {
	a := s.origins()[0].assemble().(*versionEvents)
	give := func(r *record) error {
		told(r.name, r.version, r.before != nil)
		return nil
	}
	for _, it := range items {
		if err := a.push(it, give); err != nil {
			return err
		}
		held(len(a.held))
	}
	err := a.flush(give)
	held(len(a.held) + a.size)
	return err
}
