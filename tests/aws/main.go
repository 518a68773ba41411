// Command aws proves the library on one's own account: it makes tables, calls every verb, and deletes the tables again.
//
//	make aws TABLE_PREFIX=try- REGION=eu-central-1
//
// It names its cost first, and asks. What it did goes to standard output, as a report that can be attached to an issue: neither account, key nor
// value is in it. It takes credentials and endpoints from the AWS configuration; AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_DYNAMODB_STREAMS
// lead it to another database.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go/logging"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/iac"
)

// What a run may use at most, and what AWS asks for it: list prices of us-east-1 in November 2026, in dollars for a million units.
const (
	mostWrites, mostReads   = 3000, 2000
	writePrice, readPrice   = 0.625, 0.125
	streamReads, streamCost = 500, 0.02 / 100_000
)

func main() {
	prefix := flag.String("prefix", "", "prefix of the tables, which must not exist yet")
	region := flag.String("region", "", "AWS region; default: that of the AWS configuration")
	yes := flag.Bool("yes", false, "do not ask")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *prefix, *region, *yes); err != nil {
		fmt.Fprintln(os.Stderr, "aws:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, prefix, region string, yes bool) (err error) {
	if !regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`).MatchString(prefix) {
		return errors.New("give a -prefix of 1 to 40 letters, digits, _, . and -")
	}
	cfg, err := config.LoadDefaultConfig(ctx, func(o *config.LoadOptions) error { o.Region = region; return nil })
	if err != nil {
		return err
	}
	if cfg.Region == "" {
		return errors.New("there is no region")
	}
	cost := mostWrites*writePrice/1e6 + mostReads*readPrice/1e6 + streamReads*streamCost
	fmt.Fprintf(os.Stderr, "This makes the tables %smain and %sslow in %s, and deletes them at the end. It uses at most %d write units, %d read units and %d reads of a\n"+
		"stream: less than %.2f dollars at list prices. It takes some minutes.\n", prefix, prefix, cfg.Region, mostWrites, mostReads, streamReads, max(cost, 0.01))
	if !yes {
		fmt.Fprint(os.Stderr, "Go on? [y/N] ")
		answer, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
			return errors.New("nothing was done")
		}
	}
	cfg.Logger = logging.Nop{} // the report is what this says
	client := dynamodb.NewFromConfig(cfg)
	s := &suite{prefix: prefix, client: client, streams: dynamodbstreams.NewFromConfig(cfg)}
	fmt.Printf("# Dynastrata on DynamoDB, %s\n\n%s, %s/%s, region %s, endpoint of AWS: %v\n\n", time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH, cfg.Region, os.Getenv("AWS_ENDPOINT_URL_DYNAMODB") == "")
	for _, table := range []string{prefix + "main", prefix + "slow"} { // what exists is another's
		_, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
		if missing := new(types.ResourceNotFoundException); !errors.As(err, &missing) {
			return errors.Join(err, fmt.Errorf("the table %s exists, or could not be looked for", table))
		}
	}
	defer func() { err = errors.Join(err, drop(context.WithoutCancel(ctx), client, prefix)) }()
	fmt.Print("| step | calls | requests | throttled | read units | write units | seconds | |\n| --- | --: | --: | --: | --: | --: | --: | --- |\n")
	failed := 0
	for _, step := range s.steps() {
		before, start := s.spent(), time.Now()
		stepCtx, stop := context.WithTimeout(ctx, 10*time.Minute)
		err := step.do(stepCtx)
		stop()
		after, verdict := s.spent(), "ok"
		if err != nil {
			failed++
			verdict = "**failed**: " + class(err)
			fmt.Fprintf(os.Stderr, "%s: %v\n", step.name, err)
		}
		fmt.Printf("| %s | %d | %d | %d | %.1f | %.1f | %.1f | %s |\n", step.name, after.calls-before.calls, after.requests-before.requests, after.throttled-before.throttled,
			after.read-before.read, after.write-before.write, time.Since(start).Seconds(), verdict)
		if ctx.Err() != nil || err != nil && step.needed {
			break
		}
	}
	total := s.spent()
	fmt.Printf("| together | %d | %d | %d | %.1f | %.1f | | %d failed |\n", total.calls, total.requests, total.throttled, total.read, total.write, failed)
	if s.db != nil {
		if text, err := iac.Policy(tables.Of(s.db), iac.Allow(iac.Read, iac.Write, iac.Transact, iac.Stream, iac.Check, iac.Create, iac.AddIndexes)); err == nil {
			fmt.Printf("\nThe policy that allows these steps, and nothing more:\n\n```json\n%s```\n", text)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d steps failed", failed)
	}
	return ctx.Err()
}

// class names an error without the key that it may contain.
func class(err error) string {
	for name, known := range map[string]error{"condition failed": entity.ErrConditionFailed, "not found": entity.ErrNotFound, "conflict": entity.ErrConflict, "retry budget": entity.ErrRetryBudget} {
		if errors.Is(err, known) {
			return name
		}
	}
	return fmt.Sprintf("%T", err)
}

// drop deletes the tables of the run.
func drop(ctx context.Context, client *dynamodb.Client, prefix string) (err error) {
	for _, table := range []string{prefix + "main", prefix + "slow"} {
		for {
			_, failed := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(table)})
			if busy := new(types.ResourceInUseException); errors.As(failed, &busy) { // an index is still made
				time.Sleep(5 * time.Second)
				continue
			}
			if missing := new(types.ResourceNotFoundException); !errors.As(failed, &missing) {
				err = errors.Join(err, failed)
			}
			break
		}
	}
	return err
}
