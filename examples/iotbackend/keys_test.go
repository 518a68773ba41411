package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestKeyIDsAreUUIDsOfVersionFour(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	// The sample of the schema has version 7.
	_, err := l.revokeKey(t.Context(), "a1b2c3d4-e5f6-7890-abcd-ef1234567890")
	require.Equal(t, []string{"key_id"}, fields(t, err))
	_, err = l.keys.Create(t.Context(), APIKey{KeyID: "a1b2c3d4-e5f6-7890-abcd-ef1234567890", Hash: hash(Pepper{}, RawKey{"x"})})
	require.ErrorAs(t, err, new(*entity.ValidationError))
	require.Empty(t, l.wire.Requests())
	_, key := l.newAPIKey("")
	require.NoError(t, rules.Var(key.KeyID, "uuid4"))
}

func TestRawKeysAreShownOnceAndKeptNowhere(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var made struct {
		APIKey string `json:"api_key"`
		KeyID  string `json:"key_id"`
	}
	l.admin().succeeds(t, "POST", "/v1/api-keys", map[string]string{"description": "roof"}, &made)
	require.Regexp(t, `^[0-9a-f]{64}$`, made.APIKey)
	device := l.as(made.APIKey)
	device.succeeds(t, "POST", "/v1/devices", boots(macA, boot1), nil)
	l.as(made.APIKey[1:]+"0").refused(t, "POST", "/v1/devices", boots(macA, boot1), http.StatusUnauthorized, "UNAUTHORIZED")
	l.wire.Inject(faults.Random(1, 1, faults.Drop))
	_, err := device.call(t.Context(), "POST", "/v1/devices", boots(macA, boot1), nil)
	require.Error(t, err)
	l.wire.Inject(nil)
	var listed any
	l.admin().succeeds(t, "GET", "/v1/api-keys", nil, &listed)

	sum := string(hash(l.pepper, RawKey{made.APIKey}))
	stored := strings.Join(slices.Concat(l.texts(l.cfg.Keys), l.texts(l.cfg.Devices)), "\n")
	require.Contains(t, stored, sum)
	logs := l.logs.String()
	require.Contains(t, logs, made.KeyID, "requests are logged with the id of their key")
	require.Contains(t, logs, "request failed")
	for place, text := range map[string]string{"table": stored, "log": logs, "list": fmt.Sprint(listed)} {
		for secret, value := range map[string]string{"raw key": made.APIKey, "pepper": l.pepper.text, "admin token": adminToken} {
			require.NotContains(t, text, value, "%s in the %s", secret, place)
		}
		if place != "table" {
			require.NotContains(t, text, sum, "hash in the %s", place)
		}
	}
	// However it is printed.
	raw := RawKey{made.APIKey}
	js, err := json.Marshal(map[string]any{"a": raw, "b": &raw})
	require.NoError(t, err)
	for _, text := range []string{fmt.Sprint(raw), fmt.Sprintf("%v %+v %#v %s %q", raw, raw, raw, raw, raw), string(js), raw.LogValue().String()} {
		require.NotContains(t, text, made.APIKey)
	}
	require.Regexp(t, `^[0-9a-f]{64}$`, randomKey().text)
	require.NotEqual(t, randomKey(), randomKey())
}

func TestHashesAreSHA256OfPepperAndKey(t *testing.T) {
	t.Parallel()
	// The sample of the schema is the digest of a word, so it is a vector for an empty pepper.
	require.Equal(t, KeyHash("5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"), hash(Pepper{}, RawKey{"password"}))
	require.Equal(t, KeyHash("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), hash(Pepper{"a"}, RawKey{"bc"}))
	require.Equal(t, hash(Pepper{"ab"}, RawKey{"c"}), hash(Pepper{"a"}, RawKey{"bc"}))
	// Without a pepper there is no service.
	_, err := readConfig(environment{envAdmin: "a"}.get)
	require.ErrorContains(t, err, envPepper)
	cfg := testConfig("x")
	cfg.Pepper = Pepper{}
	_, err = open(nil, cfg, nil, options{})
	require.ErrorContains(t, err, envPepper)
}

func TestDescriptionsAreShortASCII(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, bad := range []Description{"grün", Description(strings.Repeat("x", 257))} {
		_, _, err := l.createKey(t.Context(), bad)
		require.Equal(t, []string{"description"}, fields(t, err))
	}
}

func TestAKeyIsFoundByItsHash(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	require.Equal(t, "api_key_hash_index: api_key_hash (S) HASH; ALL", l.db.Spec().Tables[3].GSIs[0].String())
	raw, key := l.newAPIKey("")
	got, _, err := l.authenticate(t.Context(), raw)
	require.NoError(t, err)
	require.Equal(t, key.KeyID, got.KeyID)
	for _, none := range []string{"", "x", strings.Repeat("0", 64), strings.ToUpper(raw.text), raw.text + "0", " " + raw.text} {
		_, _, err = l.authenticate(t.Context(), RawKey{none})
		require.ErrorIs(t, err, errUnauthorized, "%q", none)
	}
	// Two keys of one hash cannot come about here. If they are there, it is unknown whose request it is.
	twin := l.raw(l.cfg.Keys)[0]
	twin["key_id"] = dbtest.S(string(l.uuid()))
	_, err = l.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &l.cfg.Keys, Item: twin})
	require.NoError(t, err)
	_, _, err = l.authenticate(t.Context(), raw)
	require.ErrorIs(t, err, errTwoKeys)
	l.as(raw.text).refused(t, "POST", "/v1/devices", boots(macA, boot1), http.StatusInternalServerError, "INTERNAL")
}

