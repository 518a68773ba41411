package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// Message is one message of a chat. Each of its states is kept for a year, including the deleted one: they are its history.
type Message struct {
	_ entity.Key           `name:"Message" pk:"$#{user_id}" sk:"$#{message_id}" payload:"2"`
	_ versioned.Retain     `ttl:"365d"`
	_ lifecycle.SoftDelete // the copies of deleted messages stay

	UserID    string    `dynamodbav:"user_id"`
	MessageID string    `dynamodbav:"message_id"`
	Message   string    `dynamodbav:"message"`
	Channel   string    `dynamodbav:"channel"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"created_at" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updated_at" entity:"updated_at"`
}

// messageV1 is the struct of last year's program. It stored the channel with the text, and its items still exist.
type messageV1 struct {
	_ entity.Key           `name:"Message" pk:"$#{user_id}" sk:"$#{message_id}"` // payload version 1
	_ versioned.Retain     `ttl:"365d"`
	_ lifecycle.SoftDelete // the copies of deleted messages stay

	UserID    string    `dynamodbav:"user_id"`
	MessageID string    `dynamodbav:"message_id"`
	Body      string    `dynamodbav:"body"` // channel: text
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"created_at" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updated_at" entity:"updated_at"`
}

// today converts a payload of version 1 to today's shape. Every replay calls it; what is stored does not change.
func (m messageV1) today() (Message, error) {
	channel, text, ok := strings.Cut(m.Body, ": ")
	if !ok {
		return Message{}, fmt.Errorf("the body names no channel")
	}
	return Message{
		UserID: m.UserID, MessageID: m.MessageID, Message: text, Channel: channel,
		Version: m.Version, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
	}, nil
}

// Verdict is a moderator's decision about a message. Moderators work offline: a verdict has the time of the decision, and the
// store may accept it much later.
type Verdict struct {
	_ entity.Key        `name:"Verdict" pk:"$#{user_id}" sk:"$#{message_id}"`
	_ timeseries.Events `orderBy:"decided_at" late:"record" ttl:"365d"`

	UserID    string    `dynamodbav:"user_id"`
	MessageID string    `dynamodbav:"message_id"`
	DecidedAt time.Time `dynamodbav:"decided_at"`
	Rejected  bool      `dynamodbav:"rejected" entity:"append"`
}

// retention is the time that readings are kept, from the service's configuration.
const retention = 90 * 24 * time.Hour

// Reading is one report of a device, in a table with a fixed format: its keys are attributes of the domain, and only the
// attributes below are stored. Such items do not record when they were accepted.
type Reading struct {
	_ entity.Key    `name:"Reading" table:"device_readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}"`
	_ lifecycle.TTL `attr:"expiration_time" from:"timestamp_ms"`

	HardwareID      string             `dynamodbav:"hardware_id"`
	TimestampMS     int64              `dynamodbav:"timestamp_ms" entity:"time=unixms"`
	BatchID         string             `dynamodbav:"batch_id"`
	BootID          string             `dynamodbav:"boot_id"`
	FirmwareVersion string             `dynamodbav:"firmware_version"`
	FriendlyName    string             `dynamodbav:"friendly_name,omitempty"`
	Sensors         map[string]float64 `dynamodbav:"sensors"`
	SensorStatus    map[string]string  `dynamodbav:"sensor_status"`
	ExpirationTime  int64              `dynamodbav:"expiration_time,omitempty"`
}

// handles are what entity.Bind opens.
type handles struct {
	Messages *entity.Store[Message]
	Past     *versioned.History[Message]
	Verdicts *timeseries.Series[Verdict]
	Readings *entity.Store[Reading]
}

// program is one running program: its declarations on the tables of the story.
type program struct {
	*handles
	db *entity.DB
}

// namesOf are the physical tables: the first has messages and verdicts, views has the rows. So scans of history do not read
// rows.
func namesOf(table string) []string { return []string{table, table + "-readings", table + "-views"} }

// connect declares a program's entities. It does no I/O.
func connect(client entity.Client, table string, clock func() time.Time, change ...func(*entity.Config)) (*entity.DB, error) {
	names := namesOf(table)
	c := entity.Config{
		Table: names[0], Tables: map[string]string{"device_readings": names[1], "views": names[2]},
		Namespace: entity.Namespace{Name: "chat", Version: 1},
		Clock:     clock,
	}
	for _, f := range change {
		f(&c)
	}
	return entity.Open(client, c)
}

// keep is how long readings are kept.
func keep() entity.BindOption { return entity.For[Reading](lifecycle.After(retention)) }

// open is today's program without its views.
func open(client entity.Client, table string, clock func() time.Time, change ...func(*entity.Config)) (p program, err error) {
	if p.db, err = connect(client, table, clock, change...); err != nil {
		return p, err
	}
	p.handles, err = entity.Bind[handles](p.db, keep())
	return p, err
}
