package timeline

import (
	"reflect"
	"time"
)

// GroupText returns the text of a group key.
func GroupText[K comparable](k K) (string, error) {
	codec, problem := groupKeyCodecOf(reflect.TypeFor[K]())
	if problem != "" {
		panic(problem)
	}
	return codec.text(reflect.ValueOf(&k).Elem())
}

// Assembled pushes items through the assembler of a source. It calls emitted for each event, and held with the number of
// held items after each item and at the end.
func Assembled(s Source, items []map[string]value, emitted func(name string, version int64, before bool), held func(int)) error {
	a := s.origins()[0].assemble().(*versionEvents)
	give := func(r *record) error {
		emitted(r.name, r.version, r.before != nil)
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

func init() { betweenLooks = 5 * time.Millisecond } // how long Ensure waits for another process
