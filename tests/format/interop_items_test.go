package format_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

type stamped struct {
	_ entity.Key `name:"Item" pk:"$#id_{id}" sk:"$"`

	ID        string    `dynamodbav:"id"`
	Name      string    `dynamodbav:"name"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

type pkOnly struct {
	_ entity.Key `name:"PkOnly" pk:"$#a_{a}" sk:"$"`

	A string `dynamodbav:"a"`
}

type skOnly struct {
	_ entity.Key `name:"SkOnly" pk:"$" sk:"$#a_{a}"`

	A string `dynamodbav:"a"`
}

type both struct {
	_ entity.Key `name:"Both_Type" pk:"$#tenantId_{tenantId}#num_{num}" sk:"$#flag_{flag}#at_{at}"`

	TenantID string    `dynamodbav:"tenantId"`
	Num      int       `dynamodbav:"num"`
	Flag     bool      `dynamodbav:"flag" entity:"zero"`
	At       time.Time `dynamodbav:"at"`
}

type epoch struct {
	_ entity.Key `name:"Epoch" pk:"$#id_{id}" sk:"$#at_{at}"`

	ID string    `dynamodbav:"id"`
	At time.Time `dynamodbav:"at" entity:"time=unixms"`
}

type order struct {
	_ entity.Key `name:"Order" pk:"$#orderid_{orderId}" sk:"$"`
	_ entity.GSI `name:"byCustomer" index:"gsi1" pk:"$#customerid_{customerId}" sk:"$"`
	_ entity.GSI `name:"byStatus" index:"gsi2" pk:"$#status_{status}#paid_{paid}" sk:"$#priority_{priority}#at_{at}"`
	_ entity.GSI `name:"byDue" index:"gsi3" pk:"$" sk:"$#due_{due}"`
	_ entity.GSI `name:"byPlace" index:"gsi4" pk:"$#region_{region}" sk:"$#country_{country}#city_{city}#site_{site}"`
	_ entity.GSI `name:"bySparse" index:"gsi5" pk:"$#country_{country}" sk:"$#city_{city}"`

	OrderID    string    `dynamodbav:"orderId"`
	CustomerID string    `dynamodbav:"customerId"`
	Status     string    `dynamodbav:"status"`
	Region     string    `dynamodbav:"region,omitempty"`
	Country    string    `dynamodbav:"country,omitempty"`
	City       string    `dynamodbav:"city,omitempty"`
	Site       string    `dynamodbav:"site,omitempty"`
	Priority   int       `dynamodbav:"priority"`
	Paid       bool      `dynamodbav:"paid"`
	At         time.Time `dynamodbav:"at"`
	Due        time.Time `dynamodbav:"due" entity:"time=unixms"`
}

func store[T any](t *testing.T, r *replay) *entity.Store[T] {
	t.Helper()
	return dbtest.Declare[T](t, r.DB)
}

// refusedPut runs a put whose key holds what this profile does not write. Nothing may be sent.
func refusedPut[T any](t *testing.T, r *replay, s *entity.Store[T], v T) {
	t.Helper()
	r.Wire.Reset()
	refused("EDD-9102")(t, dbtest.ErrorOf(s.Put(r.Ctx, v)))
	require.Empty(t, r.Wire.Requests())
}

func put[T any](t *testing.T, r *replay, s *entity.Store[T], st step) {
	t.Helper()
	require.NoError(t, dbtest.ErrorOf(s.Put(r.Ctx, args[T](t, st.Args.Input))), st.Name)
}

// without drops the items whose partition key is pk.
func without(pk string) func([]stored) []stored {
	return func(items []stored) []stored {
		var rest []stored
		for _, it := range items {
			if it["pk"]["S"] != pk {
				rest = append(rest, it)
			}
		}
		return rest
	}
}

func TestReplay_Timestamps(t *testing.T) {
	t.Parallel()
	p := newPlayer[stamped](t, "timestamps-true")
	born := p.named(t, "put").Clock
	p.differences = []difference{{"put-again", "get", begunAgain, one("", "", func(it stored) stored {
		return it.with("createdAt", "S", born.Format("2006-01-02T15:04:05.000Z"))
	})}}
	p.adjust = func(_ step, want *stamped) { want.CreatedAt = born }
	p.play(t)
}

func TestReplay_PrimaryKeys(t *testing.T) {
	t.Parallel()
	r, drop := newReplay(t, "keys-primary-composites"), without("$my-app#v10#pkonly#a_value/1 +ü")
	r.differences = []difference{{"pk-only", "epoch-put", asciiOnly, drop}}
	pks, sks, boths, epochs := store[pkOnly](t, r), store[skOnly](t, r), store[both](t, r), store[epoch](t, r)
	r.create(t)
	r.steps(t, func(st step) {
		switch st.Name {
		case "pk-only":
			refusedPut(t, r, pks, args[pkOnly](t, st.Args.Input))
		case "sk-only":
			put(t, r, sks, st)
		case "both":
			put(t, r, boths, st)
		case "both-get":
			got := entity.Must(boths.Get(r.Ctx, args[both](t, st.Args.Key)))
			require.Equal(t, args[both](t, st.Outcome.OK), got)
		case "epoch-put":
			put(t, r, epochs, st)
		default:
			require.Fail(t, "no such step", st.Name)
		}
	})
	// What effect-dynamodb does not find again (its step 6) is found here.
	require.Equal(t, "e", entity.Must(epochs.Get(r.Ctx, epoch{ID: "e", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})).ID)
}

func TestReplay_IndexKeys(t *testing.T) {
	t.Parallel()
	r := newReplay(t, "keys-gsi-composition")
	s := store[order](t, r)
	r.create(t)
	// Three of the recorded values are refused in keys. The items are the same otherwise.
	refusals := map[string]func(*order){
		"put-full":   func(o *order) { o.Site = "DC-1" }, // its order id is O#1
		"put-sparse": func(*order) {},                    // its priority is -5, and it is due before 1970
	}
	for _, st := range r.Steps {
		if change, ok := refusals[st.Name]; ok {
			o := args[order](t, st.Args.Input)
			change(&o)
			refusedPut(t, r, s, o)
		}
	}
	r.substitutes = []string{
		"O#1", "O-1", "o#1", "o-1", "DC 1", "DC-1", "dc 1", "dc-1",
		`"priority": -5`, `"priority": 5`, `"-5"`, `"5"`, "00000000000000-5", "0000000000000005",
		"1969-12-31T23:59:59.000Z", "1970-01-01T00:00:01.000Z", `"-1000"`, `"1000"`, "00000000000-1000", "0000000000001000",
	}
	r.differences = []difference{at("put-empty-string-composite", empty, without("$myapp#v3#order#orderid_o3"))}
	r.steps(t, func(st step) {
		if st.Name == "put-empty-string-composite" {
			return // its priority is 1.5, which no field that can be a key part holds; see TestEmptyText_IsAbsentFromIndexes
		}
		put(t, r, s, st)
	})
}
