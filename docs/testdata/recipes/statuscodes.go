package statuscodes

type Note struct {
	_ entity.Key `name:"Note" pk:"$#{id}" sk:"$"`

	ID   string `dynamodbav:"id"`
	Text string `dynamodbav:"text"`
}

var notes = entity.Must(entity.New[Note](db))

func example(ctx context.Context) error {
	_, created := notes.Create(ctx, Note{ID: "1", Text: "a"})
	_, again := notes.Create(ctx, Note{ID: "1"})
	_, missing := notes.Get(ctx, Note{ID: "2"})
	_, wrong := notes.Get(ctx, Note{})
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, late := notes.Get(ended, Note{ID: "1"})
	for _, err := range []error{created, again, missing, wrong, entity.ErrConditionFailed, late, errors.New("of mine")} {
		fmt.Println(statuses[entity.ClassOf(err)], level(err))
	}
	return nil
	// prints
	// [200 0] INFO
	// [409 6] INFO
	// [404 5] INFO
	// [400 3] INFO
	// [412 9] INFO
	// [503 14] WARN
	// [500 13] ERROR
}
