package rules_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/expr/exprtest"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/testsize"
)

// fill puts items into the lab's table, replacing what is there.
func fill(t require.TestingT, l *dbtest.Bench, items []item.Item) {
	for chunk := range slices.Chunk(items, 25) {
		var writes []types.WriteRequest
		for _, it := range chunk {
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
		}
		out, err := l.Raw.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{l.Table: writes}})
		require.NoError(t, err)
		require.Empty(t, out.UnprocessedItems)
	}
}

// textOf prints a stored value for a message.
func textOf(v av) string {
	var x any
	if err := attributevalue.Unmarshal(v, &x); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%#v", x)
}

func textsOf(it item.Item) string {
	var b []string
	for name, v := range it {
		b = append(b, name+"="+textOf(v))
	}
	slices.Sort(b)
	return fmt.Sprint(b)
}

func meaning(c expr.Cond) string {
	return expr.Printer(expr.Path.String, func(_ []expr.Path, v av) string { return textOf(v) }).Cond(c)
}

func sampleKey(i int) Sample { return Sample{Group: "g", ID: strconv.Itoa(i)} }

// A condition on a write or a check holds exactly when DynamoDB's rules, evaluated in memory, say so.
func TestIf_AgreesWithTheRules(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Sample](t)
	all, f := sides(), entity.Fields[Sample]()
	seen := map[string]int{}
	check(t, func(t *rapid.T) {
		const n = 20
		items, means, ops := make([]item.Item, n), make([]expr.Cond, n), make([]entity.Op, n)
		for i := range items {
			items[i] = sample(t, all, i)
			var c entity.Cond
			c, means[i] = conditions(t, all, 2)
			switch key := sampleKey(i); i % 4 {
			case 0:
				ops[i] = s.Op().CheckExists(key, c)
			case 1:
				ops[i] = s.Op().Update(key, entity.Set(&f.Text, "after"), entity.If(c))
			case 2:
				ops[i] = s.Op().Delete(key, entity.If(c))
			case 3:
				key.Exact = "0"
				ops[i] = s.Op().Put(key, entity.If(c))
			}
		}
		fill(t, l, items)
		err := l.DB.Transact(context.Background(), ops...)
		for i, op := range ops {
			why := entity.FailureOf(err, op)
			if why != nil {
				require.ErrorIs(t, why, entity.ErrConditionFailed, "%s", meaning(means[i]))
			}
			require.Equal(t, exprtest.Holds(means[i], items[i]), why == nil, "%s on %s: %v", meaning(means[i]), textsOf(items[i]), err)
			seen[fmt.Sprint(means[i].Op, " ", why == nil)]++
		}
		var failed *entity.TransactError
		if err != nil {
			require.ErrorAs(t, err, &failed)
		}
	})
	requireBothWays(t, seen)
}

// requireBothWays wants every operator to have held and to have failed in the long run; the sample of a usual one is too small for that.
func requireBothWays(t *testing.T, seen map[string]int) {
	t.Helper()
	if !testsize.Long() {
		return
	}
	for _, op := range []expr.Op{expr.Eq, expr.Ne, expr.Lt, expr.Le, expr.Gt, expr.Ge, expr.Between, expr.In, expr.BeginsWith, expr.Contains, expr.Exists, expr.NotExists, expr.And, expr.Or, expr.Not} {
		require.NotZero(t, seen[fmt.Sprint(op, " true")], op)
		require.NotZero(t, seen[fmt.Sprint(op, " false")], op)
	}
}

// onlyID is what a filter's result is read into: items may hold what samples cannot.
type onlyID struct {
	ID string `dynamodbav:"id"`
}

// A filter of a query or scan lets exactly those items through for which DynamoDB's rules, evaluated in memory, hold.
func TestFilter_AgreesWithTheRules(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Sample](t)
	all := sides()
	seen := map[string]int{}
	check(t, func(t *rapid.T) {
		items := make([]item.Item, 25)
		for i := range items {
			items[i] = sample(t, all, i)
		}
		fill(t, l, items)
		for range 20 {
			c, means := conditions(t, all, 2)
			q := s.Query(Sample{Group: "g"}, entity.Filter(c))
			if rapid.IntRange(0, 3).Draw(t, "scan") == 0 {
				q = s.Scan(entity.Filter(c))
			}
			got, err := entity.Project[onlyID](q).Collect(context.Background())
			require.NoError(t, err, "%s", meaning(means))
			through := map[string]bool{}
			for _, one := range got {
				through[one.ID] = true
			}
			require.Len(t, got, len(through))
			for i, it := range items {
				held := through[strconv.Itoa(i)]
				require.Equal(t, exprtest.Holds(means, it), held, "%s on %s", meaning(means), textsOf(it))
				seen[fmt.Sprint(means.Op, " ", held)]++
			}
		}
	})
	requireBothWays(t, seen)
}

// nullIsAbsent are changes of an item for which NULL is as good as nothing to changes of elements.
func nullIsAbsent(it item.Item, changes []expr.Change) []expr.Change {
	var out []expr.Change
	for _, c := range changes {
		stored, _ := c.Path.Lookup(it)
		_, null := stored.(*types.AttributeValueMemberNULL)
		switch {
		case null && c.Kind == expr.Discard:
			continue
		case null && (c.Kind == expr.Increment || c.Kind == expr.Push || c.Kind == expr.Prepend || c.Kind == expr.Insert):
			c.Kind = expr.Set
		}
		out = append(out, c)
	}
	return out
}

