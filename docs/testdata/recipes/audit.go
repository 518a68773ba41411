package audit

func example(ctx context.Context) error {
	a, key := entity.Fields[Account](), Account{AccountID: "a-1"}
	var mistake *entity.InputError
	_, err := accounts.Create(ctx, key)
	fmt.Println(errors.As(err, &mistake), mistake.Code)
	_, err1 := accounts.Create(because(ctx, "ann", "a new customer"), key)
	_, err2 := accounts.Update(because(ctx, "bob", ""), key, entity.Set(&a.Limit, 500))
	err = errors.Join(err1, err2, accounts.Delete(because(ctx, "cleo", "fraud"), key))
	for v, err := range history.List(key, versioned.WithCurrent()).All(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("%d: limit %d, by %s: %q %t\n", v.Number, v.Item.Limit, v.Item.By, v.Item.Why, v.Deleted)
	}
	return err
	// prints
	// true EDD-9251
	// 1: limit 0, by ann: "a new customer" false
	// 2: limit 500, by bob: "" false
	// 3: limit 500, by cleo: "fraud" true
}
