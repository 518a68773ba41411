package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
)

func TestStory(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	d, err := newDesk(client, table)
	require.NoError(t, err)
	require.NoError(t, tables.Create(t.Context(), d.db))
	var out bytes.Buffer
	require.NoError(t, story(t.Context(), &out, d))
	require.Equal(t, `another Ann: Create Agent (pk="$app#v1#agent#acme" sk="$app#v1#agent#a-2"): the value of the unique constraint email belongs to another item
found a-1 as ANN@example.com
without an actor: true
waiting: question 1, question 4 | question 5, question 3
version 1: customer open
version 2: a-1 assigned a-1
version 3: a-1 assigned a-1 spam
version 4: boss assigned a-1 no spam
`, out.String())
}
