package counters

// Each user likes the post twice, and each call is counted twice, at the same time.
func example(ctx context.Context) error {
	_, err := posts.Create(ctx, Post{PostID: "p-1"})
	at := time.Now()
	var calls sync.WaitGroup
	var errs [16]error
	for i := range errs {
		calls.Go(func() {
			if err := like(ctx, "p-1", fmt.Sprint("u-", i%8)); !errors.Is(err, entity.ErrExists) {
				errs[i] = err
			}
			errs[i] = errors.Join(errs[i], count(ctx, "calls", fmt.Sprint("call-", i%8), at))
		})
	}
	calls.Wait()
	post, err1 := posts.Get(ctx, Post{PostID: "p-1"}, entity.Consistent())
	sum, err2 := total(ctx, "calls")
	fmt.Println(post.Likes, sum)
	return errors.Join(append(errs[:], err, err1, err2)...)
	// prints
	// 8 8
}