func TestKeysAreListedByAge(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var want []UUID4
	for range 5 {
		_, key := l.newAPIKey("")
		want = append(want, key.KeyID)
		l.clock.Move(time.Second)
	}
	slices.Reverse(want)
	var raw json.RawMessage
	list := func(query string) (ids []UUID4, next string) {
		t.Helper()
		l.admin().succeeds(t, "GET", "/v1/api-keys"+query, nil, &raw)
		var a struct {
			Keys []keyView `json:"keys"`
			Next string    `json:"next_cursor"`
		}
		require.NoError(t, json.Unmarshal(raw, &a))
		for _, k := range a.Keys {
			ids = append(ids, k.KeyID)
		}
		return ids, a.Next
	}
	all, next := list("")
	require.Equal(t, want, all)
	require.Empty(t, next)
	require.NotContains(t, string(raw), "hash")
	first, next := list("?limit=3")
	rest, _ := list("?limit=3&cursor=" + next)
	require.Equal(t, want, append(first, rest...))
	token, err := base64.RawURLEncoding.DecodeString(next)
	require.NoError(t, err)
	require.NotContains(t, string(token), "api_keys", "the cursor does not show how the index is built")
	for query, limit := range map[string]string{"": "50", "?limit=0": "1", "?limit=-7": "1", "?limit=101": "100"} {
		l.wire.Reset()
		list(query)
		require.Contains(t, string(l.wire.Requests()[0].Body), `"Limit":`+limit+",", query)
	}
	l.admin().refused(t, "GET", "/v1/api-keys?limit=x", nil, http.StatusBadRequest, "VALIDATION_FAILED")
}

func TestCreatingAKeyReplacesNone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	_, first := l.newAPIKey("first")
	require.True(t, first.IsActive)
	before := l.texts(l.cfg.Keys)
	l.newUUID = func() UUID4 { return first.KeyID }
	_, _, err := l.createKey(t.Context(), "second")
	require.ErrorIs(t, err, entity.ErrExists)
	require.Equal(t, before, l.texts(l.cfg.Keys))
}

// A create whose answer was lost is settled under its token: the caller gets the key.
func TestALostAnswerLosesNoKey(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.wire.Inject(faults.Nth(1, faults.Lost, "TransactWriteItems"))
	raw, _ := l.newAPIKey("")
	_, _, err := l.authenticate(t.Context(), raw)
	require.NoError(t, err)
	require.Len(t, l.raw(l.cfg.Keys), 1)
}

func TestAHundredRequestsTouchOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	raw, _ := l.newAPIKey("")
	var touches atomic.Int64
	many := func() int64 {
		touches.Store(0)
		require.NoError(t, together(100, func(int) error {
			_, touched, err := l.authenticate(t.Context(), raw)
			if touched {
				touches.Add(1)
			}
			return err
		}))
		return touches.Load()
	}
	require.EqualValues(t, 1, many())
	l.clock.Move(touchEvery - time.Second)
	l.wire.Reset()
	require.Zero(t, many())
	require.Zero(t, l.wire.Count("UpdateItem"), "what is known not to be due is not sent")
	l.clock.Move(time.Second) // exactly five minutes
	require.EqualValues(t, 1, many())
	k, err := l.keys.Get(t.Context(), APIKey{KeyID: "00000000-0000-4000-8000-000000000002"})
	require.NoError(t, err)
	require.Equal(t, epoch.Truncate(time.Second).Add(touchEvery), k.LastUsedAt)
}

// Whatever becomes of a touch, the request that it is for goes on; and no touch brings back a key that is gone.
func TestTouchingIsBestEffort(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for i, f := range []faults.Fault{faults.Throttle, faults.Drop, faults.Hang, faults.Lost, faults.Internal} {
		raw, _ := l.newAPIKey("")
		l.disturb(f, "UpdateItem")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a touch that hangs ends much earlier by itself
		_, touched, err := l.authenticate(ctx, raw)
		require.NoError(t, ctx.Err(), f)
		cancel()
		require.NoError(t, err, f)
		require.False(t, touched, f)
		require.Equal(t, i+1, strings.Count(l.logs.String(), "last_used_at was not brought up to date"))
	}
	l.wire.Inject(nil)
	_, key := l.newAPIKey("")
	require.NoError(t, l.keys.Delete(t.Context(), APIKey{KeyID: key.KeyID}))
	require.False(t, l.touch(t.Context(), key))
	require.Len(t, l.raw(l.cfg.Keys), 5, "it has not come back")
}

