package format_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Why a vector is not what the library does. Each stands in docs/sharing.md.
const (
	noCasing     = "Only lower-case keys can be shared: `Interop` supports neither upper case nor preserved case."
	noCollection = "effect-dynamodb's collections have no counterpart."
	noEventStore = "Its event store has no counterpart."
	longVersion  = "A version above 9999999 is written with `~` and 12 digits in the key of its snapshot, so that snapshots sort."
	asciiOnly    = "Keys take ASCII above 0x25 only: a value with a control character, a space, one of `!\"#$%`, or beyond ASCII is refused."
	empty        = "An empty string counts as absent in an index key, and a key cannot contain fractions."
	integers     = "Numbers in keys are integers from 0, with at most 16 digits."
	stringOrder  = "A string cannot be orderBy: events whose orderBy differs in case would have one key."
	exactPrefix  = "A query for `open` does not find `opened`, and a sort key is given from the left without gaps."
)

var errUnsupported = errors.New("the library has no such key")

// tally is how many vectors were equal, and how many not, by reason.
type tally map[string]int

const same = "equal"

// vector compares one vector. With reason same, got must be what was recorded; with another it must not, or be an error.
func (n tally) vector(t *testing.T, what any, reason, want, got string, err error) {
	t.Helper()
	n[reason]++
	if reason == same {
		require.NoError(t, err, "%v", what)
		require.Equal(t, want, got, "%v", what)
		return
	}
	documented(t, reason)
	if err == nil {
		require.NotEqual(t, want, got, "%v: not a difference any more: %s", what, reason)
	}
	var input *entity.InputError
	var declared *entity.SchemaError
	require.True(t, err == nil || errors.Is(err, errUnsupported) || errors.As(err, &input) || errors.As(err, &declared), "%v: %v", what, err)
}

type vectors struct {
	Keys   []keyVector
	Values []struct {
		In  json.RawMessage
		Out string
	} `json:"serializeValue"`
	Prefixes []struct {
		Index  struct{ Collection any }
		Record struct {
			Status string
			Prio   int
			At     time.Time
		}
		Out string
	} `json:"sortKeyPrefix"`
}

type keyVector struct {
	Fn     string
	Args   []json.RawMessage
	Out    json.RawMessage
	Schema struct{ Name, Casing string }
}

func loadVectors(t *testing.T) vectors {
	t.Helper()
	var v vectors
	readJSON(t, "key-vectors.json", &v)
	return v
}

// part is an entity whose key has one part, without a name.
type part[V any] struct {
	_ entity.Key `name:"UserProfile" pk:"$#{v}" sk:"$"`

	V V `dynamodbav:"v" entity:"zero"`
}

type named struct {
	_ entity.Key `name:"UserProfile" pk:"$#userId_{v}" sk:"$"`

	V string `dynamodbav:"v"`
}

type twoNamed struct {
	_ entity.Key `name:"UserProfile" pk:"$#userId_{v}#Second_Name_{w}" sk:"$"`

	V string `dynamodbav:"v"`
	W string `dynamodbav:"w"`
}

// paper is a database without a client, as the vectors' schema has it.
func paper(t *testing.T, namespace string) *entity.DB {
	t.Helper()
	cfg := entity.Config{Table: "t", Clock: func() time.Time { return time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC) }}
	sharedTable(namespace, 1)(&cfg)
	return entity.Must(entity.Open(nil, cfg))
}

// keys are the stored keys in a printed plan.
var keys = regexp.MustCompile(`pk=("(?:[^"\\]|\\.)*") sk=("(?:[^"\\]|\\.)*")`)

// composed gives the primary key of v, the last of those in the printed plan.
func composed[T any](t *testing.T, v T) (pk, sk string, err error) {
	t.Helper()
	s := entity.Must(entity.New[T](paper(t, "MyApp")))
	if err := s.Delete(t.Context(), v); !errors.Is(err, entity.ErrNoClient) {
		return "", "", err
	}
	pk, sk = printedKey(t, s.Op().CheckExists(v).String())
	return pk, sk, nil
}

