package main

import (
	"context"
	"errors"

	"github.com/dynastrata/dynastrata/entity"
)

// createKey makes an API key. The raw key is returned here and nowhere else. The create goes as a transaction, so that a
// lost answer can be settled: nobody could tell later whether an item without a known key was made by this call.
func (b *backend) createKey(ctx context.Context, about Description) (RawKey, APIKey, error) {
	if about != "" {
		var v violations
		v.ask("description", about, "note")
		if err := v.err(); err != nil {
			return RawKey{}, APIKey{}, err
		}
	}
	raw := b.newKey()
	made, err := b.keys.Create(ctx, APIKey{
		KeyID: b.newUUID(), Hash: hash(b.pepper, raw), IsActive: true, Description: about,
	}, entity.Idempotent())
	if err != nil {
		return RawKey{}, APIKey{}, err
	}
	return raw, made, nil
}

// listKeys returns API keys, the newest first.
func (b *backend) listKeys(ctx context.Context, limit int, cursor string) (entity.Page[APIKey], error) {
	return b.byAge.Query(APIKey{}, entity.Desc(), entity.Limit(limit)).Page(ctx, cursor)
}

// revokeKey makes a key that exists worthless. Once more does no harm.
func (b *backend) revokeKey(ctx context.Context, id UUID4) (key APIKey, err error) {
	var v violations
	v.ask("key_id", id, "uuid4")
	if err := v.err(); err != nil {
		return APIKey{}, err
	}
	err = settle(ctx, func() error {
		key, err = b.keys.Update(ctx, APIKey{KeyID: id}, entity.Set(&keyField.IsActive, false))
		return err
	})
	if errors.Is(err, entity.ErrNotFound) {
		return APIKey{}, errKeyNotFound
	}
	return key, err
}