// What an update makes of an item is what its changes mean, with or without a read before it.
func TestUpdate_AgreesWithTheRules(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Sample](t)
	all, f := sides(), entity.Fields[Sample]()
	seen := map[string]int{}
	check(t, func(t *rapid.T) {
		const n = 20
		items, want, means := make([]item.Item, n), map[string]item.Item{}, make([][]expr.Change, n)
		var together []entity.Op
		alone := map[int]entity.Op{}
		for i := range items {
			items[i] = sample(t, all, i)
			var goes []entity.UpdateOption
			goes, means[i] = alterationsOf(t, all)
			if rapid.IntRange(0, 3).Draw(t, "read first") == 0 {
				goes = append(goes, entity.Set(&f.Rank, 7))
				means[i] = append(means[i], expr.Change{Kind: expr.Set, Path: expr.Attr("rank"), Value: num("7")})
			}
			op := s.Op().Update(sampleKey(i), goes...)
			made, err := expr.Apply(items[i], nullIsAbsent(items[i], means[i]))
			for _, c := range means[i] {
				seen[fmt.Sprint(c.Kind, " ", err == nil)]++
			}
			if err != nil {
				alone[i], made = op, items[i]
			} else {
				together = append(together, op)
				if made["_w"] = str("after"); made["team"] != nil && made["rank"] != nil {
					made["gsi1pk"] = str("$app#v1#sample#red#0000000000000000007")
				}
			}
			want[strconv.Itoa(i)] = made
		}
		fill(t, l, items)
		// Some samples have what the struct cannot hold: the changes are made, but there is no result.
		var misfit *entity.DecodeError
		if err := l.DB.Transact(context.Background(), together...); !errors.As(err, &misfit) {
			require.NoError(t, err)
		}
		for i, op := range alone {
			err := l.DB.Transact(context.Background(), op)
			require.Error(t, err, "%v on %s", op, textsOf(items[i]))
			why := entity.FailureOf(err, op)
			require.True(t, errors.Is(why, entity.ErrConditionFailed) || why == nil, "%v", err)
		}
		out, err := l.Raw.Scan(context.Background(), &dynamodb.ScanInput{TableName: &l.Table})
		require.NoError(t, err)
		require.Len(t, out.Items, n)
		for _, it := range out.Items {
			id := it["id"].(*types.AttributeValueMemberS).Value
			if !item.Equal(it["_w"], str("before")) {
				it["_w"] = str("after")
			}
			i, _ := strconv.Atoi(id)
			require.True(t, exprtest.Same(want[id], it), "%s\non   %s\nmade %s\nnot  %s", expr.Printer(expr.Path.String, func(_ []expr.Path, v av) string { return textOf(v) }).Update(means[i]), textsOf(items[i]), textsOf(it), textsOf(want[id]))
		}
	})
	for kind := expr.Set; testsize.Long() && kind <= expr.Discard; kind++ {
		require.NotZero(t, seen[fmt.Sprint(kind, " true")], kind)
		require.NotZero(t, seen[fmt.Sprint(kind, " false")], kind)
	}
}

// DynamoDB refuses to order what has no order, whatever the item; so it is a mistake in the call.
func TestConditions_WithoutAnOrderAreRefusedBeforeARequest(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Sample](t)
	f := entity.Fields[Sample]()
	for field, conds := range map[string][]entity.Cond{
		"Flag":   {entity.Lt(&f.Flag, true), entity.Le(&f.Flag, true), entity.Gt(&f.Flag, false), entity.Ge(&f.Flag, false), entity.Between(&f.Flag, false, true)},
		"Note":   {entity.Lt(&f.Note, nil), entity.Between(&f.Note, nil, pointer("a")), entity.Between(&f.Note, pointer("a"), nil)},
		"Tags":   {entity.Ge(&f.Tags, []string{"a"})},
		"Place":  {entity.Gt(&f.Place, Place{}), entity.Lt(&f.Place.Doors, []string{"a"})},
		"Labels": {entity.Between(&f.Labels, nil, nil)},
		"Exact":  {entity.BeginsWith(&f.Exact, "1")},
	} {
		for _, c := range conds {
			_, err := s.Update(t.Context(), sampleKey(1), entity.Set(&f.Num, 1), entity.If(c))
			dbtest.RequireInput(t, err, "EDD-9111", field)
			require.Empty(t, l.Operations())
			_, err = s.Scan(entity.Filter(entity.Not(c))).Count(t.Context())
			dbtest.RequireInput(t, err, "EDD-9111", field)
			require.Empty(t, l.Operations())
		}
	}
	for _, c := range []entity.Cond{entity.Lt(&f.Note, pointer("")), entity.Ge(&f.Blob, []byte{}), entity.Lt(&f.Digits, 1), entity.Between(&f.Exact, "1", "2"), entity.Ne(&f.Flag, true), entity.In(&f.Note, nil)} {
		l.OK(s.Scan(entity.Filter(c)).Count(t.Context()))
	}
}
