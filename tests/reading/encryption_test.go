package reading_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

type attributes = map[string]types.AttributeValue

// sealer is a middleware that stores the attribute diagnosis encrypted.
type sealer struct {
	aead    cipher.AEAD
	inPlace bool // it changes the maps of the input, and not copies of them
	sealed  atomic.Int64
}

func (s *sealer) seal(v types.AttributeValue) types.AttributeValue {
	text, ok := v.(*types.AttributeValueMemberS)
	if !ok {
		panic(fmt.Sprintf("a diagnosis of type %T is to be stored", v))
	}
	s.sealed.Add(1)
	nonce := make([]byte, s.aead.NonceSize())
	_, _ = rand.Read(nonce)
	return &types.AttributeValueMemberB{Value: s.aead.Seal(nonce, nonce, []byte(text.Value), nil)}
}

// item seals the attribute of an item.
func (s *sealer) item(it attributes) attributes {
	v, ok := it["diagnosis"]
	if !ok {
		return it
	}
	if !s.inPlace {
		it = maps.Clone(it)
	}
	it["diagnosis"] = s.seal(v)
	return it
}

var assignments = regexp.MustCompile(`(#\d+) = (:\d+)`)

// values seals the value that an update expression gives to the attribute.
func (s *sealer) values(expression *string, names map[string]string, values attributes) attributes {
	for _, a := range assignments.FindAllStringSubmatch(*expression, -1) {
		if names[a[1]] == "diagnosis" {
			if !s.inPlace {
				values = maps.Clone(values)
			}
			values[a[2]] = s.seal(values[a[2]])
		}
	}
	return values
}

// open opens the attribute of an item in an answer.
func (s *sealer) open(it attributes) {
	v, ok := it["diagnosis"].(*types.AttributeValueMemberB)
	if !ok {
		return
	}
	n := s.aead.NonceSize()
	text, err := s.aead.Open(nil, v.Value[:n], v.Value[n:], nil)
	if err != nil {
		panic(err)
	}
	it["diagnosis"] = &types.AttributeValueMemberS{Value: string(text)}
}

// input returns what is sent instead of an input, another one with sealed items.
func (s *sealer) input(in any) any {
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		other := *in
		other.Item = s.item(in.Item)
		return &other
	case *dynamodb.UpdateItemInput:
		other := *in
		other.ExpressionAttributeValues = s.values(in.UpdateExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		return &other
	case *dynamodb.TransactWriteItemsInput:
		other := *in
		other.TransactItems = nil
		for _, it := range in.TransactItems {
			if it.Put != nil {
				put := *it.Put
				put.Item = s.item(put.Item)
				it.Put = &put
			}
			if it.Update != nil {
				update := *it.Update
				update.ExpressionAttributeValues = s.values(update.UpdateExpression, update.ExpressionAttributeNames, update.ExpressionAttributeValues)
				it.Update = &update
			}
			other.TransactItems = append(other.TransactItems, it)
		}
		return &other
	case *dynamodb.BatchWriteItemInput:
		other := *in
		other.RequestItems = map[string][]types.WriteRequest{}
		for table, all := range in.RequestItems {
			for _, w := range all {
				if w.PutRequest != nil {
					w.PutRequest = &types.PutRequest{Item: s.item(w.PutRequest.Item)}
				}
				other.RequestItems[table] = append(other.RequestItems[table], w)
			}
		}
		return &other
	}
	return in
}

// output opens the items of an output, and those of an error.
func (s *sealer) output(out any, err error) {
	switch out := out.(type) {
	case *dynamodb.GetItemOutput:
		s.open(out.Item)
	case *dynamodb.UpdateItemOutput:
		s.open(out.Attributes)
	case *dynamodb.DeleteItemOutput:
		s.open(out.Attributes)
	case *dynamodb.QueryOutput:
		for _, it := range out.Items {
			s.open(it)
		}
	case *dynamodb.ScanOutput:
		for _, it := range out.Items {
			s.open(it)
		}
	case *dynamodb.BatchGetItemOutput:
		for _, items := range out.Responses {
			for _, it := range items {
				s.open(it)
			}
		}
	case *dynamodb.TransactGetItemsOutput:
		for _, r := range out.Responses {
			s.open(r.Item)
		}
	}
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		s.open(failed.Item)
	}
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		for _, r := range cancelled.CancellationReasons {
			s.open(r.Item)
		}
	}
}

func (s *sealer) option(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("seal", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			in.Parameters = s.input(in.Parameters)
			out, md, err := next.HandleInitialize(ctx, in)
			s.output(out.Result, err)
			return out, md, err
		}), middleware.Before)
	})
}

