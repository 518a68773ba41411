// Command slice calls what one side of a guide declares (from-guregu.md, from-sdk.md) and prints what it returns. The arguments are the
// table, and the customer whose orders it writes; without a customer it only reads.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func main() {
	time.Local = time.UTC // the sides print times alike
	client := dynamodb.New(dynamodb.Options{
		Region: os.Getenv("AWS_REGION"), BaseEndpoint: aws.String(os.Getenv("DYNAMODB_ENDPOINT")),
		Credentials: credentials.NewStaticCredentialsProvider(os.Getenv("AWS_ACCESS_KEY_ID"), "secret", ""),
	})
	shop, ctx := Open(client, os.Args[1]), context.Background()
	if len(os.Args) > 2 {
		write(ctx, shop, os.Args[2])
	}
	fmt.Println("all orders")
	show("open", must(shop.Waiting(ctx, "open")))
	show("shipped", must(shop.Waiting(ctx, "shipped")))
	show("cancelled", must(shop.Waiting(ctx, "cancelled")))
}

func write(ctx context.Context, shop *Shop, customer string) {
	noon := time.Date(2026, 4, 22, 12, 0, 0, 0, time.UTC)
	order := func(number int) Order {
		return Order{Customer: customer, Number: number, Status: "open", Placed: noon.Add(time.Duration(number) * time.Hour), Total: 10 * number}
	}
	for _, o := range must(shop.Waiting(ctx, "open")) {
		if o.Number == 3 { // the other side wrote it
			must(shop.Ship(ctx, o.Customer, o.Number, 1))
		}
	}
	first := order(1)
	first.Tags = []string{"gift"}
	try(shop.Create(ctx, first))
	show("again", refused(shop.Create(ctx, first)))
	show("got", must(shop.Get(ctx, customer, 1)))
	_, err := shop.Get(ctx, customer, 9)
	show("missing", err != nil)
	show("shipped", must(shop.Ship(ctx, customer, 1, 3)))
	_, err = shop.Ship(ctx, customer, 1, 3)
	show("again", refused(err))

	try(shop.Import(ctx, []Order{order(2), order(3), order(4), order(5), order(6)}))
	try(shop.Replace(ctx, order(2), order(7)))
	show("again", refused(shop.Replace(ctx, order(2), order(7))), refused(shop.Replace(ctx, order(4), order(7))))
	show("pages", pages(ctx, customer, shop.Page))
}

// pages reads all pages, whatever the type of the position is.
func pages[P any](ctx context.Context, customer string, page func(context.Context, string, P) ([]Order, P, error)) (sizes []int) {
	var from P
	for {
		orders, next, err := page(ctx, customer, from)
		sizes = append(sizes, must(len(orders), err))
		if reflect.ValueOf(&next).Elem().IsZero() {
			return sizes
		}
		from = next
	}
}

func show(what string, values ...any) {
	fmt.Println(what, string(must(json.Marshal(values))))
}

func must[V any](v V, err error) V {
	try(err)
	return v
}

func try(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
