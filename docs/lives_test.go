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

// What migrations store has the attributes that evolution.md names: a checkpoint, a copied item, and the state of a copy.
func TestLives_AreStoredAsDocumented(t *testing.T) {
	t.Parallel()
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
	require.Contains(t, point, "#member._rewrite#fill")
	namesAttributes(t, "evolution.md", point)

	guests := entity.Must(entity.New[guest](db))
	copier := entity.Must(migrate.Copy("guests", members, guests, func(m member) (guest, error) {
		return guest{MemberID: m.MemberID, Team: m.Team}, nil
	}))
	_, err = copier.Run(t.Context())
	require.NoError(t, err)
	items := dump(t, client, table, "pk", "sk")
	require.Contains(t, having(items, "guest#m-1"), `copy/guests/["S$app#v1#member#m-1","S$app#v1#member","write-1`)
	states := having(items, "guest._copy")
	require.Contains(t, states, "guest._copy#guests#00\n")
	require.Contains(t, states, "guest._copy#guests#31\n")
	namesAttributes(t, "evolution.md", states)
}

// namesAttributes demands that a page names the attributes of stored items, itself or as those of a lease.
func namesAttributes(t *testing.T, page, items string) {
	t.Helper()
	named := section(t, read(t, page), "What is stored") + section(t, read(t, "leases.md"), "What is stored") + "`pk`, `sk`, `__edd_e__`, `_w`"
	for _, found := range regexp.MustCompile(`(?m)^[a-z_]\w*`).FindAllString(items, -1) {
		require.Contains(t, named, "`"+found+"`", page)
	}
}

// guest is what members are copied as.
type guest struct {
	_ entity.Key `name:"Guest" pk:"$#{team}" sk:"$#{memberId}"`

	MemberID string `dynamodbav:"memberId"`
	Team     string `dynamodbav:"team"`
}

// A snapshot of an item that expires has the attributes that expiry.md names.
func TestPasses_SnapshotsHaveAnEnd(t *testing.T) {
	t.Parallel()
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
	first := having(dump(t, client, table, "pk", "sk"), "#v#0000001")
	require.Regexp(t, `(?m)^_ends +N +1776888000$`, first)
	require.Regexp(t, `(?m)^expiresAt +N +1784664000$`, first)
	require.NotContains(t, first, "_ttl")
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
