package docs_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/schemalock"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// classes have each error that a package exports, with its class.
var classes = map[string]struct {
	err   error
	class entity.Class
}{
	"entity.ErrNotFound":        {entity.ErrNotFound, entity.ClassNotFound},
	"entity.ErrExists":          {entity.ErrExists, entity.ClassExists},
	"entity.ErrConflict":        {entity.ErrConflict, entity.ClassConflict},
	"entity.ErrConditionFailed": {entity.ErrConditionFailed, entity.ClassRefused},
	"entity.ErrTooLarge":        {entity.ErrTooLarge, entity.ClassInvalid},
	"entity.ErrUndecodable":     {entity.ErrUndecodable, entity.ClassBug},
	"entity.ErrOmitted":         {entity.ErrOmitted, entity.ClassNotFound},
	"entity.ErrInvalidCursor":   {entity.ErrInvalidCursor, entity.ClassInvalid},
	"entity.ErrDeleted":         {fmt.Errorf("%w: %w", entity.ErrNotFound, entity.ErrDeleted), entity.ClassNotFound},
	"entity.ErrNotDeleted":      {entity.ErrNotDeleted, entity.ClassExists},
	"entity.ErrKeyCase":         {entity.ErrKeyCase, entity.ClassInvalid},
	"entity.ErrItemHidden":      {entity.ErrItemHidden, entity.ClassBug},
	"entity.ErrReadBack":        {entity.ErrReadBack, entity.ClassUnknown},
	"entity.ErrMultipleItems":   {entity.ErrMultipleItems, entity.ClassBug},
	"entity.ErrNoTable":         {entity.ErrNoTable, entity.ClassBug},
	"entity.ErrNoIndex":         {entity.ErrNoIndex, entity.ClassBug},
	"entity.ErrTokenReused":     {entity.ErrTokenReused, entity.ClassBug},
	"entity.ErrRetryBudget":     {entity.ErrRetryBudget, entity.ClassUnavailable},
	"entity.ErrNoClient":        {entity.ErrNoClient, entity.ClassBug},
	"entity.ErrStop":            {entity.ErrStop, entity.ClassBug},
	"entity.Error":              {&entity.Error{Err: entity.ErrExists}, entity.ClassExists},
	"entity.SchemaError":        {&entity.SchemaError{}, entity.ClassBug},
	"entity.InputError":         {&entity.InputError{}, entity.ClassInvalid},
	"entity.ValidationError":    {&entity.ValidationError{Err: entity.ErrExists}, entity.ClassInvalid},
	"entity.PrepareError":       {&entity.PrepareError{Err: entity.ErrNotFound}, entity.ClassInvalid},
	"entity.ConditionError":     {&entity.ConditionError{}, entity.ClassRefused},
	"entity.KeyCaseError":       {&entity.KeyCaseError{}, entity.ClassInvalid},
	"entity.DecodeError":        {&entity.DecodeError{}, entity.ClassBug},
	"entity.UpgradeError":       {&entity.UpgradeError{}, entity.ClassBug},
	"entity.CursorError":        {&entity.CursorError{}, entity.ClassInvalid},
	"entity.IndexError":         {&entity.IndexError{Building: true}, entity.ClassUnavailable},
	"entity.UnprocessedError":   {&entity.UnprocessedError{}, entity.ClassUnavailable},
	"entity.OpError":            {&entity.TransactError{Failed: []entity.OpError{{Err: entity.ErrConditionFailed}}}, entity.ClassRefused},
	"entity.TransactError":      {&entity.TransactError{Failed: []entity.OpError{{Err: entity.ErrConditionFailed}, {Err: entity.ErrNotFound}}}, entity.ClassNotFound},

	"unique.ViolationError":       {&unique.ViolationError{}, entity.ClassExists},
	"versioned.ConflictError":     {&versioned.ConflictError{}, entity.ClassConflict},
	"versioned.ErrVersionExpired": {versioned.ErrVersionExpired, entity.ClassNotFound},
	"timeseries.NotAppliedError":  {&timeseries.NotAppliedError{Reason: timeseries.Older}, entity.ClassRefused},
	"lease.ErrTaken":              {lease.ErrTaken, entity.ClassUnavailable},
	"lease.ErrLost":               {lease.ErrLost, entity.ClassConflict},
	"lease.TakenError":            {&lease.TakenError{}, entity.ClassUnavailable},
	"lease.SkewError":             {errors.Join(&lease.SkewError{}, lease.ErrLost), entity.ClassConflict},
	"stream.ErrNoStream":          {stream.ErrNoStream, entity.ClassBug},
	"stream.LostError":            {&stream.LostError{}, entity.ClassBug},
	"stream.ImageError":           {&stream.ImageError{}, entity.ClassBug},
	"stream.RecordError":          {&stream.RecordError{}, entity.ClassBug},
	"tables.ErrNoRecovery":        {tables.ErrNoRecovery, entity.ClassBug},
	"tables.Error":                {&tables.Error{}, entity.ClassBug},
	"tables.VerifyError":          {&tables.VerifyError{}, entity.ClassBug},
	"schemalock.FormatError":      {&schemalock.FormatError{}, entity.ClassBug},
	"schemalock.ChangedError":     {&schemalock.ChangedError{}, entity.ClassBug},
	"localdb.ErrUnavailable":      {localdb.ErrUnavailable, entity.ClassBug},
	"faults.ErrInjected":          {faults.ErrInjected, entity.ClassBug},

	"timeline.ErrRebuildRequired":  {timeline.ErrRebuildRequired, entity.ClassUnavailable},
	"timeline.ErrBuilding":         {timeline.ErrBuilding, entity.ClassUnavailable},
	"timeline.ErrLeaseLost":        {timeline.ErrLeaseLost, entity.ClassConflict},
	"timeline.ErrPartUnread":       {timeline.ErrPartUnread, entity.ClassInvalid},
	"timeline.ErrGroupKeyMissing":  {timeline.ErrGroupKeyMissing, entity.ClassBug},
	"timeline.ErrHistoryGap":       {timeline.ErrHistoryGap, entity.ClassNotFound},
	"timeline.ErrIncomplete":       {timeline.ErrIncomplete, entity.ClassUnavailable},
	"timeline.ErrNoAcceptTime":     {timeline.ErrNoAcceptTime, entity.ClassBug},
	"timeline.ErrDuplicate":        {timeline.ErrDuplicate, entity.ClassBug},
	"timeline.ErrPayloadVersion":   {timeline.ErrPayloadVersion, entity.ClassBug},
	"timeline.ErrUnknownEvent":     {timeline.ErrUnknownEvent, entity.ClassBug},
	"timeline.ErrStateLost":        {timeline.ErrStateLost, entity.ClassBug},
	"timeline.StaleError":          {&timeline.StaleError{}, entity.ClassUnavailable},
	"timeline.BuildingError":       {&timeline.BuildingError{}, entity.ClassUnavailable},
	"timeline.ApplyError":          {&timeline.ApplyError{}, entity.ClassBug},
	"timeline.HistoryExpiredError": {&timeline.HistoryExpiredError{}, entity.ClassNotFound},
	"timeline.EventError":          {&timeline.EventError{}, entity.ClassBug},
	"timeline.LimitError":          {&timeline.LimitError{}, entity.ClassBug},
	"timeline.ExportError":         {&timeline.ExportError{}, entity.ClassBug},

	"migrate.ErrRunning":      {migrate.ErrRunning, entity.ClassUnavailable},
	"migrate.ErrLeaseLost":    {migrate.ErrLeaseLost, entity.ClassConflict},
	"migrate.ErrOtherWork":    {migrate.ErrOtherWork, entity.ClassBug},
	"migrate.ErrCutOver":      {migrate.ErrCutOver, entity.ClassBug},
	"migrate.ErrNotBegun":     {migrate.ErrNotBegun, entity.ClassBug},
	"migrate.ErrUnsettled":    {migrate.ErrUnsettled, entity.ClassConflict},
	"migrate.UnsettledError":  {&migrate.UnsettledError{}, entity.ClassConflict},
	"migrate.RunningError":    {&migrate.RunningError{}, entity.ClassUnavailable},
	"migrate.CheckpointError": {&migrate.CheckpointError{}, entity.ClassBug},
	"migrate.ItemError":       {&migrate.ItemError{}, entity.ClassBug},
}

