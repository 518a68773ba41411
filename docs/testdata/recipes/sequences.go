package sequences

// Six orders get an invoice, and each is asked for twice at the same time.
func example(ctx context.Context) error {
	_, err := ledgers.Create(ctx, Ledger{Tenant: "acme"})
	byNumber, err1 := invoices.Index("byNumber")
	var calls sync.WaitGroup
	var numbers [12]int
	errs := []error{11: nil}
	for i := range errs {
		calls.Go(func() {
			var invoice Invoice
			invoice, errs[i] = issue(ctx, "acme", fmt.Sprint("o-", i%6))
			numbers[i] = invoice.Number
		})
	}
	calls.Wait()
	stored, err2 := byNumber.Query(Invoice{Tenant: "acme"}).Collect(ctx)
	for i, invoice := range stored {
		fmt.Println(invoice.Number, slices.Contains(numbers[:], i+1))
	}
	slices.Sort(numbers[:])
	fmt.Println(len(slices.Compact(numbers[:])))
	_, err3 := ledgers.Update(ctx, Ledger{Tenant: "acme"}, entity.Set(&entity.Fields[Ledger]().Open, 99))
	var late [3]error
	for i := range late {
		calls.Go(func() { _, late[i] = issue(ctx, "acme", fmt.Sprint("late-", i)) })
	}
	calls.Wait()
	fmt.Println(len(slices.DeleteFunc(late[:], func(err error) bool { return !errors.Is(err, errFull) })), "more are too many")
	return errors.Join(append(errs, err, err1, err2, err3)...)
	// prints
	// 1 true
	// 2 true
	// 3 true
	// 4 true
	// 5 true
	// 6 true
	// 6
	// 2 more are too many
}
