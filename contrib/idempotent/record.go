package idempotent

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// The states of a record.
const (
	running = "running" // a call has claimed the key until the lease ends
	done    = "done"    // the answer is kept
	unkept  = "unkept"  // the function has succeeded, and its answer cannot be kept
)

// Record is what is stored of an operation under a key. It has the key parts operation and key.
type Record struct {
	Operation string    `dynamodbav:"operation"`
	Key       string    `dynamodbav:"key"`                        // SHA-256 digest of the key
	Token     string    `dynamodbav:"token" entity:"id=uuidv7"`   // of the call that wrote it
	Payload   string    `dynamodbav:"payload"`                    // SHA-256 digest of the payload
	State     string    `dynamodbav:"state"`                      // running, done or unkept
	Until     time.Time `dynamodbav:"until" entity:"time=unixms"` // end of the lease
	Ends      time.Time `dynamodbav:"ends" entity:"time=unixms"`  // it is a record until then
	Answer    string    `dynamodbav:"answer,omitempty"`           // JSON
	Size      int       `dynamodbav:"size,omitempty"`             // bytes of an answer that was too large
}

func (r *Record) record() *Record { return r }

// Answer is the entity of records in a table whose time to live is on the attribute _ttl, the default of entity.Config.TTL.
// For another attribute, name or key, declare an entity of your own:
//
//	type Answer struct {
//		_ entity.Key    `name:"Answer" pk:"$#{operation}#{key}" sk:"$"`
//		_ lifecycle.TTL `attr:"expiresAt" from:"ends" after:"1s"`
//		idempotent.Record
//	}
type Answer struct {
	_ entity.Key    `name:"IdempotentAnswer" pk:"$#{operation}#{key}" sk:"$"`
	_ lifecycle.TTL `attr:"_ttl" from:"ends" after:"1s"`
	Record
}

// Embeds is the constraint of pointers to structs that embed [Record].
type Embeds[T any] interface {
	*T
	record() *Record
}

// records are the requests for records, of whatever entity.
type records interface {
	// stamped returns r with a new token, and the time, in milliseconds.
	stamped(ctx context.Context, r Record) (Record, time.Time, error)
	// create writes r unless there is a record.
	create(ctx context.Context, r Record) error
	// replace writes r over held, if that has not changed.
	replace(ctx context.Context, r Record, held *Record) error
	// remove removes held, if that has not changed.
	remove(ctx context.Context, held *Record) error
	// refused returns the record that refused a write.
	refused(err error) (*Record, bool)
}

// storeOf are records of an entity of a program.
type storeOf[T any, P Embeds[T]] struct{ store *entity.Store[T] }

func (s storeOf[T, P]) value(r Record) (v T) {
	*P(&v).record() = r
	return v
}

// stamped takes both from a new UUID of version 7: it begins with the milliseconds of the DB's clock, and ends with a digest
// of what the DB's NewID returned.
func (s storeOf[T, P]) stamped(ctx context.Context, r Record) (Record, time.Time, error) {
	r.Token = ""
	v, err := s.store.Complete(ctx, s.value(r))
	if err != nil {
		return r, time.Time{}, err
	}
	r.Token = P(&v).record().Token
	digits, err := hex.DecodeString(r.Token[:8] + r.Token[9:13])
	if err != nil {
		return r, time.Time{}, err
	}
	ms := int64(0)
	for _, b := range digits {
		ms = ms<<8 | int64(b)
	}
	return r, time.UnixMilli(ms), nil
}

func (s storeOf[T, P]) create(ctx context.Context, r Record) error {
	_, err := s.store.Create(ctx, s.value(r))
	return err
}

// unchanged is the condition that a record was written by the same call, and is in the same state.
func (s storeOf[T, P]) unchanged(held *Record) entity.GuardOption {
	f := P(entity.Fields[T]()).record()
	return entity.If(entity.Eq(&f.Token, held.Token), entity.Eq(&f.State, held.State))
}

func (s storeOf[T, P]) replace(ctx context.Context, r Record, held *Record) error {
	_, err := s.store.Put(ctx, s.value(r), s.unchanged(held))
	return err
}

func (s storeOf[T, P]) remove(ctx context.Context, held *Record) error {
	return s.store.Delete(ctx, s.value(*held), entity.IfPresent(nil), s.unchanged(held))
}

func (s storeOf[T, P]) refused(err error) (*Record, bool) {
	v, found := entity.StoredItem[T](err)
	return P(&v).record(), found
}
