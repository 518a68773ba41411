package conformance_test

import (
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Every combination of versions and soft delete with two unique constraints, one of them compound and sparse.

type u2VNoneSNone struct {
	_ entity.Key        `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI        `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ unique.Constraint `name:"email" fields:"email"`
	_ unique.Constraint `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VNoneSFree struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	_ unique.Constraint `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VNoneSFreeTTL struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ unique.Constraint    `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VNoneSReserve struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ unique.Constraint    `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VNoneSReserveTTL struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ unique.Constraint    `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VLockSNone struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Lock
	_ unique.Constraint `name:"email" fields:"email"`
	_ unique.Constraint `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VLockSFree struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Lock
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	_ unique.Constraint `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VLockSFreeTTL struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Lock
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ unique.Constraint    `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VLockSReserve struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Lock
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ unique.Constraint    `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VLockSReserveTTL struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Lock
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ unique.Constraint    `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VRetainSNone struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain
	_ unique.Constraint `name:"email" fields:"email"`
	_ unique.Constraint `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VRetainSFree struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	_ unique.Constraint `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VRetainSFreeTTL struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ unique.Constraint    `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VRetainSReserve struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ unique.Constraint    `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VRetainSReserveTTL struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ unique.Constraint    `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VRetainTTLSNone struct {
	_ entity.Key        `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI        `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain  `ttl:"90d"`
	_ unique.Constraint `name:"email" fields:"email"`
	_ unique.Constraint `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VRetainTTLSFree struct {
	_ entity.Key       `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI       `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain `ttl:"90d"`
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	_ unique.Constraint `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VRetainTTLSFreeTTL struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ unique.Constraint    `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VRetainTTLSReserve struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ unique.Constraint    `name:"badge" fields:"tenant,badge"`
	Person
}

type u2VRetainTTLSReserveTTL struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ unique.Constraint    `name:"badge" fields:"tenant,badge"`
	Person
}

// matrix is every combination.
var matrix = []combination{
	row[u0VNoneSNone]("u0_none_hard", traits{unique: 0}),
	row[u0VNoneSFree]("u0_none_free", traits{unique: 0, soft: true}),
	row[u0VNoneSFreeTTL]("u0_none_free-ttl", traits{unique: 0, soft: true, copyTTL: true}),
	row[u0VLockSNone]("u0_lock_hard", traits{unique: 0, lock: true}),
	row[u0VLockSFree]("u0_lock_free", traits{unique: 0, lock: true, soft: true}),
	row[u0VLockSFreeTTL]("u0_lock_free-ttl", traits{unique: 0, lock: true, soft: true, copyTTL: true}),
	row[u0VRetainSNone]("u0_retain_hard", traits{unique: 0, retain: true}),
	row[u0VRetainSFree]("u0_retain_free", traits{unique: 0, retain: true, soft: true}),
	row[u0VRetainSFreeTTL]("u0_retain_free-ttl", traits{unique: 0, retain: true, soft: true, copyTTL: true}),
	row[u0VRetainTTLSNone]("u0_retain-ttl_hard", traits{unique: 0, retain: true, retainTTL: true}),
	row[u0VRetainTTLSFree]("u0_retain-ttl_free", traits{unique: 0, retain: true, retainTTL: true, soft: true}),
	row[u0VRetainTTLSFreeTTL]("u0_retain-ttl_free-ttl", traits{unique: 0, retain: true, retainTTL: true, soft: true, copyTTL: true}),
	row[u1VNoneSNone]("u1_none_hard", traits{unique: 1}),
	row[u1VNoneSFree]("u1_none_free", traits{unique: 1, soft: true}),
	row[u1VNoneSFreeTTL]("u1_none_free-ttl", traits{unique: 1, soft: true, copyTTL: true}),
	row[u1VNoneSReserve]("u1_none_reserve", traits{unique: 1, soft: true, reserve: true}),
	row[u1VNoneSReserveTTL]("u1_none_reserve-ttl", traits{unique: 1, soft: true, reserve: true, copyTTL: true}),
	row[u1VLockSNone]("u1_lock_hard", traits{unique: 1, lock: true}),
	row[u1VLockSFree]("u1_lock_free", traits{unique: 1, lock: true, soft: true}),
	row[u1VLockSFreeTTL]("u1_lock_free-ttl", traits{unique: 1, lock: true, soft: true, copyTTL: true}),
	row[u1VLockSReserve]("u1_lock_reserve", traits{unique: 1, lock: true, soft: true, reserve: true}),
	row[u1VLockSReserveTTL]("u1_lock_reserve-ttl", traits{unique: 1, lock: true, soft: true, reserve: true, copyTTL: true}),
	row[u1VRetainSNone]("u1_retain_hard", traits{unique: 1, retain: true}),
	row[u1VRetainSFree]("u1_retain_free", traits{unique: 1, retain: true, soft: true}),
	row[u1VRetainSFreeTTL]("u1_retain_free-ttl", traits{unique: 1, retain: true, soft: true, copyTTL: true}),
	row[u1VRetainSReserve]("u1_retain_reserve", traits{unique: 1, retain: true, soft: true, reserve: true}),
	row[u1VRetainSReserveTTL]("u1_retain_reserve-ttl", traits{unique: 1, retain: true, soft: true, reserve: true, copyTTL: true}),
	row[u1VRetainTTLSNone]("u1_retain-ttl_hard", traits{unique: 1, retain: true, retainTTL: true}),
	row[u1VRetainTTLSFree]("u1_retain-ttl_free", traits{unique: 1, retain: true, retainTTL: true, soft: true}),
	row[u1VRetainTTLSFreeTTL]("u1_retain-ttl_free-ttl", traits{unique: 1, retain: true, retainTTL: true, soft: true, copyTTL: true}),
	row[u1VRetainTTLSReserve]("u1_retain-ttl_reserve", traits{unique: 1, retain: true, retainTTL: true, soft: true, reserve: true}),
	row[u1VRetainTTLSReserveTTL]("u1_retain-ttl_reserve-ttl", traits{unique: 1, retain: true, retainTTL: true, soft: true, reserve: true, copyTTL: true}),
	row[u2VNoneSNone]("u2_none_hard", traits{unique: 2}),
	row[u2VNoneSFree]("u2_none_free", traits{unique: 2, soft: true}),
	row[u2VNoneSFreeTTL]("u2_none_free-ttl", traits{unique: 2, soft: true, copyTTL: true}),
	row[u2VNoneSReserve]("u2_none_reserve", traits{unique: 2, soft: true, reserve: true}),
	row[u2VNoneSReserveTTL]("u2_none_reserve-ttl", traits{unique: 2, soft: true, reserve: true, copyTTL: true}),
	row[u2VLockSNone]("u2_lock_hard", traits{unique: 2, lock: true}),
	row[u2VLockSFree]("u2_lock_free", traits{unique: 2, lock: true, soft: true}),
	row[u2VLockSFreeTTL]("u2_lock_free-ttl", traits{unique: 2, lock: true, soft: true, copyTTL: true}),
	row[u2VLockSReserve]("u2_lock_reserve", traits{unique: 2, lock: true, soft: true, reserve: true}),
	row[u2VLockSReserveTTL]("u2_lock_reserve-ttl", traits{unique: 2, lock: true, soft: true, reserve: true, copyTTL: true}),
	row[u2VRetainSNone]("u2_retain_hard", traits{unique: 2, retain: true}),
	row[u2VRetainSFree]("u2_retain_free", traits{unique: 2, retain: true, soft: true}),
	row[u2VRetainSFreeTTL]("u2_retain_free-ttl", traits{unique: 2, retain: true, soft: true, copyTTL: true}),
	row[u2VRetainSReserve]("u2_retain_reserve", traits{unique: 2, retain: true, soft: true, reserve: true}),
	row[u2VRetainSReserveTTL]("u2_retain_reserve-ttl", traits{unique: 2, retain: true, soft: true, reserve: true, copyTTL: true}),
	row[u2VRetainTTLSNone]("u2_retain-ttl_hard", traits{unique: 2, retain: true, retainTTL: true}),
	row[u2VRetainTTLSFree]("u2_retain-ttl_free", traits{unique: 2, retain: true, retainTTL: true, soft: true}),
	row[u2VRetainTTLSFreeTTL]("u2_retain-ttl_free-ttl", traits{unique: 2, retain: true, retainTTL: true, soft: true, copyTTL: true}),
	row[u2VRetainTTLSReserve]("u2_retain-ttl_reserve", traits{unique: 2, retain: true, retainTTL: true, soft: true, reserve: true}),
	row[u2VRetainTTLSReserveTTL]("u2_retain-ttl_reserve-ttl", traits{unique: 2, retain: true, retainTTL: true, soft: true, reserve: true, copyTTL: true}),
}
