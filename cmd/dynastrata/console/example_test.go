package console_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/console"
	"github.com/dynastrata/dynastrata/entity"
)

type Task struct {
	_ entity.Key `name:"Task" pk:"$#{team}" sk:"$#{taskId}"`

	Team   string `dynamodbav:"team"`
	TaskID string `dynamodbav:"taskId"`
	Title  string `dynamodbav:"title"`
}

// openTasks declares the entities of a program.
func openTasks(_ context.Context, c console.Connection) (console.Program, error) {
	db, err := entity.Open(c.Client, entity.Config{Table: "tasks"})
	if err != nil {
		return console.Program{}, err
	}
	app, err := entity.Bind[struct{ Tasks *entity.Store[Task] }](db)
	return console.Program{DB: db, Handles: app}, err
}

// The main of a program that embeds the command is console.Main(console.App{Open: open}). Run is the same for tests, with arguments
// and output of their own.
func ExampleRun() {
	var out strings.Builder
	code := console.Run(context.Background(), console.App{Open: openTasks}, console.Streams{In: os.Stdin, Out: &out, Err: os.Stderr},
		[]string{"--endpoint", "http://localhost:8000", "schema", "Task"})
	first, _, _ := strings.Cut(out.String(), "  verb")
	fmt.Print(code, "\n", first)
	// Output:
	// 0
	// Task  table tasks, items $
	//   table  pk=$app#v1#task#{team}  sk=$app#v1#task#{taskId}
	//   stored
	//     current       pk=$app#v1#task#{team}  sk=$app#v1#task#{taskId}
}

type actor struct{} // key of the context

// as is what the requests of the program do before they write: it puts into the context who writes.
func as(ctx context.Context, who string) context.Context { return context.WithValue(ctx, actor{}, who) }

type Memo struct {
	_ entity.Key `name:"Memo" pk:"$#{id}" sk:"$"`

	ID string `dynamodbav:"id"`
	By string `dynamodbav:"by" entity:"context=actor,required"`
}

// openMemos declares an entity that requires to know who writes it.
func openMemos(_ context.Context, c console.Connection) (console.Program, error) {
	db, err := entity.Open(c.Client, entity.Config{Table: "memos", FromContext: func(ctx context.Context, _ string) (string, bool) {
		who, ok := ctx.Value(actor{}).(string)
		return who, ok
	}})
	if err != nil {
		return console.Program{}, err
	}
	memos, err := entity.Bind[struct{ Memos *entity.Store[Memo] }](db)
	return console.Program{DB: db, Handles: memos}, err
}

// --actor and --reason reach Config.FromContext by the function that puts them where the requests of the program do.
func ExampleApp_context() {
	app := console.App{Open: openMemos, Context: func(ctx context.Context, by console.By) context.Context { return as(ctx, by.Actor) }}
	code := console.Run(context.Background(), app, console.Streams{In: os.Stdin, Out: io.Discard, Err: os.Stderr},
		[]string{"--endpoint", "http://localhost:8000", "--actor", "ann", "schema", "Memo"})
	fmt.Println(code)
	// Output: 0
}
