package iac_test

import (
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/iac"
)

// Ticket is followed by a program that reads the table's stream and needs both images.
type Ticket struct {
	_ entity.Key `name:"Ticket" pk:"$#{id}" sk:"$" stream:"both"`

	ID string `dynamodbav:"id"`
}

// tickets declares tickets as in production.
func tickets(client entity.Client, table string) *entity.DB {
	db := entity.Must(entity.Open(client, entity.Config{
		Table:        table,
		TableOptions: map[string]entity.TableOptions{"": {Provisioned: &entity.Throughput{Read: 10, Write: 5}}},
	}))
	entity.Must(entity.New[Ticket](db))
	return db
}

// The tables of a program as a file for Terraform. This needs no client.
func ExampleTerraform() {
	text, err := iac.Terraform(tables.Of(tickets(nil, "prod-tickets")))
	fmt.Print(string(text), err)
	// Output:
	// {
	//   "resource": {
	//     "aws_dynamodb_table": {
	//       "table": {
	//         "name": "prod-tickets",
	//         "billing_mode": "PROVISIONED",
	//         "read_capacity": 10,
	//         "write_capacity": 5,
	//         "hash_key": "pk",
	//         "range_key": "sk",
	//         "attribute": [
	//           {
	//             "name": "pk",
	//             "type": "S"
	//           },
	//           {
	//             "name": "sk",
	//             "type": "S"
	//           }
	//         ],
	//         "stream_enabled": true,
	//         "stream_view_type": "NEW_AND_OLD_IMAGES"
	//       }
	//     }
	//   }
	// }
	// <nil>
}

// The same for CloudFormation: a template to use alone or to merge into another.
func ExampleCloudFormation() {
	text, err := iac.CloudFormation(tables.Of(tickets(nil, "prod-tickets")))
	fmt.Print(string(text), err)
	// Output:
	// {
	//   "AWSTemplateFormatVersion": "2010-09-09",
	//   "Resources": {
	//     "Table": {
	//       "Type": "AWS::DynamoDB::Table",
	//       "DeletionPolicy": "Retain",
	//       "UpdateReplacePolicy": "Retain",
	//       "Properties": {
	//         "TableName": "prod-tickets",
	//         "BillingMode": "PROVISIONED",
	//         "ProvisionedThroughput": {
	//           "ReadCapacityUnits": 10,
	//           "WriteCapacityUnits": 5
	//         },
	//         "AttributeDefinitions": [
	//           {
	//             "AttributeName": "pk",
	//             "AttributeType": "S"
	//           },
	//           {
	//             "AttributeName": "sk",
	//             "AttributeType": "S"
	//           }
	//         ],
	//         "KeySchema": [
	//           {
	//             "AttributeName": "pk",
	//             "KeyType": "HASH"
	//           },
	//           {
	//             "AttributeName": "sk",
	//             "KeyType": "RANGE"
	//           }
	//         ],
	//         "StreamSpecification": {
	//           "StreamViewType": "NEW_AND_OLD_IMAGES"
	//         }
	//       }
	//     }
	//   }
	// }
	// <nil>
}

// What a program that reads tickets and follows their stream may do, and nothing else.
func ExamplePolicy() {
	text, err := iac.Policy(tables.Of(tickets(nil, "prod-tickets")),
		iac.Allow(iac.Read, iac.Stream), iac.In("arn:aws:dynamodb:eu-central-1:123456789012"))
	fmt.Print(string(text), err)
	// Output:
	// {
	//   "Version": "2012-10-17",
	//   "Statement": [
	//     {
	//       "Sid": "Items",
	//       "Effect": "Allow",
	//       "Action": [
	//         "dynamodb:BatchGetItem",
	//         "dynamodb:GetItem",
	//         "dynamodb:Query",
	//         "dynamodb:Scan"
	//       ],
	//       "Resource": [
	//         "arn:aws:dynamodb:eu-central-1:123456789012:table/prod-tickets"
	//       ]
	//     },
	//     {
	//       "Sid": "Streams",
	//       "Effect": "Allow",
	//       "Action": [
	//         "dynamodb:DescribeStream",
	//         "dynamodb:GetRecords",
	//         "dynamodb:GetShardIterator",
	//         "dynamodb:ListStreams"
	//       ],
	//       "Resource": [
	//         "arn:aws:dynamodb:eu-central-1:123456789012:table/prod-tickets/stream/*"
	//       ]
	//     },
	//     {
	//       "Sid": "StreamTables",
	//       "Effect": "Allow",
	//       "Action": [
	//         "dynamodb:DescribeTable"
	//       ],
	//       "Resource": [
	//         "arn:aws:dynamodb:eu-central-1:123456789012:table/prod-tickets"
	//       ]
	//     }
	//   ]
	// }
	// <nil>
}
