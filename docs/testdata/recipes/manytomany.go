package manytomany

func example(ctx context.Context) error {
	_, err := groups.Create(ctx, Group{GroupID: "chess"})
	ann, bob := Member{UserID: "ann", GroupID: "chess"}, Member{UserID: "bob", GroupID: "chess"}
	err = errors.Join(err, join(ctx, ann), join(ctx, bob))
	fmt.Println(errors.Is(join(ctx, ann), entity.ErrExists))
	of, err1 := members.Query(Member{UserID: "ann"}).Count(ctx)
	in, err2 := byGroup.Query(Member{GroupID: "chess"}).Count(ctx)
	fmt.Println(of, in, errors.Is(dissolve(ctx, "chess"), entity.ErrConditionFailed))
	err = errors.Join(err, err1, err2, leave(ctx, ann))
	fmt.Println(errors.Is(leave(ctx, ann), entity.ErrNotFound))

	// One of both comes first.
	var calls sync.WaitGroup
	var joined, dissolved error
	err = errors.Join(err, leave(ctx, bob))
	calls.Go(func() { joined = join(ctx, ann) })
	calls.Go(func() { dissolved = dissolve(ctx, "chess") })
	calls.Wait()
	fmt.Println(errors.Is(joined, entity.ErrNotFound) != errors.Is(dissolved, entity.ErrConditionFailed))
	return err
	// prints
	// true
	// 1 2 true
	// true
	// true
}
