package entitytype

// TableOptions are settings of a table that do not affect the code and may differ between environments; see [entity.Config].TableOptions.
// Everything that the code depends on is in the tags. The zero value is an on demand table without further settings.
type TableOptions struct {
	PointInTimeRecovery bool                  // continuous backups; needs a client with DescribeContinuousBackups and UpdateContinuousBackups, as *dynamodb.Client
	DeletionProtection  bool                  // DeleteTable is refused
	Provisioned         *Throughput           // capacity of the table; nil is on demand
	Indexes             map[string]Throughput // capacity of global indexes, by name in DynamoDB; default that of the table
}

// Throughput is a provisioned capacity, in read and write units per second, each 1 or more.
type Throughput struct{ Read, Write int64 }
