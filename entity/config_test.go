package entity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestConfig_OldKeysAndUnitsAreChecked(t *testing.T) {
	t.Parallel()
	long := []byte("0123456789abcdef")
	for name, c := range map[string]struct {
		config entity.Config
		field  string
	}{
		"old keys alone": {entity.Config{OldCursorKeys: [][]byte{long}}, "OldCursorKeys"},
		"short old key":  {entity.Config{CursorKey: long, OldCursorKeys: [][]byte{long, long[:15]}}, "OldCursorKeys[1]"},
		"no units":       {entity.Config{TableOptions: map[string]entity.TableOptions{"t": {Provisioned: &entity.Throughput{Read: 1}}}}, `TableOptions["t"]`},
	} {
		c.config.Table = "app"
		_, err := entity.Open(nil, c.config)
		var bad *entity.SchemaError
		require.ErrorAs(t, err, &bad, name)
		require.Equal(t, []string{"EDD-9050", c.field}, []string{bad.Code, bad.Field}, name)
	}
}

func TestOpen_ANilClientIsNone(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Plain](entity.Must(entity.Open((*dynamodb.Client)(nil), entity.Config{Table: "app"}))))
	_, err := s.Get(t.Context(), Plain{ID: "a"})
	require.ErrorIs(t, err, entity.ErrNoClient)
}

// Lease shares its table, and its index, with entities that have an entity marker.
type Lease struct {
	_ entity.Key `name:"Lease" pk:"pk={id}" sk:"sk=lease"`
	_ entity.GSI `name:"byFlat" index:"flats" pk:"flat" sk:"id"`

	ID   string `dynamodbav:"id"`
	Flat string `dynamodbav:"flat,omitempty"`
}

// Room has a `$` key, and an index whose partition key has no prefix.
type Room struct {
	_ entity.Key `name:"Room" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byFlat" index:"flats" pk:"flat" sk:"id"`
	_ entity.LSI `name:"byFloor" index:"floors" sk:"floor"`

	ID    string `dynamodbav:"id"`
	Flat  string `dynamodbav:"flat,omitempty"`
	Floor int    `dynamodbav:"floor"`
}

func TestPlan_ReadsOfSharedTablesExcludeOtherEntities(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	leases := entity.Must(entity.New[Lease](db))
	const marker = "__edd_e__"
	byFlat := entity.Must(leases.Index("byFlat"))
	for _, q := range []entity.Query[Lease]{leases.Scan(), leases.Query(Lease{ID: "l"}), byFlat.Query(Lease{Flat: "f"}), byFlat.Scan()} {
		require.NotContains(t, q.String(), marker, "nothing else is in the table")
	}
	rooms := entity.Must(entity.New[Room](db))
	for _, q := range []entity.Query[Lease]{leases.Scan(), leases.Query(Lease{ID: "l"}), byFlat.Query(Lease{Flat: "f"}), byFlat.Scan()} {
		require.Contains(t, q.String(), marker)
	}
	inFlat, onFloor := entity.Must(rooms.Index("byFlat")), entity.Must(rooms.Index("byFloor"))
	for _, q := range []entity.Query[Room]{rooms.Scan(), inFlat.Query(Room{Flat: "f"}), inFlat.Scan(), onFloor.Scan(), onFloor.Query(Room{ID: "r"})} {
		require.Contains(t, q.String(), marker)
		require.Contains(t, q.String(), "begins_with", "of this namespace only")
	}
}
