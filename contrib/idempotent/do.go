package idempotent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// Result is an answer, and where it comes from.
type Result[A any] struct {
	Answer   A
	Replayed bool      // it is the kept answer of an earlier call
	Until    time.Time // when it ends; zero with an error
}

// Do runs fn once for a key, and returns its answer: that of fn, or the kept one of an earlier call with the key.
//
// The key is what makes a request itself, such as an id from the client; [KeyOf] makes one of several values. The payload is
// what must be the same when the key is: any value that JSON can express, compared as JSON without regard to the order of
// the members of objects; bytes, compared as they are; or nil, for nothing. Both are read before fn runs.
//
// An error of fn is returned as it is; the claim is removed, and a repetition runs fn again. So it is if fn panics. An answer
// that an operation is to keep, although it says no, is no error: make it part of A. fn gets a context that ends with the
// lease.
//
// It costs two requests, which write the record without and with its answer; a kept answer costs one, a refused write of
// the record's size. Errors, if fn has not run: *[InProgressError], *[PayloadMismatchError], *[ClaimError], *[AnswerError];
// *entity.InputError before any request; those of requests. Errors with the answer, if fn has succeeded: *[AnswerError],
// *[TakenOverError], *[NotKeptError].
func Do[A any](ctx context.Context, o *Operation, key string, payload any, fn func(context.Context) (A, error)) (A, error) {
	r, err := DoResult(ctx, o, key, payload, fn)
	return r.Answer, err
}

// DoResult is [Do], and reports whether the answer is a kept one.
func DoResult[A any](ctx context.Context, o *Operation, key string, payload any, fn func(context.Context) (A, error)) (Result[A], error) {
	var r Result[A]
	if o == nil || o.records == nil || fn == nil {
		return r, mistake(codeCall, "idempotent.Operation", "", "a call needs an operation that New has returned, and a function")
	}
	if _, err := json.Marshal(r.Answer); unsupported(err) {
		return r, mistake(codeAnswer, "idempotent.Operation", "answer", fmt.Sprintf("JSON cannot express a %v", reflect.TypeFor[A]()))
	}
	c, err := o.begin(ctx, key, payload)
	if err != nil {
		return r, err
	}
	leased, cancel := context.WithDeadlineCause(ctx, c.ends, ErrLeaseEnded)
	defer cancel()
	kept, err := o.take(leased, c)
	if err != nil {
		return r, err
	}
	if kept != nil {
		return replayed[A](o, kept)
	}
	if r.Answer, err = run(leased, o, c, fn); err != nil {
		return r, err
	}
	text, failed := json.Marshal(r.Answer)
	kept, err = o.finish(ctx, c, text, failed)
	if err == nil {
		r.Until = kept.Ends
	}
	return r, err
}

// unsupported reports whether err says that JSON has nothing for a type.
func unsupported(err error) bool {
	var u *json.UnsupportedTypeError
	return errors.As(err, &u)
}

// replayed returns the answer of a record.
func replayed[A any](o *Operation, kept *Record) (Result[A], error) {
	r := Result[A]{Replayed: true, Until: kept.Ends}
	if kept.State == unkept {
		return r, &AnswerError{o.o.Name, kept.Size, o.o.MaxAnswer, nil}
	}
	if err := json.Unmarshal([]byte(kept.Answer), &r.Answer); err != nil {
		problem := fmt.Sprintf("the kept answer is no %v", reflect.TypeFor[A]()) // the text of err may quote it
		return Result[A]{}, &entity.DecodeError{Entity: o.o.Name, Attr: "answer", Problem: problem}
	}
	return r, nil
}

// run calls fn, and releases the claim unless fn succeeds.
func run[A any](ctx context.Context, o *Operation, c *claim, fn func(context.Context) (A, error)) (answer A, err error) {
	succeeded := false
	defer func() {
		if succeeded {
			return
		}
		if failed := o.release(ctx, c); failed != nil {
			err = errors.Join(err, failed)
		}
	}()
	if ctx.Err() != nil { // the claim took as long as the lease
		return answer, context.Cause(ctx)
	}
	answer, err = fn(ctx)
	succeeded = err == nil
	return answer, err
}
