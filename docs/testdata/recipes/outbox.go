package outbox

var (
	mu       sync.Mutex
	received = map[string]string{} // by id, since a message can come twice
	stop     context.CancelFunc
)

// publish stops the relay before the message is removed, as a crash would.
func publish(_ context.Context, m Message) error {
	mu.Lock()
	defer mu.Unlock()
	received[m.MessageID] = m.Body
	stop()
	return nil
}

func example(ctx context.Context) error {
	err := place(ctx, Order{OrderID: "o-1"})
	fmt.Println(errors.Is(place(ctx, Order{OrderID: "o-1"}), entity.ErrExists))
	var relaying context.Context
	relaying, stop = context.WithCancel(ctx)
	err = errors.Join(err, relay(relaying))
	left, err1 := messages.Query(Message{Topic: "orders"}, entity.Consistent()).Count(ctx)
	fmt.Println(len(received), "announced,", left, "left")
	err = errors.Join(err, err1, place(ctx, Order{OrderID: "o-2"}), sweep(ctx, "orders"))
	left, err1 = messages.Query(Message{Topic: "orders"}, entity.Consistent()).Count(ctx)
	fmt.Println(len(received), "announced,", left, "left")
	return errors.Join(err, err1)
	// prints
	// true
	// 1 announced, 1 left
	// 2 announced, 0 left
}
