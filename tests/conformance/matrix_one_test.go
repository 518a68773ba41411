package conformance_test

import (
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Every combination of versions and soft delete with no and with one unique constraint.

type u0VNoneSNone struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	Person
}

type u0VNoneSFree struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ lifecycle.SoftDelete
	Person
}

type u0VNoneSFreeTTL struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	Person
}

type u0VLockSNone struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Lock
	Person
}

type u0VLockSFree struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Lock
	_ lifecycle.SoftDelete
	Person
}

type u0VLockSFreeTTL struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Lock
	_ lifecycle.SoftDelete `ttl:"30d"`
	Person
}

type u0VRetainSNone struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain
	Person
}

type u0VRetainSFree struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	Person
}

type u0VRetainSFreeTTL struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete `ttl:"30d"`
	Person
}

type u0VRetainTTLSNone struct {
	_ entity.Key       `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI       `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain `ttl:"90d"`
	Person
}

type u0VRetainTTLSFree struct {
	_ entity.Key       `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI       `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain `ttl:"90d"`
	_ lifecycle.SoftDelete
	Person
}

type u0VRetainTTLSFreeTTL struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	Person
}

type u1VNoneSNone struct {
	_ entity.Key        `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI        `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ unique.Constraint `name:"email" fields:"email"`
	Person
}

type u1VNoneSFree struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	Person
}

type u1VNoneSFreeTTL struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
}

type u1VNoneSReserve struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
}

type u1VNoneSReserveTTL struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
}

type u1VLockSNone struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Lock
	_ unique.Constraint `name:"email" fields:"email"`
	Person
}

type u1VLockSFree struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Lock
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	Person
}

type u1VLockSFreeTTL struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Lock
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
}

type u1VLockSReserve struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Lock
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
}

type u1VLockSReserveTTL struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Lock
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
}

type u1VRetainSNone struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain
	_ unique.Constraint `name:"email" fields:"email"`
	Person
}

type u1VRetainSFree struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	Person
}

type u1VRetainSFreeTTL struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
}

type u1VRetainSReserve struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
}

type u1VRetainSReserveTTL struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
}

type u1VRetainTTLSNone struct {
	_ entity.Key        `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI        `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain  `ttl:"90d"`
	_ unique.Constraint `name:"email" fields:"email"`
	Person
}

type u1VRetainTTLSFree struct {
	_ entity.Key       `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI       `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain `ttl:"90d"`
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	Person
}

type u1VRetainTTLSFreeTTL struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
}

type u1VRetainTTLSReserve struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
}

type u1VRetainTTLSReserveTTL struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
}
