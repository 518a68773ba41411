// Package iac writes the tables that a program's declarations need for the tools that create infrastructure:
// [CloudFormation] templates and [Terraform] configurations. It needs no client and sends no request.
//
// The texts are the same bytes for the same declarations, so that a test can compare them with a file under version
// control.
package iac
