package erasingaperson

// Notes are written, deleted and restored until the person is gone.
func example(ctx context.Context) error {
	_, err := people.Create(ctx, Person{PersonID: "p-1", Email: "ada@example.org"})
	for _, text := range []string{"a", "b", "c"} {
		for _, id := range []string{"n-1", "n-2"} {
			err = errors.Join(err, write(ctx, "p-1", notes.Op().Put(Note{PersonID: "p-1", NoteID: id, Text: text})))
		}
		err = errors.Join(err, write(ctx, "p-1", places.Op().Append(Place{PersonID: "p-1", At: time.Now(), Name: text})))
	}
	var writer sync.WaitGroup
	var writing error
	begun := make(chan struct{})
	erasing, erased := context.WithCancel(ctx)
	defer erased()
	writer.Go(func() {
		for i, last := 0, false; writing == nil && !last; i++ {
			last = erasing.Err() != nil
			note := Note{PersonID: "p-1", NoteID: fmt.Sprint("n-1", i)}
			writing = write(ctx, "p-1", notes.Op().Create(note))
			if writing == nil && i%2 == 1 {
				_ = notes.Delete(ctx, note) // it may be gone
			}
			if writing == nil && i%4 == 1 {
				writing = write(ctx, "p-1", deleted.Op().Restore(note))
			}
			if i == 2 {
				close(begun)
			}
		}
	})
	<-begun
	err = errors.Join(err, notes.Delete(ctx, Note{PersonID: "p-1", NoteID: "n-1"}), erase(ctx, "p-1"))
	erased()
	writer.Wait()
	fmt.Println(errors.Is(writing, entity.ErrNotFound))
	err = errors.Join(err, erase(ctx, "p-1")) // what a delete has kept
	left, err1 := client.Scan(ctx, &dynamodb.ScanInput{TableName: &table})
	fmt.Println(left.Count)
	return errors.Join(err, err1)
	// prints
	// true
	// 0
}
