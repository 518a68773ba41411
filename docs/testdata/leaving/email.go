package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ChangeEmail gives a member another address: what an Update of the library does. It fails if another write of the member came in between,
// or the address is claimed. The sentinel of an expired item, or of a constraint with a ttl, would also have to be replaced if it has expired.
func ChangeEmail(ctx context.Context, client *dynamodb.Client, table, id, email string, now time.Time) error {
	s := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	n := func(v int64) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(v)} }
	pk, sk, w := s("$app#v1#member#"+id), s("$app#v1#member"), s(rand.Text())
	read, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &table, Key: map[string]types.AttributeValue{"pk": pk, "sk": sk}, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return err
	}
	if read.Item == nil {
		return errors.New("there is no such member")
	}
	var was struct {
		Email, UpdatedAt string
		Version          int64
	}
	if err := attributevalue.UnmarshalMap(read.Item, &was); err != nil {
		return err
	}
	item, snapshot := maps.Clone(read.Item), maps.Clone(read.Item)
	item["email"], item["version"], item["updatedAt"], item["_w"] = s(email), n(was.Version+1), s(now.UTC().Format(time.RFC3339)), w
	snapshot["sk"], snapshot["_k"] = s(fmt.Sprintf("$app#v1#member#v#%07d", was.Version)), s("v")
	snapshot["_at"], snapshot["_ttl"] = s(strings.TrimSuffix(was.UpdatedAt, "Z")+".000000000Z"), n(now.AddDate(0, 0, 90).Unix())
	delete(item, "_op")
	for _, name := range []string{"_op", "gsi1pk", "gsi1sk"} {
		delete(snapshot, name)
	}
	claim := func(email string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"pk": s("$app#v1#member.email#" + email), "sk": s("$app#v1#member.email")}
	}
	claimed := claim(email)
	claimed["__edd_e__"], claimed["_entity_pk"], claimed["_entity_sk"], claimed["_w"] = s("Member._unique.email"), pk, sk, w
	names, values := map[string]string{"#w": "_w"}, map[string]types.AttributeValue{":w": read.Item["_w"]}
	owner := map[string]types.AttributeValue{":pk": pk, ":sk": sk}
	_, err = client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: &table, Item: item, ConditionExpression: aws.String("#w = :w"), ExpressionAttributeNames: names, ExpressionAttributeValues: values}},
		{Put: &types.Put{
			TableName: &table, Item: snapshot, ConditionExpression: aws.String("attribute_not_exists(pk) OR #w = :w"), // Create stores one, too
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}},
		{Put: &types.Put{TableName: &table, Item: claimed, ConditionExpression: aws.String("attribute_not_exists(pk)")}},
		{Delete: &types.Delete{
			TableName: &table, Key: claim(was.Email), ConditionExpression: aws.String("attribute_not_exists(pk) OR (#pk = :pk AND #sk = :sk)"),
			ExpressionAttributeNames: map[string]string{"#pk": "_entity_pk", "#sk": "_entity_sk"}, ExpressionAttributeValues: owner,
		}},
	}})
	return err
}