func printedKey(t *testing.T, plan string) (pk, sk string) {
	t.Helper()
	found := keys.FindAllStringSubmatch(plan, -1)
	require.NotEmpty(t, found, plan)
	last := found[len(found)-1]
	pk, sk = entity.Must(strconv.Unquote(last[1])), entity.Must(strconv.Unquote(last[2]))
	return pk, sk
}

const unnamed = "$myapp#v1#userprofile#"

// value composes the key of a value from a vector and says why it may not be what was recorded.
func value(t *testing.T, in json.RawMessage) (text, reason string, err error) {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(in, &v))
	var pk string
	switch v := v.(type) {
	case string:
		reason = textReason(v)
		pk, _, err = composed(t, part[string]{V: v})
	case bool:
		reason = same
		pk, _, err = composed(t, part[bool]{V: v})
	case float64:
		n, parseErr := strconv.ParseInt(string(in), 10, 64)
		if parseErr != nil {
			return "", integers, errUnsupported
		}
		if reason = same; n < 0 || len(string(in)) > 16 {
			reason = integers
		}
		pk, _, err = composed(t, part[int64]{V: n})
	case map[string]any:
		return tagged(t, v)
	}
	return strings.TrimPrefix(pk, unnamed), reason, err
}

// tagged is value for what JSON has no type for.
func tagged(t *testing.T, v map[string]any) (text, reason string, err error) {
	t.Helper()
	if _, ok := v["$bigint"]; ok {
		return "", integers, errUnsupported
	}
	switch v["$number"] {
	case "-0":
		return value(t, json.RawMessage("0"))
	case nil:
	default:
		return "", integers, errUnsupported
	}
	written, ok := v["$date"].(string)
	if !ok {
		written, _, _ = strings.Cut(v["$zoned"].(string), "[")
	}
	at := entity.Must(time.Parse(time.RFC3339Nano, written))
	pk, _, err := composed(t, part[time.Time]{V: at})
	return strings.TrimPrefix(pk, unnamed), same, err
}

func textReason(s string) string {
	switch {
	case s == "":
		return empty
	case strings.ContainsFunc(s, func(r rune) bool { return r <= '%' || r > 0x7f }):
		return asciiOnly
	}
	return same
}

func TestVectors_Values(t *testing.T) {
	t.Parallel()
	n := tally{}
	for _, v := range loadVectors(t).Values {
		got, reason, err := value(t, v.In)
		n.vector(t, string(v.In), reason, strings.ToLower(v.Out), got, err)
	}
	require.Equal(t, tally{same: 16, asciiOnly: 4, empty: 1, integers: 20}, n)
}

func TestVectors_Keys(t *testing.T) {
	t.Parallel()
	n := tally{}
	for _, v := range loadVectors(t).Keys {
		want := string(v.Out)
		if v.Out[0] == '"' {
			require.NoError(t, json.Unmarshal(v.Out, &want))
		} else {
			want = pair(t, v.Out)
		}
		got, reason, err := v.compose(t)
		n.vector(t, v.Fn+string(v.Out), reason, want, got, err)
	}
	require.Equal(t, tally{same: 21, noCasing: 90, noCollection: 243, noEventStore: 18, longVersion: 2, empty: 2, integers: 3, stringOrder: 2}, n)
}

// compose gives the key that the library has for a vector.
func (v keyVector) compose(t *testing.T) (text, reason string, err error) {
	t.Helper()
	switch v.Fn {
	case "composeClusteredSortKey", "composeIsolatedSortKey", "composeCollectionKey":
		return "", noCollection, errUnsupported
	case "composeEventVersionKey":
		return "", noEventStore, errUnsupported
	case "composeVersionKey", "composeVersionKeyPrefix", "composeDeletedKey", "composeDeletedKeyPrefix", "composeUniqueKey":
		if v.Schema.Casing != "" {
			return "", noCasing, errUnsupported
		}
		return v.featureKey(t)
	}
	if v.Schema.Casing != "" {
		return "", noCasing, errUnsupported
	}
	switch v.Fn {
	case "prefix":
		_, sk, err := composed(t, named{V: "x"})
		return strings.TrimSuffix(sk, "#userprofile"), same, err
	case "composeKey":
		return v.key(t)
	case "composeEventSk":
		return eventKey(t, v.Args[1])
	case "composeEventSkPrefix":
		s := entity.Must(timeseries.New[stream[int64]](paper(t, "MyApp")))
		begins := regexp.MustCompile(`begins_with\(sk, "([^"]*)"\)`).FindStringSubmatch(s.History(stream[int64]{ID: "x", Stream: "Status"}).String())
		require.NotNil(t, begins)
		return begins[1], same, nil
	}
	return "", "", fmt.Errorf("an unknown function: %s", v.Fn)
}

