package reading_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// Parcel has a field of each kind whose values can be small and kept.
type Parcel struct {
	_ entity.Key `name:"Parcel" pk:"$#{Depot}" sk:"$#{ID}"`

	Depot, ID string
	List      []string
	Set       []string `dynamodbav:"Set,stringset"`
	Text      *string
	Map       map[string]string
	Bytes     []byte
	Number    *int
	Time      *time.Time
	Texts     []*string
	Inner     *struct {
		A string
		B []string
	}
	Any any

	Fill     []string
	FillText *string
	FillMap  map[string]string
}

// parcelsJSON is an answer whose items have small values, and others of n bytes. The tags are of the list.
func parcelsJSON(items, n int, tags ...string) string {
	texts := make([]string, len(tags))
	for i, tag := range tags {
		texts[i] = `{"S":"` + tag + `"}`
	}
	var all []string
	for i := range items {
		fill := func(k int) string { return `{"S":"` + strings.Repeat(fmt.Sprintf("%02d%d", i, k), n/3) + `"}` }
		all = append(all, fmt.Sprintf(`{"pk":{"S":"$app#v1#parcel#north"},"sk":{"S":"$app#v1#parcel#%d"},"Depot":{"S":"north"},"ID":{"S":"p-%03[1]d"},"List":{"L":[%[2]s]},"FillText":%[3]s,`+
			`"Set":{"SS":["s-%03[1]d"]},"Fill":{"L":[%[4]s,%[5]s]},"Text":{"S":"t-%03[1]d"},"Map":{"M":{"m-%03[1]d":{"S":"v-%03[1]d"}}},"Bytes":{"B":"aGVsbG8="},"Number":{"N":"%[1]d"},`+
			`"Time":{"S":"2026-04-22T11:59:30.000000000Z"},"Texts":{"L":[{"S":"u-%03[1]d"}]},"Inner":{"M":{"A":{"S":"a-%03[1]d"},"B":{"L":[{"S":"b-%03[1]d"}]}}},"Any":{"M":{"x":{"S":"x-%03[1]d"}}},`+
			`"FillMap":{"M":{"k":%[6]s}}}`, i, strings.Join(texts, ","), fill(1), fill(2), fill(3), fill(4)))
	}
	return `{"Items":[` + strings.Join(all, ",") + fmt.Sprintf(`],"Count":%d}`, items)
}

func parcels(t *testing.T, codec entity.Codec, body string) []Parcel {
	return entity.Must(collect[Parcel](t.Context(), codec, Parcel{Depot: "north"}, func() io.Reader { return strings.NewReader(body) }))
}

// inUse returns the bytes in use after a collection of garbage, also of that in pools.
func inUse() int {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A small value that is kept holds little of what came with it, or before it.
func TestCodec_KeptValuesHoldFewOthers(t *testing.T) { // not parallel: it measures memory
	const most, own, answers = 4 << 10, 512, 64 // many answers, since the rest of the process uses memory too
	items := testsize.Pick(8, 24)
	picks := map[string]func(*Parcel) any{
		"list":    func(p *Parcel) any { return p.List },
		"set":     func(p *Parcel) any { return p.Set },
		"*string": func(p *Parcel) any { return p.Text },
		"string":  func(p *Parcel) any { return p.ID },
		"map":     func(p *Parcel) any { return p.Map },
		"bytes":   func(p *Parcel) any { return p.Bytes },
		"*int":    func(p *Parcel) any { return p.Number },
		"time":    func(p *Parcel) any { return p.Time },
		"texts":   func(p *Parcel) any { return p.Texts },
		"struct":  func(p *Parcel) any { return p.Inner },
		"any":     func(p *Parcel) any { return p.Any },
	}
	tags := []string{"tag-1", "tag-2", "tag-3", "tag-4", "tag-5", "tag-6", "tag-7", "tag-8"}
	for _, codec := range []entity.Codec{entity.OwnCodec, entity.SDKCodec} {
		for _, n := range []int{60, 900, 8_000} {
			body := parcelsJSON(items, n, "small")
			parcels(t, codec, body) // what is made once
			for name, pick := range picks {
				kept, before := make([]any, answers), inUse()
				for i := range kept {
					kept[i] = pick(&parcels(t, codec, body)[items/2])
				}
				each := (inUse() - before) / answers
				runtime.KeepAlive(kept)
				t.Logf("codec %v, %5d bytes: %-8s holds %d bytes", codec, n, name, each)
				assert.LessOrEqual(t, each, most+own, "codec %v, %d bytes, %s", codec, n, name)
			}
		}
		kept := make([]any, answers) // lists whose texts came one by one in earlier answers
		before := inUse()
		for i := range kept {
			earlier := make([]string, len(tags))
			for k, tag := range tags {
				earlier[k] = fmt.Sprintf("%s-%d", tag, i)
				parcels(t, codec, parcelsJSON(4, 900, earlier[k]))
			}
			kept[i] = parcels(t, codec, parcelsJSON(4, 900, earlier...))[2].List
		}
		each := (inUse() - before) / answers
		runtime.KeepAlive(kept)
		t.Logf("codec %v: a list of texts of earlier answers holds %d bytes", codec, each)
		assert.LessOrEqual(t, each, most+own, "codec %v, earlier answers", codec)
	}
}

// slowBody is a body whose Read has returned while its content is still being written into the buffer, as behind the SDK's
// AddResponseReadTimeoutMiddleware.
type slowBody struct {
	buffers *[][]byte
	end     func() (int, error)
}

func (b slowBody) Read(p []byte) (int, error) {
	*b.buffers = append(*b.buffers, p)
	return b.end()
}

// lateWriter is a body that is complete. Before it ends, the slow bodies write what they had.
type lateWriter struct {
	io.Reader
	buffers *[][]byte
	late    string
}

func (b lateWriter) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		for _, p := range *b.buffers {
			copy(p, b.late)
		}
	}
	return n, err
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// collect queries a client whose answers have these bodies. A panic is an error.
func collect[T any](ctx context.Context, codec entity.Codec, of T, body func() io.Reader) (all []T, err error) {
	client := dynamodb.New(dynamodb.Options{Region: "eu-west-1", Credentials: aws.AnonymousCredentials{}, HTTPClient: doer(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body()), ContentLength: -1}, nil
	})})
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	db := entity.Must(entity.Open(client, entity.Config{Table: "app", Codec: codec, MaxAttempts: 1}))
	return entity.Must(entity.New[T](db)).Query(of).Collect(ctx)
}

