package docs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// owner is what unique.md declares.
type owner struct {
	_ entity.Key        `name:"Account" pk:"$#{accountId}" sk:"$"`
	_ unique.Constraint `name:"email" fields:"{email|lower}"`

	AccountID string `dynamodbav:"accountId"`
	Email     string `dynamodbav:"email,omitempty"`
}

// steady returns a plan or stored items without what differs from run to run.
func steady(text, table string, runs ...string) string {
	return strings.NewReplacer(append([]string{table, "app"}, runs...)...).Replace(text)
}

// storedKept makes the examples of unique values, versions, soft delete and expiry.
func storedKept(t *testing.T, made map[string]string) {
	t.Helper()
	storedAccount(t, made)
	storedDocument(t, made)
	storedDeleted(t, made)
	plannedNote(t, made)
	plannedSession(t, made)
	plannedWriter(t, made)
}

// plannedWriter prints an update of an item that may have an earlier form.
func plannedWriter(t *testing.T, made map[string]string) {
	t.Helper()
	db := entity.Must(entity.Open(nil, config("app")))
	writers := entity.Must(entity.New[writer3](db, entity.Upgrade(1, func(w writer2) (writer3, error) {
		return writer3{ID: w.ID, FullName: w.FullName}, nil
	})))
	made["plan-evolution"] = writers.Op().Update(writer3{ID: "w-1"}, entity.Set(&entity.Fields[writer3]().FullName, "Ada B.")).String()
}

// session is what expiry.md declares.
type session struct {
	_ entity.Key        `name:"Session" pk:"$#{sessionId}" sk:"$"`
	_ entity.GSI        `name:"byEnd" index:"gsi1" pk:"gsi1pk=session" sk:"gsi1sk={expiresAt}"`
	_ lifecycle.TTL     `attr:"expiresAt" from:"seenAt" after:"8h"`
	_ unique.Constraint `name:"token" fields:"token"`

	SessionID string    `dynamodbav:"sessionId"`
	Token     string    `dynamodbav:"token"`
	SeenAt    time.Time `dynamodbav:"seenAt"`
	ExpiresAt time.Time `dynamodbav:"expiresAt,omitempty" entity:"time=unix"`
}

func plannedSession(t *testing.T, made map[string]string) {
	t.Helper()
	sessions := entity.Must(entity.New[session](entity.Must(entity.Open(nil, config("app")))))
	made["plan-expiry"] = sessions.Op().Create(session{SessionID: "a", Token: "ta", SeenAt: noon}).String()
}

// signed is what timestamps.md declares.
type signed struct {
	_ entity.Key `name:"Note" pk:"$#{noteId}" sk:"$"`

	NoteID    string    `dynamodbav:"noteId" entity:"id=ulid"`
	Text      string    `dynamodbav:"text"`
	By        string    `dynamodbav:"by" entity:"context=actor,required"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at,time=s"`
}

func plannedNote(t *testing.T, made map[string]string) {
	t.Helper()
	cfg := config("app")
	cfg.FromContext = func(context.Context, string) (string, bool) { return "", false }
	notes := entity.Must(entity.New[signed](entity.Must(entity.Open(nil, cfg))))
	made["plan-timestamps"] = notes.Op().Update(signed{NoteID: "n-1"}, entity.Set(&entity.Fields[signed]().Text, "done")).String()
}

// trashed is what soft-delete.md declares.
type trashed struct {
	_ entity.Key           `name:"Member" pk:"$#{memberId}" sk:"$"`
	_ entity.GSI           `name:"trash" index:"gsi1" pk:"$#{team}" sk:"$#{deletedAt}"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`

	MemberID  string    `dynamodbav:"memberId"`
	Team      string    `dynamodbav:"team"`
	Email     string    `dynamodbav:"email,omitempty"`
	DeletedBy string    `dynamodbav:"deletedBy,omitempty"`
	DeletedAt time.Time `dynamodbav:"deletedAt,omitempty" entity:"deleted_at"`
}

func storedDeleted(t *testing.T, made map[string]string) {
	t.Helper()
	client, table := localdb.Test(t)
	cfg := config(table)
	id := cfg.NewID
	cfg.NewID = func() string { return id() + "-e" }
	db := entity.Must(entity.Open(client, cfg))
	members := entity.Must(entity.New[trashed](db))
	require.NoError(t, tables.Create(t.Context(), db))
	keepExpired(t, client, table, "_ttl")
	v, err := members.Create(t.Context(), trashed{MemberID: "m-1", Team: "red", Email: "ada@x.org"})
	require.NoError(t, err)
	remove := members.Op().Delete(v, entity.Set(&entity.Fields[trashed]().DeletedBy, "ann"))
	made["plan-delete-soft"] = steady(remove.String(), table, run+"-e", "")
	require.NoError(t, db.Transact(t.Context(), remove))
	made["deleted-stored"] = steady(having(dump(t, client, table, "pk", "sk"), "#deleted#2026-04-22T12:00:00.123456789Z"), table, run+"-e", "")
}

// document is what versions.md declares.
type document struct {
	_ entity.Key `name:"Document" pk:"$#{documentId}" sk:"$"`
	_ versioned.Lock
	_ versioned.Retain `ttl:"90d"`

	DocumentID string    `dynamodbav:"documentId"`
	Text       string    `dynamodbav:"text"`
	Version    int64     `dynamodbav:"version"   entity:"version"`
	CreatedAt  time.Time `dynamodbav:"createdAt" entity:"created_at,time=ms"`
	UpdatedAt  time.Time `dynamodbav:"updatedAt" entity:"updated_at,time=ms"`
}

func storedDocument(t *testing.T, made map[string]string) {
	t.Helper()
	client, table := localdb.Test(t)
	cfg := config(table)
	id := cfg.NewID
	cfg.NewID = func() string { return id() + "-d" }
	db := entity.Must(entity.Open(client, cfg))
	documents := entity.Must(entity.New[document](db))
	require.NoError(t, tables.Create(t.Context(), db))
	keepExpired(t, client, table, "_ttl")
	v, err := documents.Create(t.Context(), document{DocumentID: "d-1", Text: "draft"})
	require.NoError(t, err)
	update := documents.Op().Update(v, entity.Set(&entity.Fields[document]().Text, "final"))
	made["plan-versions"] = steady(update.String(), table, run+"-d", "")
	require.NoError(t, db.Transact(t.Context(), update))
	made["versions-stored"] = steady(having(dump(t, client, table, "pk", "sk"), "#v#0000001"), table, run+"-d", "")
}

func storedAccount(t *testing.T, made map[string]string) {
	t.Helper()
	client, table := localdb.Test(t)
	cfg := config(table)
	id := cfg.NewID
	cfg.NewID = func() string { return id() + "-a" } // not the tokens of the others
	db := entity.Must(entity.Open(client, cfg))
	accounts := entity.Must(entity.New[owner](db))
	require.NoError(t, tables.Create(t.Context(), db))
	create := accounts.Op().Create(owner{AccountID: "a-1", Email: "Ada@x.org"})
	made["plan-unique"] = steady(create.String(), table, run+"-a", "")
	require.NoError(t, db.Transact(t.Context(), create))
	made["unique-stored"] = steady(having(dump(t, client, table, "pk", "sk"), "account.email"), table, run+"-a", "")
}
