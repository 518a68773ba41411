package entity_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// aliceIs is how errors name alice.
const aliceIs = `pk="$app#v1#employee#emp-alice" sk="$app#v1#employee"`

var aliceKey = keys("pk", "$app#v1#employee#emp-alice", "sk", "$app#v1#employee")

// rename is a change that any employee can have.
func rename(to string) entity.UpdateOption {
	return entity.Set(&entity.Fields[Employee]().DisplayName, to)
}

// verb is a row of the verb table: what the verb does to an absent item and to a live one. nil is success.
type verb struct {
	name         string
	alone        func(context.Context, *entity.Store[Employee]) error // nil: the verb exists in transactions only
	op           func(entity.Ops[Employee]) entity.Op                 // nil: the verb is a read
	request      string                                               // of the verb alone
	absent, live error
}

func verbTable() []verb {
	return []verb{
		{
			name: "Create", request: "PutItem", live: entity.ErrExists,
			alone: func(ctx context.Context, s *entity.Store[Employee]) error {
				_, err := s.Create(ctx, alice())
				return err
			},
			op: func(o entity.Ops[Employee]) entity.Op { return o.Create(alice()) },
		}, {
			name: "Update", request: "UpdateItem", absent: entity.ErrNotFound,
			alone: func(ctx context.Context, s *entity.Store[Employee]) error {
				_, err := s.Update(ctx, employeeKey("emp-alice"), rename("Alice B"))
				return err
			},
			op: func(o entity.Ops[Employee]) entity.Op { return o.Update(employeeKey("emp-alice"), rename("Alice B")) },
		}, {
			name: "Upsert", request: "UpdateItem",
			alone: func(ctx context.Context, s *entity.Store[Employee]) error {
				_, _, err := s.Upsert(ctx, alice())
				return err
			},
			op: func(o entity.Ops[Employee]) entity.Op { return o.Upsert(alice()) },
		}, {
			name: "Delete", request: "DeleteItem", absent: entity.ErrNotFound,
			alone: func(ctx context.Context, s *entity.Store[Employee]) error {
				return s.Delete(ctx, employeeKey("emp-alice"))
			},
			op: func(o entity.Ops[Employee]) entity.Op { return o.Delete(employeeKey("emp-alice")) },
		}, {
			name: "Get", request: "GetItem", absent: entity.ErrNotFound,
			alone: func(ctx context.Context, s *entity.Store[Employee]) error {
				_, err := s.Get(ctx, employeeKey("emp-alice"))
				return err
			},
		}, {
			name: "CheckExists", absent: entity.ErrNotFound,
			op: func(o entity.Ops[Employee]) entity.Op { return o.CheckExists(employeeKey("emp-alice")) },
		},
	}
}

// atStates runs f for each of the verbs on an absent and on a live item.
func atStates(t *testing.T, verbs []verb, f func(t *testing.T, l *lab, s *entity.Store[Employee], v verb, want error)) {
	l := newLab(t)
	s := declare[Employee](t, l.db)
	declare[Team](t, l.db)
	l.create(t)
	for _, v := range verbs {
		for state, want := range map[string]error{"absent": v.absent, "live": v.live} {
			t.Run(v.name+"/"+state, func(t *testing.T) {
				l.drop(t, aliceKey, keys("pk", "$app#v1#team#beside", "sk", "$app#v1#team"))
				require.Empty(t, l.everything(t))
				if state == "live" {
					_, err := s.Create(t.Context(), alice())
					require.NoError(t, err)
				}
				l.clock.move(time.Minute)
				l.wire.Reset()
				f(t, l, s, v, want)
			})
		}
	}
}

// requireClass checks that err is exactly the class want among those of the verb table, and says what failed on what.
func requireClass(t *testing.T, err, want error, verb string) {
	t.Helper()
	if want == nil {
		require.NoError(t, err)
		return
	}
	for _, class := range []error{entity.ErrExists, entity.ErrNotFound, entity.ErrConflict, entity.ErrConditionFailed} {
		if class == want {
			require.ErrorIs(t, err, class)
		} else {
			require.NotErrorIs(t, err, class)
		}
	}
	require.False(t, entity.IsAmbiguous(err), "a refused write was certainly not applied")
	var e *entity.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, verb, e.Verb)
	require.Equal(t, "Employee", e.Entity)
	require.Equal(t, aliceIs, e.Key)
}

func TestVerbTable_Alone(t *testing.T) {
	t.Parallel()
	verbs := slices.DeleteFunc(verbTable(), func(v verb) bool { return v.alone == nil })
	atStates(t, verbs, func(t *testing.T, l *lab, s *entity.Store[Employee], v verb, want error) {
		before := l.everything(t)
		err := v.alone(t.Context(), s)
		requireClass(t, err, want, v.name)
		require.Equal(t, []string{v.request}, l.sent(), "one request, whatever the outcome")
		if want == nil {
			return
		}
		require.Equal(t, before, l.everything(t), "a refused write leaves no trace")
		if v.op != nil {
			var sdk *types.ConditionalCheckFailedException
			require.ErrorAs(t, err, &sdk, "the SDK's error stays reachable")
		}
	})
}

func TestVerbTable_InTransaction(t *testing.T) {
	t.Parallel()
	verbs := slices.DeleteFunc(verbTable(), func(v verb) bool { return v.op == nil })
	atStates(t, verbs, func(t *testing.T, l *lab, s *entity.Store[Employee], v verb, want error) {
		before := l.everything(t)
		beside := declare[Team](t, l.db).Op().Create(Team{ID: "beside"})
		op := v.op(s.Op())
		err := l.db.Transact(t.Context(), beside, op)
		require.Equal(t, []string{"TransactWriteItems"}, l.sent())
		requireClass(t, err, want, v.name)
		requireClass(t, entity.FailureOf(err, op), want, v.name)
		require.NoError(t, entity.FailureOf(err, beside), "only the op that failed is blamed")
		if want == nil {
			require.Contains(t, l.everything(t), `S"$app#v1#team#beside" S"$app#v1#team"`)
			return
		}
		require.Equal(t, before, l.everything(t), "all or nothing")
		var sdk *types.TransactionCanceledException
		require.ErrorAs(t, err, &sdk)
		var failed *entity.TransactError
		require.ErrorAs(t, err, &failed)
		require.Len(t, failed.Failed, 1)
		require.Equal(t, 1, failed.Failed[0].Index)
		require.Same(t, op, failed.Failed[0].Op)
	})
}

func TestVerbTable_OneOpGivenToTransactGoesOutAsThePlainCall(t *testing.T) {
	t.Parallel()
	verbs := slices.DeleteFunc(verbTable(), func(v verb) bool { return v.op == nil })
	atStates(t, verbs, func(t *testing.T, l *lab, s *entity.Store[Employee], v verb, want error) {
		op := v.op(s.Op())
		err := l.db.Transact(t.Context(), op)
		requireClass(t, entity.FailureOf(err, op), want, v.name)
		if want == nil {
			require.NoError(t, err)
		}
		request := v.request
		if v.name == "CheckExists" {
			request = "TransactWriteItems" // a check has no plain call
		}
		require.Equal(t, []string{request}, l.sent())
	})
}
