package upgrades_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
)

// buyer1 has no constraint, buyer has one, and a step renames what it is about.

type buyer1 struct {
	_ entity.Key `name:"Buyer" pk:"$#{id}" sk:"$"`

	ID   string `dynamodbav:"id"`
	Mail string `dynamodbav:"mail"`
	Name string `dynamodbav:"name"`
}

type buyer struct {
	_ entity.Key        `name:"Buyer" pk:"$#{id}" sk:"$" payload:"2"`
	_ unique.Constraint `name:"mail" fields:"address"`

	ID   string    `dynamodbav:"id"`
	Mail string    `dynamodbav:"address"`
	Name string    `dynamodbav:"fullName"`
	Seen time.Time `dynamodbav:"seen"`
}

// An upgrade claims nothing that the earlier declaration did not claim: of two items with one value both can be written, and
// the first that gets another value claims that.
func TestUpgrades_ClaimNothingNew(t *testing.T) {
	t.Parallel()
	f := entity.Fields[buyer]()
	for what, write := range map[string]func(b *dbtest.Bench, s *entity.Store[buyer], id string) error{
		"update": func(b *dbtest.Bench, s *entity.Store[buyer], id string) error {
			return dbtest.ErrorOf(s.Update(b.Ctx, buyer{ID: id}, entity.Set(&f.Name, "x")))
		},
		"upsert": func(b *dbtest.Bench, s *entity.Store[buyer], id string) error {
			return dbtest.ErrorOf(s.Upsert(b.Ctx, buyer{ID: id, Mail: "m"}))
		},
		"put": func(b *dbtest.Bench, s *entity.Store[buyer], id string) error {
			return dbtest.ErrorOf(s.Put(b.Ctx, buyer{ID: id, Mail: "m"}))
		},
		"touch": func(b *dbtest.Bench, s *entity.Store[buyer], id string) error {
			return dbtest.ErrorOf(s.Touch(b.Ctx, buyer{ID: id}, &f.Seen, time.Minute))
		},
		"address": func(b *dbtest.Bench, s *entity.Store[buyer], id string) error {
			return dbtest.ErrorOf(s.Update(b.Ctx, buyer{ID: id}, entity.Set(&f.Mail, "new-"+id)))
		},
		"together": func(b *dbtest.Bench, s *entity.Store[buyer], id string) error {
			return b.DB.Transact(b.Ctx, s.Op().Update(buyer{ID: id}, entity.Set(&f.Name, "x")), s.Op().Create(buyer{ID: id + "2", Mail: id}))
		},
	} {
		b := dbtest.Open(t)
		now := dbtest.Declare[buyer](t, b.DB, entity.Upgrade(1, func(a buyer1) (buyer, error) { return buyer{ID: a.ID, Mail: a.Mail, Name: a.Name}, nil }))
		old := dbtest.Declare[buyer1](t, b.Open(b.Raw))
		b.CreateTables()
		b.OK(old.Create(b.Ctx, buyer1{ID: "a", Mail: "m"}))
		b.OK(old.Create(b.Ctx, buyer1{ID: "b", Mail: "m"}))
		require.NoError(t, write(b, now, "a"), what)
		require.NoError(t, write(b, now, "b"), what)
		require.Nil(t, b.Sentinel("m"), what)
		require.Equal(t, what == "address", b.Sentinel("new-a") != nil, what)
		require.Equal(t, "2", dbtest.Text(b.Current("b")["_pv"]), what)
		b.OK(now.Update(b.Ctx, buyer{ID: "a"}, entity.Set(&f.Mail, "m2")))
		require.Equal(t, dbtest.Text(b.Current("a")["pk"]), dbtest.Text(b.Sentinel("m2")["_entity_pk"]), what)
		require.NoError(t, now.Delete(b.Ctx, buyer{ID: "b"}), what)
	}
}

// token1 and token differ in the name of a value that is unique for an hour, and in the value if a step says so.

type token1 struct {
	_ entity.Key           `name:"Token" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"code" fields:"code" ttl:"1h"`

	ID   string `dynamodbav:"id"`
	Code string `dynamodbav:"code"`
}