func TestRevokingIsForKeysThatExist(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.admin().refused(t, "POST", "/v1/api-keys/"+string(boot1)+"/revoke", nil, http.StatusNotFound, "KEY_NOT_FOUND")
	require.Empty(t, l.raw(l.cfg.Keys))
	raw, key := l.newAPIKey("")
	for range 2 {
		var got keyView
		l.admin().succeeds(t, "POST", "/v1/api-keys/"+string(key.KeyID)+"/revoke", nil, &got)
		require.False(t, got.IsActive)
	}
	_, _, err := l.authenticate(t.Context(), raw)
	require.ErrorIs(t, err, errUnauthorized)
	require.Contains(t, l.texts(l.cfg.Keys)[0], `"is_active":{"BOOL":false}`)
	require.NotContains(t, l.texts(l.cfg.Keys)[0], "last_used_at", "a revoked key is not used")
	for _, f := range []faults.Fault{faults.Lost, faults.Drop} {
		l.wire.Inject(faults.Nth(1, f, "UpdateItem"))
		_, err = l.revokeKey(t.Context(), key.KeyID)
		require.NoError(t, err)
	}
}

// An index is behind for moments. What it would answer then is put in its place here: the item before the revocation.
func TestTheStrongCheckReadsTheKeyItself(t *testing.T) {
	t.Parallel()
	for _, strong := range []bool{false, true} {
		l := newLab(t, func(c *config) { c.StrongCheck = strong })
		raw, key := l.newAPIKey("")
		lagging := &staleIndex{Client: l.client, index: "api_key_hash_index", items: l.raw(l.cfg.Keys)}
		b := l.open(lagging)
		_, err := b.revokeKey(t.Context(), key.KeyID)
		require.NoError(t, err)
		_, _, err = b.authenticate(t.Context(), raw)
		if !strong {
			require.NoError(t, err, "for moments, a revoked key passes")
			continue
		}
		require.ErrorIs(t, err, errUnauthorized)
		require.NoError(t, b.keys.Delete(t.Context(), APIKey{KeyID: key.KeyID}))
		_, _, err = b.authenticate(t.Context(), raw)
		require.ErrorIs(t, err, errUnauthorized)
	}
	cfg, err := readConfig(environment{envPepper: "p", envAdmin: "a", envStrong: "true"}.get)
	require.NoError(t, err)
	require.True(t, cfg.StrongCheck)
}

// Comparing texts with == stops at the first difference, and so shows how much of a guess was right. No secret is compared
// like that anywhere in the program.
func TestSecretsAreComparedInConstantTime(t *testing.T) {
	t.Parallel()
	require.True(t, secret{"a"}.equal("a"))
	for _, guess := range []string{"", "b", "aa", "A"} {
		require.False(t, secret{"a"}.equal(guess))
	}
	require.True(t, sameHash("ab", "ab"))
	require.False(t, sameHash("ab", "ac"))

	files, err := os.ReadDir(".")
	require.NoError(t, err)
	compared := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		require.NoError(t, err)
		ast.Inspect(tree, func(n ast.Node) bool {
			switch v := n.(type) {
			case *ast.CallExpr:
				if s, ok := v.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "ConstantTimeCompare" {
					compared++
				}
			case *ast.BinaryExpr:
				if v.Op != token.EQL && v.Op != token.NEQ {
					return true
				}
				for _, side := range [][2]ast.Expr{{v.X, v.Y}, {v.Y, v.X}} {
					s, ok := side[0].(*ast.SelectorExpr)
					if !ok || s.Sel.Name != "text" && s.Sel.Name != "Hash" {
						continue
					}
					empty, ok := side[1].(*ast.BasicLit)
					require.True(t, ok && empty.Value == `""`, "%s compares %s", f.Name(), s.Sel.Name)
				}
			}
			return true
		})
	}
	require.Equal(t, 2, compared)
}

// staleIndex is a client for which one index stays as it was.
type staleIndex struct {
	*dynamodb.Client
	index string
	items []item
}

// Query answers from what the index held.
func (s *staleIndex) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if in.IndexName == nil || *in.IndexName != s.index {
		return s.Client.Query(ctx, in, opts...)
	}
	return &dynamodb.QueryOutput{Items: s.items, Count: int32(len(s.items)), ScannedCount: int32(len(s.items))}, nil
}
