package main

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// touchEvery is the precision of last_used_at; touchWithin is how long a request waits for its update.
const (
	touchEvery  = 5 * time.Minute
	touchWithin = 500 * time.Millisecond
)

var rawKeyForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// authenticate finds the API key of a request. It reads an index, which is eventually consistent: a key that was created or
// revoked a moment ago may be unknown or still be accepted, unless the strong check reads the item itself. touched reports
// whether this call updated last_used_at.
func (b *backend) authenticate(ctx context.Context, presented RawKey) (key APIKey, touched bool, err error) {
	if !rawKeyForm.MatchString(presented.text) {
		return APIKey{}, false, errUnauthorized
	}
	want := hash(b.pepper, presented)
	found, err := b.byHash.Query(APIKey{Hash: want}, entity.Limit(2)).Collect(ctx)
	switch {
	case err != nil:
		return APIKey{}, false, err
	case len(found) == 0:
		return APIKey{}, false, errUnauthorized
	case len(found) > 1:
		return APIKey{}, false, errTwoKeys
	}
	key = found[0]
	if b.strongCheck {
		if key, err = b.keys.Get(ctx, APIKey{KeyID: key.KeyID}, entity.Consistent()); errors.Is(err, entity.ErrNotFound) {
			return APIKey{}, false, errUnauthorized
		} else if err != nil {
			return APIKey{}, false, err
		}
	}
	if !sameHash(key.Hash, want) || !key.IsActive {
		return APIKey{}, false, errUnauthorized
	}
	return key, b.touch(ctx, key), nil
}

// touch records that a key was used, if that is due. A failure does not fail the request.
func (b *backend) touch(ctx context.Context, key APIKey) bool {
	if !key.LastUsedAt.IsZero() && b.clock().Sub(key.LastUsedAt) < touchEvery {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, touchWithin)
	defer cancel()
	touched, err := b.keys.Touch(ctx, APIKey{KeyID: key.KeyID}, &keyField.LastUsedAt, touchEvery)
	if err != nil {
		b.log.WarnContext(ctx, "last_used_at was not brought up to date", "key_id", key.KeyID, "error", err)
	}
	return touched
}