type token struct {
	_ entity.Key           `name:"Token" pk:"$#{id}" sk:"$" payload:"2"`
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"code" fields:"secretCode" ttl:"1h"`

	ID   string `dynamodbav:"id"`
	Code string `dynamodbav:"secretCode"`
	Note string `dynamodbav:"note"`
}

// tokens is a table with a program of each version. prefix is what the step puts before the values.
type tokens struct {
	*dbtest.Bench
	old *entity.Store[token1]
	now *entity.Store[token]
}

func openTokens(t *testing.T, prefix string) *tokens {
	t.Helper()
	b := dbtest.Open(t)
	now := dbtest.Declare[token](t, b.DB, entity.Upgrade(1, func(k token1) (token, error) { return token{ID: k.ID, Code: prefix + k.Code}, nil }))
	c := &tokens{b, dbtest.Declare[token1](t, b.Open(b.Raw)), now}
	b.CreateTables()
	return c
}

// note writes an item of an earlier form.
func (c *tokens) note(id string) {
	c.T.Helper()
	c.OK(c.now.Update(c.Ctx, token{ID: id}, entity.Set(&entity.Fields[token]().Note, "n")))
}

// A claim with a ttl keeps its end if its item is upgraded: by a step that renames the field, where it stays as it is, and by
// one that changes the value, with which it moves.
func TestUpgrades_KeepTheEndsOfClaims(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "new-"} {
		for what, write := range map[string]func(c *tokens){
			"update":  func(c *tokens) { c.note("a") },
			"rewrite": func(c *tokens) { c.OK(migrate.Rewrite(c.Ctx, c.now, migrate.Strict())) },
			"version": func(c *tokens) { c.OK(migrate.Rewrite(c.Ctx, c.now, migrate.Strict(), migrate.NewVersion())) },
			"repair": func(c *tokens) {
				c.OK(migrate.RepairUnique(c.Ctx, entity.Must(unique.Of(c.now, "code"))))
				c.note("a")
			},
		} {
			c := openTokens(t, prefix)
			c.OK(c.old.Create(c.Ctx, token1{ID: "a", Code: "k"}))
			end := dbtest.Text(c.Sentinel("k")["_ttl"])
			c.Clock.Move(time.Minute)
			write(c)
			require.Equal(t, end, dbtest.Text(c.Sentinel(prefix + "k")["_ttl"]), "%s %q", what, prefix)
			require.Equal(t, prefix == "", c.Sentinel("k") != nil, "%s %q", what, prefix)
			require.Equal(t, "2", dbtest.Text(c.Current("a")["_pv"]), what)
		}
	}
}

// An upgrade keeps the write id, by which the snapshot of the state is known, unless it moves a claim: then what an earlier
// program has planned with the claim is planned again.
func TestUpgrades_KeepTheWriteIDUnlessAClaimMoves(t *testing.T) {
	t.Parallel()
	f := entity.Fields[token]()
	for _, prefix := range []string{"", "new-"} {
		c := openTokens(t, prefix)
		c.OK(c.old.Create(c.Ctx, token1{ID: "a", Code: "k"}))
		c.OK(c.old.Create(c.Ctx, token1{ID: "b", Code: "l"}))
		planned := map[string]any{"a": c.Current("a")["_w"], "b": c.Current("b")["_w"]}
		_, err := c.now.Update(c.Ctx, token{ID: "a"}, entity.Set(&f.Note, "n"), entity.If(entity.Eq(&f.Note, "other")))
		require.ErrorIs(t, err, entity.ErrConditionFailed)
		require.Equal(t, "2", dbtest.Text(c.Current("a")["_pv"]))
		c.OK(migrate.Rewrite(c.Ctx, c.now))
		for id, w := range planned {
			require.Equal(t, prefix == "", w.(*types.AttributeValueMemberS).Value == dbtest.Text(c.Current(id)["_w"]), "%s %q", id, prefix)
		}
	}
}

// A claim that has ended is not revived, and not taken from the item that has the value since.
func TestUpgrades_LeaveEndedClaims(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "new-"} {
		for _, taken := range []bool{false, true} {
			c := openTokens(t, prefix)
			c.OK(c.old.Create(c.Ctx, token1{ID: "a", Code: "k"}))
			c.Clock.Move(2 * time.Hour)
			var others dbtest.Item
			if taken {
				c.OK(c.old.Create(c.Ctx, token1{ID: "b", Code: "k"}))
				others = c.Sentinel("k")
			}
			c.note("a")
			if taken {
				require.Equal(t, others, c.Sentinel("k"))
			}
			if prefix != "" {
				require.Nil(t, c.Sentinel(prefix+"k"))
			}
			c.OK(c.now.Create(c.Ctx, token{ID: "c", Code: "new-k"}))
			if !taken {
				c.OK(c.now.Create(c.Ctx, token{ID: "d", Code: "k"}))
			}
		}
	}
}

// A claim whose new value another item has claimed is given up; the item can be written.
func TestUpgrades_GiveUpClaimsWhoseNewValueIsTaken(t *testing.T) {
	t.Parallel()
	c := openTokens(t, "new-")
	c.OK(c.now.Create(c.Ctx, token{ID: "b", Code: "new-k"}))
	c.OK(c.old.Create(c.Ctx, token1{ID: "a", Code: "k"}))
	others := c.Sentinel("new-k")
	c.note("a")
	require.Equal(t, others, c.Sentinel("new-k"))
	for _, it := range c.Items() {
		require.False(t, dbtest.IsSentinel(it) && dbtest.Text(it["_entity_pk"]) == dbtest.Text(c.Current("a")["pk"]))
	}
}

// Of an upgrade and a claim of the new value that overtakes it, the claim wins, and the item can be written.
func TestUpgrades_TakeNoValueThatIsClaimedMeanwhile(t *testing.T) {
	t.Parallel()
	c := openTokens(t, "new-")
	c.OK(c.old.Create(c.Ctx, token1{ID: "a", Code: "k"}))
	require.NoError(t, c.Overtake(dbtest.First(dbtest.Is("TransactWriteItems")), func() error {
		return dbtest.ErrorOf(c.now.Update(c.Ctx, token{ID: "a"}, entity.Set(&entity.Fields[token]().Note, "n")))
	}, func() {
		prefixed := entity.Upgrade(1, func(k token1) (token, error) { return token{ID: k.ID, Code: "new-" + k.Code}, nil })
		c.OK(dbtest.Declare[token](t, c.Open(c.Raw), prefixed).Create(c.Ctx, token{ID: "b", Code: "new-k"}))
	}))
	require.Equal(t, dbtest.Text(c.Current("b")["pk"]), dbtest.Text(c.Sentinel("new-k")["_entity_pk"]))
	require.Equal(t, "n", dbtest.Text(c.Current("a")["note"]))
}

// A copy in an earlier form that is restored releases what it reserves under the name that its field had.
func TestUpgrades_RestoreReleasesTheValueOfARenamedField(t *testing.T) {
	t.Parallel()
	c := openTokens(t, "new-")
	c.OK(c.old.Create(c.Ctx, token1{ID: "a", Code: "k"}))
	c.OK(c.old.Delete(c.Ctx, token1{ID: "a"}))
	c.OK(migrate.RepairUnique(c.Ctx, entity.Must(unique.Of(c.now, "code"))))
	require.NotNil(t, c.Sentinel("k"), "the stored form of the copy reserves it")
	deleted := entity.Must(lifecycle.Of(c.now))
	copied, err := deleted.Get(c.Ctx, token{ID: "a"})
	require.NoError(t, err)
	c.OK(deleted.RestoreCopy(c.Ctx, copied))
	require.NotNil(t, c.Sentinel("new-k"))
	c.OK(c.now.Create(c.Ctx, token{ID: "b", Code: "k"}))
}

// Purge releases the value of an earlier form under the name that its field had.
func TestUpgrades_PurgeReleasesTheValueOfARenamedField(t *testing.T) {
	t.Parallel()
	c := openTokens(t, "new-")
	c.OK(c.old.Create(c.Ctx, token1{ID: "a", Code: "k"}))
	require.NoError(t, c.now.Purge(c.Ctx, token{ID: "a"}))
	require.Empty(t, c.Items())
}

// ref1, ref2 and ref are three forms, of which the second was the first with a constraint.

type ref1 struct {
	_ entity.Key `name:"Ref" pk:"$#{id}" sk:"$"`

	ID   string `dynamodbav:"id"`
	Name string `dynamodbav:"name"`
}

type ref2 struct {
	_ entity.Key        `name:"Ref" pk:"$#{id}" sk:"$" payload:"2"`
	_ unique.Constraint `name:"code" fields:"code"`

	ID   string `dynamodbav:"id"`
	Code string `dynamodbav:"code"`
}

type ref struct {
	_ entity.Key        `name:"Ref" pk:"$#{id}" sk:"$" payload:"3"`
	_ unique.Constraint `name:"code" fields:"id,label"`

	ID    string `dynamodbav:"id"`
	Label string `dynamodbav:"label"`
}

// A repair has claimed values for a form in which the items were never stored: they move too, also with other fields.
func TestUpgrades_MoveWhatARepairClaimedForAFormBetween(t *testing.T) {
	t.Parallel()
	for what, write := range map[string]func(b *dbtest.Bench, s *entity.Store[ref]){
		"put":   func(b *dbtest.Bench, s *entity.Store[ref]) { b.OK(s.Put(b.Ctx, ref{ID: "a", Label: "two-one-x"})) },
		"purge": func(b *dbtest.Bench, s *entity.Store[ref]) { b.OK(s.Purge(b.Ctx, ref{ID: "a"})) },
	} {
		b := dbtest.Open(t)
		first := entity.Upgrade(1, func(r ref1) (ref2, error) { return ref2{ID: r.ID, Code: "one-" + r.Name}, nil })
		now := dbtest.Declare[ref](t, b.DB, first, entity.Upgrade(2, func(r ref2) (ref, error) { return ref{ID: r.ID, Label: "two-" + r.Code}, nil }))
		old, between := dbtest.Declare[ref1](t, b.Open(b.Raw)), dbtest.Declare[ref2](t, b.Open(b.Raw), first)
		b.CreateTables()
		b.OK(old.Create(b.Ctx, ref1{ID: "a", Name: "x"}))
		b.OK(migrate.RepairUnique(b.Ctx, entity.Must(unique.Of(between, "code"))))
		require.NotNil(t, b.Sentinel("one-x"), what)
		b.OK(migrate.Check(b.Ctx, now, func(f migrate.Finding) error {
			require.Equal(t, migrate.Outdated, f.Kind, "%v", f)
			return nil
		}))
		write(b, now)
		require.Nil(t, b.Sentinel("one-x"), what)
		require.Equal(t, what == "put", b.Sentinel("a#two-one-x") != nil, what)
	}
}

// visit1 and visit expire, and the step changes a unique value.

type visit1 struct {
	_ entity.Key        `name:"Visit" pk:"$#{id}" sk:"$"`
	_ lifecycle.TTL     `attr:"ends" after:"1h"`
	_ unique.Constraint `name:"code" fields:"code"`

	ID   string `dynamodbav:"id"`
	Code string `dynamodbav:"code"`
	Ends int64  `dynamodbav:"ends,omitempty"`
}

type visit struct {
	_ entity.Key        `name:"Visit" pk:"$#{id}" sk:"$" payload:"2"`
	_ lifecycle.TTL     `attr:"ends" after:"1h"`
	_ unique.Constraint `name:"code" fields:"badge"`

	ID    string `dynamodbav:"id"`
	Badge string `dynamodbav:"badge"`
	Note  string `dynamodbav:"note"`
	Ends  int64  `dynamodbav:"ends,omitempty"`
}

// The claims of items that expire end with them after an upgrade too. An upgraded item that has expired leaves its value.
func TestUpgrades_OfItemsThatExpireKeepTheEndsOfClaims(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	now := dbtest.Declare[visit](t, b.DB, entity.Upgrade(1, func(v visit1) (visit, error) { return visit{ID: v.ID, Badge: "new-" + v.Code}, nil }))
	old := dbtest.Declare[visit1](t, b.Open(b.Raw))
	b.CreateTables()
	b.OK(old.Create(b.Ctx, visit1{ID: "a", Code: "k"}))
	end := b.Current("a")["ends"]
	b.Clock.Move(time.Minute)
	b.OK(now.Update(b.Ctx, visit{ID: "a"}, entity.Set(&entity.Fields[visit]().Note, "n")))
	require.Equal(t, end, b.Sentinel("new-k")["ends"])
	require.Len(t, b.Items(), 2)
	verified, err := migrate.VerifyUnique(b.Ctx, entity.Must(unique.Of(now, "code")))
	require.NoError(t, err)
	require.Empty(t, verified.Findings)
	b.OK(old.Create(b.Ctx, visit1{ID: "b", Code: "l"}))
	b.Clock.Move(2 * time.Hour)
	b.OK(now.Create(b.Ctx, visit{ID: "c", Badge: "l"}))
	b.OK(now.Put(b.Ctx, visit{ID: "b", Badge: "new-l"}))
	found, err := entity.Must(unique.Of(now, "code")).Find(b.Ctx, visit{Badge: "l"})
	require.NoError(t, err)
	require.Equal(t, "c", found.ID)
}

// A constraint that the struct of a step declares must be one that the step's program could have had.
func TestUpgrades_RefuseAConstraintOfAFieldThatTheEarlierStructLacks(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_ entity.Key        `name:"Ref" pk:"$#{id}" sk:"$"`
		_ unique.Constraint `name:"code" fields:"kode"`

		ID   string `dynamodbav:"id"`
		Code string `dynamodbav:"code"`
	}
	_, err := entity.New[ref2](dbtest.Open(t).DB, entity.Upgrade(1, func(w wrong) (ref2, error) { return ref2{ID: w.ID}, nil }))
	dbtest.RequireInput(t, err, "EDD-9172", "", "payload version 1", "kode", "did you mean code?")
}
