package referenceswithoutn1

// 150 orders of 3 customers, of which one is gone: two pages.
func example(ctx context.Context) error {
	_, err := customers.PutMany(ctx, []Customer{{CustomerID: "c-0", Name: "Ada"}, {CustomerID: "c-1", Name: "Bob"}})
	var all []Order
	for i := range 150 {
		all = append(all, Order{Day: "monday", OrderID: fmt.Sprintf("o-%03d", i), CustomerID: fmt.Sprint("c-", i%3)})
	}
	_, err1 := orders.PutMany(ctx, all)
	for cursor, page := "", 1; ; page++ {
		p, of, err2 := list(ctx, "monday", cursor)
		if err := errors.Join(err, err1, err2); err != nil {
			return err
		}
		names := map[string]int{}
		for i, o := range p.Items {
			if of[i] == nil {
				names["nobody"]++
			} else if of[i].CustomerID == o.CustomerID {
				names[of[i].Name]++
			}
		}
		fmt.Println(page, names)
		if cursor = p.Next; cursor == "" {
			return nil
		}
	}
	// prints
	// 1 map[Ada:34 Bob:33 nobody:33]
	// 2 map[Ada:16 Bob:17 nobody:17]
}
