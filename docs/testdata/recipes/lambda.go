package lambda

func example(ctx context.Context) error {
	_, err := orders.Create(ctx, Order{OrderID: "o-1"})
	late, end := context.WithTimeout(ctx, time.Second)
	defer end()
	short, stop := within(late, 2*time.Second)
	defer stop()
	_, err1 := orders.Create(short, Order{OrderID: "o-2"})
	fmt.Println(errors.Is(err1, context.DeadlineExceeded), entity.IsAmbiguous(err1), late.Err())

	reading, done := context.WithCancel(ctx)
	defer done()
	reader := stream.NewReader(streams, db, stream.ReaderOptions{Source: table, Alone: true}) // calls a function as Lambda does
	err2 := reader.Consume(reading, func(ctx context.Context, e stream.Event) (stream.Response, error) {
		resp, err := onStream(late, e) // less than the margin is left
		fmt.Println(resp.Handled, len(resp.BatchItemFailures), err)
		for range 2 {
			resp, err = onStream(ctx, e)
			for resp.Failure != nil && err == nil { // a lost answer
				resp, err = onStream(ctx, e)
			}
			fmt.Println(resp.Handled, len(resp.BatchItemFailures), err)
		}
		done()
		return resp, err
	})
	made, err3 := receipts.Scan(entity.Consistent()).Count(ctx)
	fmt.Println(made, "receipt")
	return errors.Join(err, err2, err3)
	// prints
	// true false <nil>
	// 0 1 <nil>
	// 1 0 <nil>
	// 1 0 <nil>
	// 1 receipt
}
