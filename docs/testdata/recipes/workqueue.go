package workqueue

// A second worker tries the queue while the first is at each job. A third job is cancelled while it is in the index of the first query.
func example(ctx context.Context) error {
	var ids []string
	for range 3 {
		job, err := jobs.Create(ctx, Job{Queue: "mail-1"})
		if err != nil {
			return err
		}
		ids = append(ids, job.JobID)
	}
	done := map[string]int{}
	slices.Sort(ids)
	err := drain(ctx, "mail-1", func(ctx context.Context, job Job) error {
		done[job.JobID]++
		var taken *lease.TakenError
		fmt.Println(errors.As(drain(ctx, "mail-1", nil), &taken))
		if len(done) == 2 {
			return errors.New("no such address")
		}
		_, err := jobs.Update(ctx, Job{JobID: ids[2]}, entity.Set(&entity.Fields[Job]().Status, "cancelled"))
		return err
	})
	for _, id := range ids {
		job, got := jobs.Get(ctx, Job{JobID: id}, entity.Consistent())
		err = errors.Join(err, got)
		fmt.Println(done[id], job.Status)
	}
	left, err1 := waiting.Query(Job{Queue: "mail-1"}).Count(ctx)
	fmt.Println(left, "left")

	// A worker that lost the lease unaware cannot finish.
	job, err2 := jobs.Create(ctx, Job{Queue: "mail-1"})
	held, err3 := leases.Acquire(ctx, "mail-1")
	err4 := held.Release(ctx)
	lost := finish(ctx, held, job, func(context.Context, Job) error { return nil })
	fmt.Println(errors.Is(lost, lease.ErrLost))
	return errors.Join(err, err1, err2, err3, err4, drain(ctx, "mail-1", func(context.Context, Job) error { return nil }))
	// prints
	// true
	// true
	// 1 done
	// 1 failed
	// 0 cancelled
	// 0 left
	// true
}
