package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"hash"
	"sync"
	"sync/atomic"
)

// keys remembers signing keys. A key is derived from the secret and is valid for one day, Region and service, so that one is used
// for many requests.
type keys struct {
	known atomic.Pointer[[]*key]
}

// mostKeys is how many keys are remembered: those of credentials that take turns, and of the day before while clocks differ.
const mostKeys = 4

// key is a signing key. It has a hash of the secret instead of the secret.
type key struct {
	service, region, date string
	secret                [sha256.Size]byte

	scope string    // what the key is valid for, as it is signed
	macs  sync.Pool // of hash.Hash, with the key
}

// Format implements fmt.Formatter: a key is not printed.
func (*key) Format(f fmt.State, _ rune) { fmt.Fprint(f, "a signing key") }

// of returns the key of a secret for a service in a Region on a date.
func (k *keys) of(secret, service, region, date string) *key {
	sum := digest(secret)
	var known []*key
	if all := k.known.Load(); all != nil {
		known = *all
	}
	for _, one := range known {
		if one.secret == sum && one.date == date && one.region == region && one.service == service {
			return one
		}
	}
	own := derive(secret, service, region, date)
	own.secret = sum
	all := append([]*key{own}, known[:min(len(known), mostKeys-1)]...)
	k.known.Store(&all) // of two at the same time, one is remembered
	return own
}

// digest returns the hash of a secret.
func digest(secret string) [sha256.Size]byte {
	var text [64]byte // of all secrets of AWS
	return sha256.Sum256(append(text[:0], secret...))
}

// derive returns a key without the hash of the secret.
func derive(secret, service, region, date string) *key {
	derived := []byte("AWS4" + secret)
	for _, part := range []string{date, region, service, terminator} {
		mac := hmac.New(sha256.New, derived)
		mac.Write([]byte(part))
		derived = mac.Sum(nil)
	}
	return &key{
		service: service, region: region, date: date,
		scope: date + "/" + region + "/" + service + "/" + terminator,
		macs:  sync.Pool{New: func() any { return hmac.New(sha256.New, derived) }},
	}
}

// sign sets w.hash to the signature of w.text.
func (k *key) sign(w *work) {
	mac := k.macs.Get().(hash.Hash)
	mac.Reset()
	mac.Write(w.text)
	mac.Sum(w.hash[:0])
	k.macs.Put(mac)
}
