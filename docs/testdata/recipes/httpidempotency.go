package httpidempotency

// Four copies of a request overlap.
func example(ctx context.Context) error {
	var calls sync.WaitGroup
	bodies, errs := [4]string{}, [4]error{}
	for i := range bodies {
		calls.Go(func() { bodies[i], errs[i] = post(ctx, "c-1", "k-1", "lamp") })
	}
	calls.Wait()
	made, err := orders.Scan(entity.Consistent()).Collect(ctx)
	fmt.Println(len(made), "order")
	for _, body := range bodies {
		fmt.Println(body == made[0].OrderID)
	}
	_, other := post(ctx, "c-1", "k-1", "desk")
	fmt.Println(other)
	return errors.Join(append(errs[:], err)...)
	// prints
	// 1 order
	// true
	// true
	// true
	// true
	// 422: the key was used for another request
}
