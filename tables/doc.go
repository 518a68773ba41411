// Package tables creates the tables that the stores of a database need, compares existing tables with them, and describes them.
//
// A program that serves requests needs no more of it than [Verify], at its start. [Create] is for tests, development and small
// deployments; package iac writes the same description for CloudFormation and Terraform.
//
// The package is stable: before version 1.0.0 its API changes with a minor version only, and the change log says how.
package tables
