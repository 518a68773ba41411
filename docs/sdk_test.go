package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

func TestFromSDK_BothSidesDoTheSameAndTheTableIsAdopted(t *testing.T) {
	t.Parallel()
	const guide = "from-sdk.md"
	theirs := []string{
		source(t, guide, "sdk", "context", "fmt", "maps", "time", awsPackages+"feature/dynamodb/attributevalue",
			awsPackages+"feature/dynamodb/expression", awsPackages+"service/dynamodb", awsPackages+"service/dynamodb/types"),
		read(t, "testdata/slice/sdk.go"),
	}
	shown := ours(t, guide)
	our := shown + others(t, ours(t, "from-guregu.md"), shown)
	linesAreCounted(t, read(t, guide), theirs, our)

	client, table := localdb.Test(t)
	makeOrders(t, client, table, "GSI1", "PK", "S", "SK", "S", "GSI1PK", "S", "GSI1SK", "S")
	s := shops{t, client, table, [2]string{buildShop(t, "slice-sdk", theirs...), buildShop(t, "slice-composed", our)}}
	s.alternate()

	// What an earlier version of the program has written: items without the attributes of their keys, one without its kind.
	ctx := t.Context()
	put := func(nameAndText ...string) {
		item := map[string]types.AttributeValue{}
		for pair := range slices.Chunk(nameAndText, 2) {
			item[pair[0]] = &types.AttributeValueMemberS{Value: pair[1]}
		}
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item})
		require.NoError(t, err)
	}
	put("PK", "CUSTOMER#ada", "SK", "PROFILE", "type", "customer", "email", "ada@example.org", "nickname", "A")
	put("PK", "CUSTOMER#eve", "SK", "ORDER#000001", "type", "order", "status", "lost", "placed", "2026-04-22T14:00:00+02:00")
	put("PK", "CUSTOMER#eve", "SK", "ORDER#000002", "status", "lost")

	db := entity.Must(entity.Open(client, entity.Config{Table: table, PK: "PK", SK: "SK"}))
	orders, customers := entity.Must(entity.New[composedOrder](db)), entity.Must(entity.New[customer](db))
	require.NoError(t, tables.Verify(ctx, db))
	require.Equal(t, map[migrate.Kind]int{migrate.Outdated: 2, migrate.Unknown: 1}, check(t, orders))
	old, err := orders.Get(ctx, composedOrder{Customer: "eve", Number: 1})
	require.NoError(t, err)
	require.Equal(t, composedOrder{Customer: "eve", Number: 1, Status: "lost", Placed: time.Date(2026, 4, 22, 12, 0, 0, 0, time.UTC)}, old)
	found, err := orders.Query(composedOrder{Customer: "eve"}).Collect(ctx)
	require.NoError(t, err)
	require.Equal(t, []composedOrder{old}, found, "the other has no kind")
	bare, err := orders.Get(ctx, composedOrder{Customer: "eve", Number: 2})
	require.NoError(t, err)
	require.Equal(t, composedOrder{Customer: "eve", Number: 2, Status: "lost"}, bare)
	require.NoError(t, orders.Delete(ctx, bare))
	_, err = migrate.Rewrite(ctx, orders)
	require.NoError(t, err)

	// A unique value, and notes with a history in the partition of their customer.
	_, err = migrate.Rewrite(ctx, customers)
	require.NoError(t, err)
	require.Empty(t, check(t, orders))
	_, err = customers.Create(ctx, customer{Customer: "bob", Email: "ada@example.org"})
	require.ErrorAs(t, err, new(*unique.ViolationError))
	notes := entity.Must(entity.New[note](db))
	first, err := notes.Create(ctx, note{Customer: "ada", NoteID: "n-1", Text: "called"})
	require.NoError(t, err)
	_, err = notes.Update(ctx, first, entity.Set(&entity.Fields[note]().Text, "called back"))
	require.NoError(t, err)
	versions, err := entity.Must(versioned.Of(notes)).List(first, versioned.WithCurrent()).Collect(ctx)
	require.NoError(t, err)
	require.Len(t, versions, 2)
	require.Empty(t, check(t, orders))

	// The way back: the old program works as before, and leaves the rest alone.
	s.run(0, "dan")
	s.readAlike()
	require.Empty(t, check(t, orders))
	require.Contains(t, dump(t, client, table, "PK", "SK"), "nickname   S    A")
}

// composedOrder is the declaration of from-sdk.md; customer and note are other items of its table.
type composedOrder struct {
	_ entity.Key `name:"Order" pk:"PK=CUSTOMER#{customer}" sk:"SK=ORDER#{number:06}" kind:"type=order"`
	_ entity.GSI `name:"byStatus" index:"GSI1" pk:"GSI1PK=STATUS#{status}" sk:"GSI1SK={placed}"`

	Customer string    `dynamodbav:"customer"`
	Number   int       `dynamodbav:"number"`
	Status   string    `dynamodbav:"status"`
	Placed   time.Time `dynamodbav:"placed" entity:"time=s"`
	Total    int       `dynamodbav:"total"`
	Tags     []string  `dynamodbav:"tags,stringset,omitempty"`
}

type customer struct {
	_ entity.Key        `name:"Customer" pk:"PK=CUSTOMER#{customer}" sk:"SK=PROFILE" kind:"type=customer"`
	_ unique.Constraint `name:"email" fields:"email"`

	Customer string `dynamodbav:"customer"`
	Email    string `dynamodbav:"email,omitempty"`
}

type note struct {
	_ entity.Key       `name:"Note" pk:"PK=CUSTOMER#{customer}" sk:"$#{noteId}"`
	_ versioned.Retain `ttl:"365d"`

	Customer  string    `dynamodbav:"customer"`
	NoteID    string    `dynamodbav:"noteId"`
	Text      string    `dynamodbav:"text"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// declarations returns the declarations of a file with their text, by name: that of a function, or "" for all others but imports.
func declarations(t *testing.T, file string) (text map[string]string, names []string) {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "", file, parser.SkipObjectResolution)
	require.NoError(t, err)
	text = map[string]string{}
	for _, decl := range parsed.Decls {
		name := ""
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name = d.Name.Name
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
		}
		if text[name] == "" {
			names = append(names, name)
		}
		text[name] += "\n" + file[fset.Position(decl.Pos()).Offset:fset.Position(decl.End()).Offset] + "\n"
	}
	return text, names
}

// others returns the functions of a file that another one lacks.
func others(t *testing.T, file, without string) (text string) {
	t.Helper()
	has, _ := declarations(t, without)
	found, names := declarations(t, file)
	for _, name := range names {
		if has[name] == "" {
			text += found[name]
		}
	}
	return text
}

// linesAreCounted compares the numbers in a guide with the lines of both programs, without blank lines and comments.
func linesAreCounted(t *testing.T, page string, theirs []string, our string) {
	t.Helper()
	count := func(files ...string) (lines int) {
		for _, file := range files {
			text, _ := declarations(t, file)
			for _, part := range text {
				for line := range strings.Lines(part) {
					if strings.TrimSpace(line) != "" {
						lines++
					}
				}
			}
		}
		return lines
	}
	for _, lines := range []int{count(theirs...), count(our)} {
		require.Regexp(t, `\b`+strconv.Itoa(lines)+`\b`, page)
	}
}
