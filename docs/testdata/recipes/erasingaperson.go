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
	var writers sync.WaitGroup
	begun := make(chan struct{})
	var writing error
	writers.Go(func() {
		for i := 0; writing == nil; i++ {
			if i == 2 {
				close(begun)
			}
			note := Note{PersonID: "p-1", NoteID: fmt.Sprint("n-1", i)}
			writing = write(ctx, "p-1", notes.Op().Create(note))
			if writing != nil || i%2 == 0 {
				continue
			}
			_ = notes.Delete(ctx, note) // it may be gone
			if i%4 == 1 {
				writing = write(ctx, "p-1", deleted.Op().Restore(note))
			}
		}
	})
	<-begun
	err = errors.Join(err, notes.Delete(ctx, Note{PersonID: "p-1", NoteID: "n-1"}), erase(ctx, "p-1"))
	writers.Wait()
	fmt.Println(errors.Is(writing, entity.ErrNotFound))
	err = errors.Join(err, erase(ctx, "p-1")) // what the last delete of the writer kept
	left, err1 := client.Scan(ctx, &dynamodb.ScanInput{TableName: &table})
	fmt.Println(left.Count)
	return errors.Join(err, err1)
	// prints
	// true
	// 0
}
