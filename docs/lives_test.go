package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tables"
)

// storedLives makes the examples of what migrations store: a checkpoint, a copied item, and the state of a copy.
func storedLives(t *testing.T, made map[string]string) {
	t.Helper()
	client, table := localdb.Test(t)
	cfg := config(table)
	id := cfg.NewID
	cfg.NewID = func() string { return id() + run } // not the tokens of the series
	db := entity.Must(entity.Open(client, cfg))
	members := entity.Must(entity.New[member](db))
	require.NoError(t, tables.Create(t.Context(), db))
	_, err := members.Create(t.Context(), member{MemberID: "m-1", Team: "t-2", Email: "ada@x.org"})
	require.NoError(t, err)

	_, err = migrate.Rewrite(t.Context(), members, migrate.Checkpoint("fill"))
	require.NoError(t, err)
	point := having(dump(t, client, table, "pk", "sk"), "member._rewrite")
	made["rewrite-checkpoint"] = regexp.MustCompile(`(work +S +)\S+`).ReplaceAllString(point, "${1}<fingerprint>")

	guests := entity.Must(entity.New[guest](db))
	copier := entity.Must(migrate.Copy("guests", members, guests, func(m member) (guest, error) {
		return guest{MemberID: m.MemberID, Team: m.Team}, nil
	}))
	_, err = copier.Run(t.Context())
	require.NoError(t, err)
	items := dump(t, client, table, "pk", "sk")
	copies := []string{having(items, "guest#m-1")}
	for _, it := range strings.Split(having(items, "guest._copy"), "\n\n") {
		if strings.HasSuffix(strings.Split(it, "\n")[0], "#00") {
			copies = append(copies, it)
		}
	}
	made["copy-stored"] = strings.NewReplacer(run, "", table, "app").Replace(strings.Join(copies, "\n\n"))
}

// guest is what members are copied as.
type guest struct {
	_ entity.Key `name:"Guest" pk:"$#{team}" sk:"$#{memberId}"`

	MemberID string `dynamodbav:"memberId"`
	Team     string `dynamodbav:"team"`
}

// storedPasses makes the example of a snapshot of an item that expires, with a history and a unique value.
func storedPasses(t *testing.T, made map[string]string) {
	t.Helper()
	client, table := localdb.Test(t)
	cfg := config(table)
	id := cfg.NewID
	cfg.NewID = func() string { return id() + "-p" } // not the tokens of the others
	db := entity.Must(entity.Open(client, cfg))
	passes := entity.Must(entity.New[pass](db))
	require.NoError(t, tables.Create(t.Context(), db))
	keepExpired(t, client, table, "expiresAt")

	_, err := passes.Create(t.Context(), pass{PassID: "p-1", Badge: "b-7"})
	require.NoError(t, err)
	made["expiring-created"] = strings.ReplaceAll(having(dump(t, client, table, "pk", "sk"), "#v#0000001"), run+"-p", "")
}

// having returns the items of a dump whose sort key ends in one of the texts.
func having(dumped string, ends ...string) string {
	var found []string
	for _, it := range strings.Split(dumped, "\n\n") {
		sk := strings.Split(it, "\n")[1]
		if slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(sk, end) }) {
			found = append(found, it)
		}
	}
	return strings.Join(found, "\n\n")
}