func TestClassOf_KnowsEveryError(t *testing.T) {
	t.Parallel()
	for _, name := range exportedErrors(t) {
		c, ok := classes[name]
		if !ok {
			t.Errorf("%s has no class here", name)
			continue
		}
		require.Equal(t, c.class, entity.ClassOf(c.err), name)
		require.Equal(t, c.class, entity.ClassOf(&entity.Error{Verb: "Get", Err: fmt.Errorf("wrapped: %w", c.err)}), name)
	}
}

func TestClassOf_LooksIntoErrorsOfOthers(t *testing.T) {
	t.Parallel()
	require.Equal(t, entity.Class(""), entity.ClassOf(nil))
	for want, all := range map[entity.Class][]error{
		entity.ClassUnavailable: {
			&types.ProvisionedThroughputExceededException{}, &types.InternalServerError{}, context.Canceled, context.DeadlineExceeded,
			&smithyhttp.RequestSendError{Err: &net.OpError{Op: "read", Err: errors.New("reset")}}, &entity.PrepareError{Err: context.Canceled},
			fmt.Errorf("%w: %w", entity.ErrRetryBudget, &types.ProvisionedThroughputExceededException{}),
		},
		entity.ClassUnknown: {&plan.Ambiguous{Err: entity.ErrConditionFailed}, fmt.Errorf("put: %w", &plan.Ambiguous{Err: context.Canceled})},
		entity.ClassBug:     {errors.New("of a function"), &types.ResourceNotFoundException{}, &entity.InputError{Code: "EDD-9160"}},
		entity.ClassExists:  {fmt.Errorf("%w: %w", entity.ErrExists, entity.ErrKeyCase), &timeseries.NotAppliedError{Reason: timeseries.Duplicate}},
	} {
		for _, err := range all {
			require.Equal(t, want, entity.ClassOf(err), "%T %v", err, err)
		}
	}
}