// key is the key of composeKey: an entity's name, values, and options.
func (v keyVector) key(t *testing.T) (text, reason string, err error) {
	t.Helper()
	var values []string
	var options struct {
		Casing string
		Names  []string
	}
	require.NoError(t, json.Unmarshal(v.Args[1], &values))
	require.NoError(t, json.Unmarshal(v.Args[2], &options))
	if options.Casing != "" && options.Casing != "lowercase" {
		return "", noCasing, errUnsupported
	}
	switch {
	case len(values) == 0:
		_, text, err = composed(t, named{V: "x"})
	case options.Names == nil:
		text, _, err = composed(t, part[string]{V: values[0]})
	case len(values) == 2:
		text, _, err = composed(t, twoNamed{V: values[0], W: values[1]})
	default:
		text, _, err = composed(t, named{V: values[0]})
	}
	if slices.Contains(values, "") {
		return text, empty, err
	}
	return text, same, err
}

// stream is a series with a sort key, as the vectors of events have it.
type stream[V any] struct {
	_ entity.Key        `name:"Telemetry" pk:"$#id_{id}" sk:"$#stream_{stream}"`
	_ timeseries.Events `orderBy:"at"`

	ID     string `dynamodbav:"id"`
	Stream string `dynamodbav:"stream"`
	At     V      `dynamodbav:"at"`
	Value  int    `dynamodbav:"value" entity:"append"`
}

func eventKey(t *testing.T, orderBy json.RawMessage) (text, reason string, err error) {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(orderBy, &v))
	switch v := v.(type) {
	case string:
		return appendKey(t, v, stringOrder)
	case float64:
		if v == float64(int64(v)) {
			if v < 0 {
				return appendKey(t, int64(v), integers)
			}
			return appendKey(t, int64(v), same)
		}
		return appendKey(t, v, integers)
	}
	if date, ok := v.(map[string]any)["$date"]; ok {
		at := entity.Must(time.Parse(time.RFC3339Nano, date.(string)))
		return appendKey(t, at, same)
	}
	return "", integers, errUnsupported
}

func appendKey[V any](t *testing.T, at V, reason string) (string, string, error) {
	t.Helper()
	s, err := timeseries.New[stream[V]](paper(t, "MyApp"))
	if err != nil {
		return "", reason, err
	}
	ev := stream[V]{ID: "x", Stream: "Status", At: at}
	if _, err := s.Append(t.Context(), ev); !errors.Is(err, entity.ErrNoClient) {
		return "", reason, err
	}
	_, sk := printedKey(t, s.Op().Append(ev).String())
	return sk, reason, nil
}

type indexed struct {
	_ entity.Key `name:"Order" pk:"$#id_{id}" sk:"$"`
	_ entity.GSI `name:"byStatus" index:"gsi1" pk:"$#t_{t}" sk:"$#status_{status}#prio_{prio}#at_{at}"`

	ID     string    `dynamodbav:"id"`
	T      string    `dynamodbav:"t"`
	Status string    `dynamodbav:"status"`
	Prio   int       `dynamodbav:"prio"`
	At     time.Time `dynamodbav:"at"`
}

func TestVectors_QueryPrefixes(t *testing.T) {
	t.Parallel()
	n := tally{}
	s := entity.Must(entity.New[indexed](paper(t, "app")))
	byStatus, condition := entity.Must(s.Index("byStatus")), regexp.MustCompile(`gsi1sk(?: = |, )"([^"]*)"`)
	for _, v := range loadVectors(t).Prefixes {
		if v.Index.Collection != nil {
			n.vector(t, v, noCollection, v.Out, "", errUnsupported)
			continue
		}
		query := byStatus.Query(indexed{T: "x", Status: v.Record.Status, Prio: v.Record.Prio, At: v.Record.At})
		reason, got := exactPrefix, ""
		if v.Record.Status != "" && v.Record.Prio != 0 && !v.Record.At.IsZero() {
			reason = same
		}
		_, err := query.Collect(t.Context())
		if errors.Is(err, entity.ErrNoClient) {
			err = nil
			found := condition.FindStringSubmatch(query.String())
			require.NotNil(t, found, query.String())
			got = found[1]
		}
		n.vector(t, v, reason, v.Out, got, err)
	}
	require.Equal(t, tally{same: 1, exactPrefix: 4, noCollection: 15}, n)
}