type timedOut struct{}

func (timedOut) Error() string { return "read on body reach timeout limit" }
func (timedOut) Timeout() bool { return true }

// A buffer that a failed read may still write into serves no other answer, of another client or tenant.
func TestCodec_AnswersHaveNoBytesOfOthers(t *testing.T) { // not parallel: other tests would take the buffers
	const rounds = 50
	own, others := shipmentsJSON(3), strings.ReplaceAll(shipmentsJSON(3), "p-000", "x-999")
	for _, codec := range []entity.Codec{entity.OwnCodec, entity.SDKCodec} {
		for name, end := range map[string]func(context.CancelFunc) (int, error){
			"error":        func(context.CancelFunc) (int, error) { return 0, timedOut{} },
			"cancellation": func(cancel context.CancelFunc) (int, error) { cancel(); return 0, context.Canceled },
			"panic":        func(context.CancelFunc) (int, error) { panic("a body of the program") },
		} {
			changed := 0
			for range rounds {
				var buffers [][]byte
				ctx, cancel := context.WithCancel(t.Context())
				_, err := collect(ctx, codec, Shipment{Depot: "north"}, func() io.Reader {
					return slowBody{&buffers, func() (int, error) { return end(cancel) }}
				})
				cancel()
				require.Error(t, err)
				require.NotEmpty(t, buffers)
				all, err := collect(t.Context(), codec, Shipment{Depot: "north"}, func() io.Reader {
					return lateWriter{strings.NewReader(own), &buffers, others}
				})
				if err != nil || len(all) != 3 || all[0].ID != "p-0000" {
					changed++
				}
			}
			assert.Zero(t, changed, "codec %v, %s: of %d answers", codec, name, rounds)
		}
	}
}

// Explosive panics when it is decoded, if it says so.
type Explosive string

func (e *Explosive) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	*e = Explosive(av.(*types.AttributeValueMemberS).Value)
	if *e == "now" {
		panic("exploded")
	}
	return nil
}

// What ends the use of an answer early, a break, a panic or a context, does not damage the values of other answers.
func TestCodec_AnswersThatAreLeftEarly(t *testing.T) {
	t.Parallel()
	type Crate struct {
		_ entity.Key `name:"Crate" pk:"$#{Depot}" sk:"$#{ID}"`

		Depot, ID string
		Fuse      Explosive
		Notes     []string
	}
	crates := func(fuse string) string {
		var b strings.Builder
		for i := range 20 {
			fmt.Fprintf(&b, `,{"Depot":{"S":"north"},"ID":{"S":"c-%d"},"Fuse":{"S":"%s"},"Notes":{"L":[{"S":"%d"},{"S":"fragile"}]}}`, i, fuse, i)
			if i == 10 && fuse == "later" {
				fuse = "now"
			}
		}
		return `{"Items":[` + b.String()[1:] + `],"Count":20}`
	}
	query := func(fuse string) entity.Query[Crate] {
		db := entity.Must(entity.Open(cannedClient(&answers{bodies: map[string]string{"Query": crates(fuse)}}), entity.Config{Table: "app"}))
		s := entity.Must(entity.New[Crate](db))
		return s.Query(Crate{Depot: "north"})
	}
	whole, explosive := query("never"), query("later")
	var kept [][]Crate
	for range 50 {
		all := entity.Must(whole.Collect(t.Context()))
		kept = append(kept, all)
		var some []Crate
		for crate, err := range whole.All(t.Context()) {
			require.NoError(t, err)
			if some = append(some, crate); len(some) == 7 {
				break
			}
		}
		kept = append(kept, some)
		assert.PanicsWithValue(t, "exploded", func() { _, _ = explosive.Collect(t.Context()) })
		assert.PanicsWithValue(t, "exploded", func() {
			for range explosive.All(t.Context()) {
			}
		})
		assert.PanicsWithValue(t, "exploded", func() { _, _ = explosive.Page(t.Context(), "") })
		ctx, cancel := context.WithCancel(t.Context())
		for range whole.All(ctx) {
			cancel()
		}
		cancel()
	}
	for _, crates := range kept {
		for i, c := range crates {
			require.Equal(t, Crate{Depot: "north", ID: fmt.Sprintf("c-%d", i), Fuse: "never", Notes: []string{fmt.Sprint(i), "fragile"}}, c)
		}
	}
}
