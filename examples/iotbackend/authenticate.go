package main

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// touchEvery is how exactly last_used_at is known; touchWithin is how long a request waits for it.
const (
	touchEvery  = 5 * time.Minute
	touchWithin = 500 * time.Millisecond
)

var rawKeyForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// authenticate finds the API key that a request presents. It reads an index, which is eventually consistent: a key made or
// revoked a moment ago may be unknown or still pass, unless the strong check is on, which reads the item itself. touched
// says that this call brought last_used_at up to date.
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

// touch notes that a key was used, if that is due. It is not worth failing a request for.
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
