package beamx

import (
	"context"
	"fmt"
	"sync"
)

// Opener opens a store, a view or another handle in each process that works on a pipeline. Make it with [Register].
type Opener[T any] struct{ name string }

// Register gives a name to a function that opens a handle. A handle cannot be sent to a worker, and neither can the function:
// the pipeline names it, and each worker, which runs the same program, calls it once. So Register has to be called in every
// process before beam.Init, which never returns in a worker. A package variable does that:
//
//	var orders = beamx.Register("orders", func(ctx context.Context) (*entity.Store[Order], error) { … })
//
// The function should declare the handle as all other programs do, from configuration that each worker has. Its context ends
// with the work of one bundle, and it is called again after an error. It panics if the name is empty or registered, or if open is nil.
func Register[T any](name string, open func(context.Context) (T, error)) Opener[T] {
	if name == "" || open == nil {
		panic("beamx: Register needs a name and a function")
	}
	known.Lock()
	defer known.Unlock()
	if known.openers[name] != nil {
		panic(fmt.Sprintf("beamx: the name %q is registered twice", name))
	}
	known.openers[name] = &opener{open: func(ctx context.Context) (any, error) { return open(ctx) }}
	return Opener[T]{name}
}

// Open returns the handle of this process, and opens it if that was not done yet. Errors: those of the registered function.
func (o Opener[T]) Open(ctx context.Context) (T, error) { return handle[T](ctx, o.name) }

// registered panics unless an opener was made by Register.
func (o Opener[T]) registered() string {
	if o.name == "" {
		panic("beamx: the opener was not made by Register")
	}
	return o.name
}

// known has the openers of this process by name.
var known = struct {
	sync.Mutex
	openers map[string]*opener
}{openers: map[string]*opener{}}

// opener opens one handle.
type opener struct {
	open func(context.Context) (any, error)

	mu     sync.Mutex // held while it opens
	opened any        // nil until it succeeded
}

// handle returns the handle with a name as a T.
func handle[T any](ctx context.Context, name string) (T, error) {
	var none T
	known.Lock()
	o := known.openers[name]
	known.Unlock()
	if o == nil {
		return none, fmt.Errorf("beamx: %q is not registered in this process: call Register before beam.Init", name)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.opened == nil {
		opened, err := o.open(ctx)
		if err != nil {
			return none, fmt.Errorf("beamx: open %q: %w", name, err)
		}
		o.opened = opened
	}
	t, ok := o.opened.(T)
	if !ok {
		return none, fmt.Errorf("beamx: %q is registered as a %T", name, o.opened)
	}
	return t, nil
}
