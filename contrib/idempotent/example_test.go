package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/dynastrata/dynastrata/contrib/idempotent"
	"github.com/dynastrata/dynastrata/entity"
)

// The database of the examples: none, or a local one while a test runs them.
var (
	client entity.Client
	table  = "app"
)

// Tables has the records of all operations of the program.
type Tables struct {
	Answers *entity.Store[idempotent.Answer]
}

// Payment is what a client asks for.
type Payment struct {
	Account string
	Cents   int
}

// A payment that is asked for twice is made once.
func ExampleDo() {
	ctx := context.Background()
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	app := entity.Must(entity.Bind[Tables](db))
	charge := entity.Must(idempotent.New(app.Answers, idempotent.Options{Name: "charge"}))

	made := 0
	pay := func(request string, p Payment) (string, error) {
		return idempotent.Do(ctx, charge, request, p, func(context.Context) (string, error) {
			made++
			return fmt.Sprintf("receipt %d of %s", made, p.Account), nil
		})
	}
	fmt.Println(pay("request-1", Payment{"ada", 1000}))
	fmt.Println(pay("request-1", Payment{"ada", 1000}))
	_, err := pay("request-1", Payment{"ada", 9900})
	var mismatch *idempotent.PayloadMismatchError
	fmt.Println(errors.As(err, &mismatch), made)
	// prints
	// receipt 1 of ada <nil>
	// receipt 1 of ada <nil>
	// true 1
}

// A client that repeats a request gets the first answer.
func ExampleMiddleware() {
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	app := entity.Must(entity.Bind[Tables](db))
	op := entity.Must(idempotent.New(app.Answers, idempotent.Options{Name: "api"}))
	protect := entity.Must(idempotent.Middleware(op, idempotent.HTTP{
		Scope: func(r *http.Request) string { return r.Header.Get("X-User") }, // of a request that was authenticated
	}))
	made := 0
	handler := protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		made++
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "payment %d", made)
	}))

	for _, body := range []string{"10 EUR", "10 EUR", "99 EUR"} {
		r := httptest.NewRequest("POST", "/payments", strings.NewReader(body))
		r.Header.Set("Idempotency-Key", `"8e03978e-40d5"`)
		r.Header.Set("X-User", "ada")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		text, _ := io.ReadAll(w.Body)
		fmt.Println(w.Code, w.Header().Get("Idempotent-Replayed"), string(text))
	}
	// prints
	// 201  payment 1
	// 201 true payment 1
	// 422  {"status":422,"title":"Idempotency-Key was used with another request","type":"about:blank"}
}