// featured is the entity of the vectors with related items of every kind.
type featured struct {
	_ entity.Key `name:"UserProfile" pk:"$#userid_{userId}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"Email" fields:"Email"`
	_ unique.Constraint `name:"tenantEmail" fields:"tenant,Email"`

	UserID  string `dynamodbav:"userId"`
	Tenant  string `dynamodbav:"tenant,omitempty"`
	Email   string `dynamodbav:"Email,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// nothing is a database without items, which remembers the keys that it was asked for, but for that of the current item.
type nothing struct{ last struct{ PK, SK string } }

func (n *nothing) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var in struct{ Key map[string]struct{ S string } }
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if sk := in.Key["sk"].S; in.Key != nil && sk != "$myapp#v1#userprofile" {
		n.last.PK, n.last.SK = in.Key["pk"].S, in.Key["sk"].S
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"Items":[],"Count":0,"ScannedCount":0}`)), Request: req}, nil
}

// featureKey gives the key of a snapshot, a deleted copy or a sentinel: the last that is read for it.
func (v keyVector) featureKey(t *testing.T) (text, reason string, err error) {
	t.Helper()
	asked := &nothing{}
	client := dynamodb.New(dynamodb.Options{
		Region: "local", HTTPClient: asked, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		BaseEndpoint: aws.String("http://localhost"), DisableValidateResponseChecksum: true,
	})
	cfg := entity.Config{Table: "t"}
	sharedTable(v.Schema.Name, 1)(&cfg)
	db := entity.Must(entity.Open(client, cfg))
	s := entity.Must(entity.New[featured](db))
	history := entity.Must(versioned.Of(s))
	bin, err := lifecycle.Of(s)
	require.NoError(t, err)
	key, reason := featured{UserID: "x"}, same

	switch v.Fn {
	case "composeVersionKey":
		n := argument[int64](t, v.Args[1])
		if n > 9_999_999 {
			reason = longVersion
		}
		_, err = history.Get(t.Context(), key, n)
	case "composeVersionKeyPrefix":
		_, err = history.Get(t.Context(), key, 0)
	case "composeDeletedKey":
		_, err = bin.RestoreCopy(t.Context(), lifecycle.DeletedItem[featured]{Item: key, DeletedAt: argument[time.Time](t, v.Args[1])})
	case "composeDeletedKeyPrefix":
		_, err = bin.RestoreCopy(t.Context(), lifecycle.DeletedItem[featured]{Item: key, DeletedAt: time.Unix(0, 0)})
	case "composeUniqueKey":
		values := argument[[]string](t, v.Args[2])
		key.Email = values[len(values)-1]
		if len(values) > 1 {
			key.Tenant = values[0]
		}
		lookup := entity.Must(unique.Of(s, argument[string](t, v.Args[1])))
		require.ErrorIs(t, dbtest.ErrorOf(lookup.Find(t.Context(), key)), entity.ErrNotFound)
		return asked.last.PK + " " + asked.last.SK, same, nil
	}
	require.ErrorIs(t, err, entity.ErrNotFound)
	text = asked.last.SK
	if strings.HasSuffix(v.Fn, "Prefix") {
		text = strings.TrimRight(text, "0123456789-:.TZ")
	}
	return text, reason, nil
}

func argument[V any](t *testing.T, text json.RawMessage) V {
	t.Helper()
	var v V
	require.NoError(t, json.Unmarshal(text, &v))
	return v
}

// pair is a recorded primary key as one text.
func pair(t *testing.T, key json.RawMessage) string {
	t.Helper()
	k := argument[struct{ PK, SK string }](t, key)
	return k.PK + " " + k.SK
}
