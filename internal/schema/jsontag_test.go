package schema_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
)

// The error for a struct made for JSON names the tag that is read.
func TestDeclaration_JSONTagsPointToDynamodbav(t *testing.T) {
	t.Parallel()
	type base struct {
		DeviceID string `json:"deviceId"`
	}
	type key struct {
		_ entity.Key `name:"Wrong" pk:"$#{deviceId}" sk:"$"`
		base
	}
	type native struct {
		_        entity.Key `name:"Wrong" pk:"deviceId"`
		DeviceID string     `json:"deviceId,omitempty"`
	}
	type project struct {
		_    entity.Key `name:"Wrong" pk:"$#{ID}" sk:"$"`
		_    entity.GSI `name:"x" index:"gsi1" pk:"$#{ID}" project:"label"`
		ID   string
		Name string `json:"label"`
	}
	type order struct {
		_     entity.Key        `name:"Wrong" pk:"$#{ID}" sk:"$"`
		_     timeseries.Events `orderBy:"at"`
		ID    string
		At    time.Time `json:"at"`
		Value int       `entity:"append"`
	}
	type expiring struct {
		_    entity.Key    `name:"Wrong" pk:"$#{ID}" sk:"$"`
		_    lifecycle.TTL `attr:"ends" after:"1h"`
		ID   string
		Ends int64 `json:"ends"`
	}
	type tagged struct {
		_    entity.Key `name:"Wrong" pk:"$#{label}" sk:"$"`
		Name string     `json:"label" dynamodbav:"name"`
	}
	for field, err := range map[string]error{"base.DeviceID": alone[key](), "DeviceID": alone[native](), "Name": alone[project](), "At": alone[order](), "Ends": alone[expiring]()} {
		require.ErrorContains(t, err, "give field "+field+" the tag dynamodbav:")
	}
	require.NotContains(t, alone[tagged]().Error(), "json")
}
