package main

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeline"
)

// The events of the chat.
const (
	messageCreated  = "message.created" // timeline.Versions gives these two names
	messageDeleted  = "message.deleted"
	messageRejected = "message.rejected"
)

// A User groups the events of the chat.
type User struct {
	UserID string `dynamodbav:"user_id"`
}

// UserState is the accumulator of user_message_state_timeline.
type UserState struct {
	MessageCount   int        `dynamodbav:"message_count"`
	RejectionCount int        `dynamodbav:"rejection_count"`
	LastMessage    *string    `dynamodbav:"last_message"`
	LastChannel    *string    `dynamodbav:"last_channel"`
	LastEventAt    *time.Time `dynamodbav:"last_event_at"`
}

// history is the source of the chat's events: what happened to messages, and what moderators decided.
func (p *handles) history() timeline.Source {
	return timeline.Merge(
		timeline.Versions(p.Past,
			timeline.Upgrade(1, messageV1.today),
			timeline.PartitionKey(func(u User) Message { return Message{UserID: u.UserID} }),
		),
		timeline.Series(p.Verdicts,
			timeline.Classify([]string{messageRejected}, func(e timeline.Event[Verdict]) string {
				if e.Payload.Rejected {
					return messageRejected
				}
				return "" // an accepted message is not an event
			}),
			timeline.PartitionKey(func(u User) Verdict { return Verdict{UserID: u.UserID} }),
		),
	)
}

func author(m Message) User { return User{m.UserID} }
func judged(v Verdict) User { return User{v.UserID} }

// userMessageState is the projection user_message_state_timeline of the chat's specification.
func (p *handles) userMessageState() timeline.Projection[User, UserState] {
	return timeline.Projection[User, UserState]{
		Name: "user_message_state_timeline", Version: 1,
		Source: p.history(),
		Handlers: []timeline.Handler[User, UserState]{
			timeline.On(messageCreated, author, func(s *UserState, e timeline.Event[Message]) error {
				s.MessageCount++
				s.LastMessage, s.LastChannel, s.LastEventAt = &e.Payload.Message, &e.Payload.Channel, &e.At
				return nil
			}),
			timeline.On(messageRejected, judged, func(s *UserState, e timeline.Event[Verdict]) error {
				s.RejectionCount++
				s.LastEventAt = &e.At
				return nil
			}),
			timeline.On(messageDeleted, author, func(s *UserState, e timeline.Event[Message]) error {
				s.MessageCount--
				s.LastEventAt = &e.At
				return nil
			}),
		},
		Retention: 365 * 24 * time.Hour,
		PageSize:  20, MaxPageSize: 100,
		Table: "views",
	}
}

// UserStateWithChannels is [UserState] in a later release.
type UserStateWithChannels struct {
	UserState
	Channels map[string]int `dynamodbav:"channels"` // messages created in each
}

// nextRelease is the same view with a state that also counts channels.
func (p *handles) nextRelease() timeline.Projection[User, UserStateWithChannels] {
	type state = UserStateWithChannels
	old := p.userMessageState()
	count := func(s *UserState, d int, at time.Time) { s.MessageCount += d; s.LastEventAt = &at }
	return timeline.Projection[User, state]{
		Name: old.Name, Version: 2, // a function changed, which the library cannot see
		Source: old.Source,
		Start:  func() state { return state{Channels: map[string]int{}} },
		Handlers: []timeline.Handler[User, state]{
			timeline.On(messageCreated, author, func(s *state, e timeline.Event[Message]) error {
				count(&s.UserState, 1, e.At)
				s.LastMessage, s.LastChannel = &e.Payload.Message, &e.Payload.Channel
				s.Channels[e.Payload.Channel]++
				return nil
			}),
			timeline.On(messageRejected, judged, func(s *state, e timeline.Event[Verdict]) error {
				count(&s.UserState, 0, e.At)
				s.RejectionCount++
				return nil
			}),
			timeline.On(messageDeleted, author, func(s *state, e timeline.Event[Message]) error {
				count(&s.UserState, -1, e.At)
				return nil
			}),
		},
		Retention: old.Retention, PageSize: old.PageSize, MaxPageSize: old.MaxPageSize, Table: old.Table,
	}
}

// messageEventLog is the log of the chat: the events themselves, the newest first.
func (p *handles) messageEventLog() timeline.Log {
	return timeline.Log{
		Name: "message_event_log", Source: p.history(),
		Events:   []string{messageCreated, messageRejected, messageDeleted},
		PageSize: 25, MaxPageSize: 100,
	}
}

// A Span sums up what one sensor of a device has measured.
type Span struct {
	Min, Max, Last float64
}

// DeviceState has a span for each sensor.
type DeviceState struct {
	Sensors map[string]Span `dynamodbav:"sensors"`
}

// readingsOf is the source of the devices' events: items that are written once are events themselves.
func (p *handles) readingsOf() timeline.Source {
	return timeline.Items(p.Readings, &entity.Fields[Reading]().TimestampMS,
		timeline.PartitionKey(func(hardwareID string) Reading { return Reading{HardwareID: hardwareID} }))
}

// deviceSpans projects the readings of each device. They share a partition, so a build reads a partition at a time.
func (p *handles) deviceSpans() timeline.Projection[string, DeviceState] {
	return timeline.Projection[string, DeviceState]{
		Name: "device_spans", Version: 1,
		Source: p.readingsOf(),
		Start:  func() DeviceState { return DeviceState{map[string]Span{}} },
		Handlers: []timeline.Handler[string, DeviceState]{
			timeline.On("reading.stored", func(r Reading) string { return r.HardwareID }, func(s *DeviceState, e timeline.Event[Reading]) error {
				s.measure(e.Payload)
				return nil
			}),
		},
		Retention: retention,
		Table:     "views",
	}
}

// measure adds a reading to the spans.
func (s DeviceState) measure(r Reading) {
	for name, value := range r.Sensors {
		span, ok := s.Sensors[name]
		if !ok {
			span = Span{Min: value, Max: value}
		}
		s.Sensors[name] = Span{Min: min(span.Min, value), Max: max(span.Max, value), Last: value}
	}
}

// readingLog lists the readings of a device, the newest first.
func (p *handles) readingLog() timeline.Log {
	return timeline.Log{Name: "reading_log", Source: p.readingsOf(), PageSize: 10}
}
