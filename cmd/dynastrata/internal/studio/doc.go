// Package studio shows what is in tables on pages for a browser: entities, queries, the life of an item, and forms that change it.
//
// The package has the pages and what makes them safe to serve. What they show comes from a [Data], which package console implements on
// what the command knows: it hides secrets before they get here. Nothing in this package sends a request to a database.
package studio