// Patient has an attribute that a middleware encrypts, in all its copies.
type Patient struct {
	_ entity.Key           `name:"Patient" pk:"$#{id}" sk:"$"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`

	ID        string `dynamodbav:"id"`
	Version   int64  `dynamodbav:"version" entity:"version"`
	Diagnosis string `dynamodbav:"diagnosis,omitempty"`
	Ward      string `dynamodbav:"ward"`
}

// A middleware that changes what is stored is obeyed: in every write, in every copy, and in every attempt. The caller sees what
// it gave and what the middleware gave back.
func TestClients_AMiddlewareMayEncryptAnAttribute(t *testing.T) {
	t.Parallel()
	for name, inPlace := range map[string]bool{"in inputs of its own": false, "in the inputs that it gets": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := make([]byte, 32)
			_, _ = rand.Read(key)
			block := entity.Must(aes.NewCipher(key))
			aead := entity.Must(cipher.NewGCM(block))
			s := &sealer{aead: aead, inPlace: inPlace}

			b := dbtest.Open(t)
			db := b.Open(dynamodb.New(b.Client.Options(), s.option))
			dbtest.Declare[Patient](t, b.DB)
			b.CreateTables()
			patients := dbtest.Declare[Patient](t, db)
			history, deleted := entity.Must(versioned.Of(patients)), entity.Must(lifecycle.Of(patients))
			f := entity.Fields[Patient]()

			b.Wire.Inject(faults.Random(7, 0.3, faults.Throttle)) // so that many requests are sent again
			made := entity.Must(patients.Create(b.Ctx, Patient{ID: "p1", Diagnosis: "secret-1", Ward: "north"}))
			assert.Equal(t, "secret-1", made.Diagnosis)
			updated := entity.Must(patients.Update(b.Ctx, Patient{ID: "p1"}, entity.Set(&f.Diagnosis, "secret-2")))
			assert.Equal(t, "secret-2", updated.Diagnosis)
			modified := entity.Must(patients.Modify(b.Ctx, Patient{ID: "p1"}, func(p *Patient) error { p.Ward = "south"; return nil }))
			assert.Equal(t, "secret-2", modified.Diagnosis)
			assert.Equal(t, "secret-3", entity.Must(patients.Put(b.Ctx, Patient{ID: "p2", Diagnosis: "secret-3"})).Diagnosis)
			require.ErrorIs(t, dbtest.ErrorOf(patients.Create(b.Ctx, Patient{ID: "p2", Diagnosis: "secret-4"})), entity.ErrExists)
			require.NoError(t, db.Transact(b.Ctx, patients.Op().Create(Patient{ID: "p3", Diagnosis: "secret-5"}), patients.Op().Update(Patient{ID: "p2"}, entity.Set(&f.Diagnosis, "secret-6"))))
			require.NoError(t, patients.Delete(b.Ctx, Patient{ID: "p1"}))
			assert.Equal(t, "secret-2", entity.Must(deleted.Restore(b.Ctx, Patient{ID: "p1"})).Diagnosis)

			assert.Equal(t, "secret-6", entity.Must(patients.Get(b.Ctx, Patient{ID: "p2"})).Diagnosis)
			var all []string
			for p, err := range patients.Scan().All(b.Ctx) {
				require.NoError(t, err)
				all = append(all, p.ID+" "+p.Diagnosis)
			}
			assert.ElementsMatch(t, []string{"p1 secret-2", "p2 secret-6", "p3 secret-5"}, all)
			states := entity.Must(history.List(Patient{ID: "p1"}).Collect(b.Ctx))
			require.NotEmpty(t, states)
			for _, v := range states {
				assert.Contains(t, []string{"secret-1", "secret-2"}, v.Item.Diagnosis)
			}

			b.Wire.Inject(nil)
			stored := b.Items()
			assert.Greater(t, len(stored), 5)
			sealed := 0
			for _, it := range stored {
				if it["diagnosis"] == nil {
					continue
				}
				sealed++
				require.IsType(t, &types.AttributeValueMemberB{}, it["diagnosis"], "%v", it)
				assert.NotContains(t, string(it["diagnosis"].(*types.AttributeValueMemberB).Value), "secret")
				open := maps.Clone(it)
				s.open(open)
				assert.True(t, strings.HasPrefix(dbtest.Text(open["diagnosis"]), "secret-"), "sealed once")
			}
			assert.Greater(t, sealed, 5)
			assert.Greater(t, s.sealed.Load(), int64(sealed), "some requests were sent again")
		})
	}
}
