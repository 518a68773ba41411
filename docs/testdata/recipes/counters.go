package counters

// Each user likes the post twice, and each call is counted twice, at the same time.
func example(ctx context.Context) error {
	_, err := perPost.Rebuild(ctx)
	_, err1 := posts.Create(ctx, Post{PostID: "p-1"})
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
	post, err2 := posts.Get(ctx, Post{PostID: "p-1"}, entity.Consistent())
	sum, err3 := total(ctx, "calls")
	fmt.Println(post.Likes, sum)

	reading, stop := context.WithCancel(ctx)
	defer stop()
	reader := stream.NewReader(streams, db, stream.ReaderOptions{Source: table, Alone: true}) // calls a function as Lambda does
	err4 := reader.Consume(reading, func(ctx context.Context, e stream.Event) (stream.Response, error) {
		if _, _, err := perPost.Consume(ctx, e); err != nil {
			return stream.Response{}, err
		}
		resp, _, err := perPost.Consume(ctx, e) // again
		if row, _, _ := perPost.Get(ctx, "p-1"); row.Events == 8 {
			fmt.Println(row.State)
			stop()
		}
		return resp, err
	})
	return errors.Join(append(errs[:], err, err1, err2, err3, err4)...)
	// prints
	// 8 8
	// 8
}
