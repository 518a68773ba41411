package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/stream"
)

// Article is what the examples follow.
type Article struct {
	_ entity.Key `name:"Article" pk:"$#{slug}" sk:"$"`

	Slug    string `dynamodbav:"slug"`
	Title   string `dynamodbav:"title"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// The database of the examples: none, or a local one while a test runs those that need it.
var (
	client *dynamodb.Client
	table  = "app"
)

var database *entity.DB

func library() *entity.Store[Article] {
	database = entity.Must(entity.Open(nil, entity.Config{Table: table}))
	if client != nil {
		database = entity.Must(entity.Open(client, entity.Config{Table: table}))
	}
	return entity.Must(entity.New[Article](database))
}

// invocation is what Lambda sends: an article that is new, a sentinel of another entity, an article that fails, and one after it.
const invocation = `{"Records":[
 {"eventID":"1","eventName":"INSERT","dynamodb":{"SequenceNumber":"101","StreamViewType":"NEW_AND_OLD_IMAGES",
  "Keys":{"pk":{"S":"$app#v1#article#a"},"sk":{"S":"$app#v1#article"}},
  "NewImage":{"pk":{"S":"$app#v1#article#a"},"sk":{"S":"$app#v1#article"},"__edd_e__":{"S":"Article"},"slug":{"S":"a"},"title":{"S":"Ants"},"version":{"N":"1"}}}},
 {"eventID":"2","eventName":"INSERT","dynamodb":{"SequenceNumber":"102","StreamViewType":"NEW_AND_OLD_IMAGES",
  "Keys":{"pk":{"S":"$app#v1#user.email#x"},"sk":{"S":"$app#v1#user.email"}},
  "NewImage":{"pk":{"S":"$app#v1#user.email#x"},"sk":{"S":"$app#v1#user.email"},"__edd_e__":{"S":"User._unique.email"}}}},
 {"eventID":"3","eventName":"INSERT","dynamodb":{"SequenceNumber":"103","StreamViewType":"NEW_AND_OLD_IMAGES",
  "Keys":{"pk":{"S":"$app#v1#article#b"},"sk":{"S":"$app#v1#article"}},
  "NewImage":{"pk":{"S":"$app#v1#article#b"},"sk":{"S":"$app#v1#article"},"__edd_e__":{"S":"Article"},"slug":{"S":"b"},"title":{"S":"Bees"},"version":{"N":"1"}}}},
 {"eventID":"4","eventName":"REMOVE","dynamodb":{"SequenceNumber":"104","StreamViewType":"NEW_AND_OLD_IMAGES",
  "Keys":{"pk":{"S":"$app#v1#article#a"},"sk":{"S":"$app#v1#article"}},
  "OldImage":{"pk":{"S":"$app#v1#article#a"},"sk":{"S":"$app#v1#article"},"__edd_e__":{"S":"Article"},"slug":{"S":"a"},"title":{"S":"Ants"},"version":{"N":"1"}}}}
]}`

// A Lambda function keeps a search index in step with the table. It is started as
//
//	lambda.Start(handler)
//
// and its event source mapping has ReportBatchItemFailures: where a record fails, Lambda repeats that one and what follows.
func ExampleHandle() {
	articles := library()
	index := func(_ context.Context, c stream.Change[Article]) error {
		article, current, err := c.Current()
		switch {
		case err != nil || !current:
			return err
		case article == nil:
			fmt.Println("remove", c.Old.Slug)
		case article.Slug == "b":
			return errors.New("the index is down")
		default:
			fmt.Println("index", article.Slug, article.Title, "version", c.NewVersion)
		}
		return nil
	}
	handler := func(ctx context.Context, e stream.Event) (stream.Response, error) {
		resp, err := stream.Handle(ctx, e, stream.On(articles, index))
		if resp.Failure != nil {
			fmt.Println("stopped at", resp.Failure.Record.EventID, "because", resp.Failure.Err)
		}
		return resp, err
	}

	// What the Lambda runtime does with it.
	var event stream.Event
	if err := json.Unmarshal([]byte(invocation), &event); err != nil {
		fmt.Println(err)
		return
	}
	resp, err := handler(context.Background(), event)
	answer, _ := json.Marshal(resp)
	fmt.Println(string(answer), resp.Handled, resp.Ignored, err)
	// Output:
	// index a Ants version 1
	// stopped at 3 because the index is down
	// {"batchItemFailures":[{"itemIdentifier":"103"}]} 1 1 <nil>
}

// A record that cannot be decoded blocks its shard until it is handled. Here it is saved elsewhere.
func ExampleOnUndecodable() {
	articles := library()
	aside := stream.OnUndecodable(func(_ context.Context, r stream.Record, err error) error {
		var misfit *entity.DecodeError
		if !errors.As(err, &misfit) {
			return err
		}
		fmt.Println("put aside:", r.EventID, misfit.Attr) // into a queue, say
		return nil
	})

	var event stream.Event
	if err := json.Unmarshal([]byte(invocation), &event); err != nil {
		fmt.Println(err)
		return
	}
	event.Records[0].New["title"] = &types.AttributeValueMemberBOOL{Value: true}
	resp, err := stream.Handle(context.Background(), event, aside, stream.On(articles, func(_ context.Context, c stream.Change[Article]) error {
		fmt.Println(c.Kind)
		return nil
	}))
	fmt.Println(resp.Handled, resp.Ignored, resp.Skipped, err)
	// Output:
	// put aside: 1 title
	// created
	// deleted
	// 2 1 1 <nil>
}

// A consumer of a Kinesis stream gets changes late and more than once. It keeps the time of the change with what it keeps of an
// item, also after a removal, and ignores what is not after it.
func ExampleFromKinesis() {
	articles := library()
	titles, last := map[string]string{}, map[string]time.Time{}
	index := func(_ context.Context, c stream.Change[Article]) error {
		article, current, err := c.Current()
		item, _ := c.Item()
		switch {
		case err != nil || !current:
			return err
		case !c.Record.Time.After(last[item.Slug]):
			fmt.Println("ignore", c.Kind)
			return nil
		case article == nil:
			delete(titles, item.Slug)
		default:
			titles[item.Slug] = article.Title
		}
		last[item.Slug] = c.Record.Time
		fmt.Println(c.Kind, titles)
		return nil
	}
	data := func(event, image, title string, micros int) []byte {
		return fmt.Appendf(nil, `{"eventID":"e","eventName":%q,"tableName":"app","recordFormat":"application/json","eventSource":"aws:dynamodb","dynamodb":{
			"ApproximateCreationDateTime":%d,"ApproximateCreationDateTimePrecision":"MICROSECOND","Keys":{"pk":{"S":"$app#v1#article#a"},"sk":{"S":"$app#v1#article"}},
			%q:{"pk":{"S":"$app#v1#article#a"},"sk":{"S":"$app#v1#article"},"__edd_e__":{"S":"Article"},"slug":{"S":"a"},"title":{"S":%q}}}}`, event, micros, image, title)
	}
	// What GetRecords of Kinesis returns: SequenceNumber and Data of each record.
	batch := stream.Event{Records: []stream.Record{
		stream.FromKinesis("501", data("INSERT", "NewImage", "Ants", 1720740233012995)),
		stream.FromKinesis("502", data("REMOVE", "OldImage", "Wood ants", 1720740233290001)),
		stream.FromKinesis("503", data("MODIFY", "NewImage", "Wood ants", 1720740233018542)),
		stream.FromKinesis("504", data("INSERT", "NewImage", "Ants", 1720740233012995)),
	}}
	resp, err := stream.Handle(context.Background(), batch, stream.On(articles, index))
	fmt.Println(resp.Handled, resp.Err(), err)
	// Output:
	// created map[a:Ants]
	// deleted map[]
	// ignore updated
	// ignore created
	// 4 <nil> <nil>
}

// A program that reads the shards by itself, as with a local database. One that stops and goes on keeps, for each shard, the
// sequence number that it came to.
func ExampleOf() {
	ctx := context.Background()
	articles := library()
	on := true
	changed, err := client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &table, StreamSpecification: &types.StreamSpecification{
		StreamEnabled: &on, StreamViewType: types.StreamViewTypeNewAndOldImages,
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ant := entity.Must(articles.Create(ctx, Article{Slug: "a", Title: "Ants"}))
	entity.Must(articles.Update(ctx, ant, entity.Set(&entity.Fields[Article]().Title, "Wood ants")))
	fmt.Println(articles.Delete(ctx, ant))

	o := client.Options()
	reader := dynamodbstreams.New(dynamodbstreams.Options{Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials})
	arn := changed.TableDescription.LatestStreamArn
	described, err := reader.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, shard := range described.StreamDescription.Shards {
		var page *dynamodbstreams.GetRecordsOutput
		for page == nil {
			begin, err := reader.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
				StreamArn: arn, ShardId: shard.ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
			})
			if err != nil {
				fmt.Println(err)
				return
			}
			page, err = reader.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: begin.ShardIterator})
			var trimmed *streamtypes.TrimmedDataAccessException // the oldest records were removed meanwhile: begin again
			if err != nil && !errors.As(err, &trimmed) {
				fmt.Println(err)
				return
			}
		}
		for _, r := range page.Records { // and so on with page.NextShardIterator
			c, ok, err := stream.Of(articles, stream.FromSDK(*arn, r))
			if err != nil || !ok {
				fmt.Println(ok, err)
				continue
			}
			v, err := c.Item()
			fmt.Println(c.Kind, v.Title, c.OldVersion, c.NewVersion, err)
		}
	}
	// prints
	// <nil>
	// created Ants 0 1 <nil>
	// updated Wood ants 1 2 <nil>
	// deleted Wood ants 2 0 <nil>
}

// A program on a server or in a container follows the stream of its table, as stream:"both" on entity.Key turns it on. Any number of processes can run this: they share the shards, and one
// takes over from another that stops.
func ExampleReader_Run() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	articles := library()
	fresh := entity.Must(articles.Create(ctx, Article{Slug: "r", Title: "Rats"}))

	o := client.Options()
	streams := dynamodbstreams.New(dynamodbstreams.Options{Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials})
	reader := stream.NewReader(streams, database, stream.ReaderOptions{
		Name: "search",
		Park: func(_ context.Context, failed stream.Failure) error {
			fmt.Println("put aside:", failed.Record.EventID, failed.Err) // into a queue, say
			return nil
		},
		OnLost: func(_ context.Context, lost *stream.LostError) error {
			fmt.Println(lost) // and index all articles again, say
			return nil
		},
	})
	err := reader.Run(ctx, stream.On(articles, func(_ context.Context, c stream.Change[Article]) error {
		if c.New != nil && c.New.Slug == fresh.Slug {
			fmt.Println(c.Kind, c.New.Title)
			stop() // a server does this when it is to end
		}
		return nil
	}))
	fmt.Println(err)
	// prints
	// created Rats
	// <nil>
}
