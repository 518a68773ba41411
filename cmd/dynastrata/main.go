// Command dynastrata shows what is in tables, from the schema lock of a program. docs/command.md has its commands.
package main

import "github.com/dynastrata/dynastrata/cmd/dynastrata/console"

func main() { console.Main(console.App{}) }
