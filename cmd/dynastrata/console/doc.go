// Package console is the command dynastrata: it shows what is in tables, checks it and mends it.
//
// The command learns the entities from the schema lock of a program, and can then decode every item, read-only. A program embeds
// it in its own main, with its declarations; then it can write, too:
//
//	func main() {
//		console.Main(console.App{Open: func(ctx context.Context, c console.Connection) (console.Program, error) {
//			db, app, err := open(c.Client, c.Table) // app is of entity.Bind
//			return console.Program{DB: db, Handles: app}, err
//		}})
//	}
//
// docs/command.md lists the commands and exit codes. What an item is, is decided by the rules by which the library itself reads
// it. Values of secret fields are never printed; those of unique constraints are, unless they are secret.
//
// The package is experimental: its API may change with every minor version.
package console
