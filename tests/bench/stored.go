package main

import (
	"crypto/rand"
	"fmt"
	"time"
)

// keys is embedded in what raw and guregu store where this library composes the keys.
type keys struct {
	PK    string `dynamodbav:"pk" dynamo:"pk,hash"`
	SK    string `dynamodbav:"sk" dynamo:"sk,range"`
	Write string `dynamodbav:"_w" dynamo:"_w"` // changes with every write, so that a write can be guarded by what was read
}

type storedPrefixed struct {
	keys
	Prefixed
}

type storedReading struct {
	keys
	Reading
	Expires int64 `dynamodbav:"_ttl,omitempty" dynamo:"_ttl,omitempty"`
}

type storedEmployee struct {
	keys
	Employee
}

type storedDocument struct {
	keys
	Document
	DeletedAt string `dynamodbav:"deletedAt,omitempty" dynamo:"deletedAt,omitempty"`
	Expires   int64  `dynamodbav:"_ttl,omitempty" dynamo:"_ttl,omitempty"`
}

type storedAccount struct {
	keys
	Account
}

// claim is the item that holds a unique value.
type claim struct {
	keys
	OwnerPK string `dynamodbav:"_entity_pk" dynamo:"_entity_pk"`
	OwnerSK string `dynamodbav:"_entity_sk" dynamo:"_entity_sk"`
}

const eventTime = "2006-01-02T15:04:05.000000000Z" // sorts as times do

func prefixedKeys(tenant, id string) keys {
	return keys{"$app#v1#prefixed#" + tenant, "$app#v1#prefixed#" + id, rand.Text()}
}

func currentKeys(entity, id string) keys {
	return keys{"$app#v1#" + entity + "#" + id, "$app#v1#" + entity, rand.Text()}
}

func eventKeys(r Reading) keys {
	k := currentKeys("reading", r.Device)
	k.SK += "#e#" + r.At.Format(eventTime)
	return k
}

func versionKeys(e Employee) keys {
	k := currentKeys("employee", e.ID)
	k.SK += fmt.Sprintf("#v#%07d", e.Version)
	return k
}

func storedPrefixedOf(p Prefixed) storedPrefixed {
	return storedPrefixed{prefixedKeys(p.Tenant, p.ID), p}
}

func currentOf(r Reading) storedReading {
	return storedReading{keys: currentKeys("reading", r.Device), Reading: r}
}

func eventOf(r Reading) storedReading {
	return storedReading{keys: eventKeys(r), Reading: r, Expires: expiry(7)}
}

func deletedOf(d Document, write string) storedDocument {
	deleted := now.Format(eventTime)
	k := currentKeys("document", d.ID)
	k.SK += "#deleted#" + deleted
	k.Write = write
	return storedDocument{keys: k, Document: d, DeletedAt: deleted, Expires: expiry(30)}
}

func claimOf(a Account, owner keys) claim {
	return claim{keys{"$app#v1#account.email#" + a.Email, "$app#v1#account.email", owner.Write}, owner.PK, owner.SK}
}

// expiry returns the end of an item that is written now and lives some days.
func expiry(days int) int64 { return now.Add(time.Duration(days) * 24 * time.Hour).Unix() }
