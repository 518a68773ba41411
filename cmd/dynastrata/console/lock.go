package console

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/tables/schemalock"
)

// lockCommand writes the schema lock of the program. A file that is missing or empty, as one that was made for go:embed, is a lock of nothing.
func (s *session) lockCommand() *cli.Command {
	return &cli.Command{
		Name: "lock", Usage: "write the schema lock of the program, and print what changes",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "dry-run", Usage: "write nothing; fail if the file is not up to date"}},
		Action: s.action(func(ctx context.Context, c *cli.Command) error {
			if err := s.hasProgram(); err != nil {
				return err
			}
			if err := s.open(ctx, c); err != nil {
				return err
			}
			path, now := c.String("lock"), schemalock.Of(s.db)
			old, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return invalid(bind.CodeConsoleLock, "the schema lock cannot be read: %v", err)
			}
			if string(old) == now.String() {
				return nil
			}
			breaking := 0
			if len(old) > 0 {
				was, err := schemalock.Parse(old)
				if err != nil {
					return invalid(bind.CodeConsoleLock, "%s: %v", path, err)
				}
				for _, change := range schemalock.Compare(was, now) {
					if change.Breaking {
						breaking++
					}
					if err := s.changed(change); err != nil {
						return err
					}
				}
			}
			if c.Bool("dry-run") {
				return errFindings
			}
			if breaking > 0 {
				if err := s.confirm(ctx, c, "Stored items do not survive "+count(breaking, "change")+". Write "+path+"?"); err != nil {
					return err
				}
			}
			if err := os.WriteFile(path, []byte(now.String()), 0o644); err != nil {
				return err
			}
			s.err.line("%s is written", path)
			return nil
		}),
	}
}

// changed prints a change of the lock.
func (s *session) changed(c schemalock.Change) error {
	if s.out.json {
		return s.out.object(map[string]any{"breaking": c.Breaking, "entity": c.Entity, "what": c.What, "old": c.Old, "new": c.New, "why": c.Why})
	}
	s.out.line("%s", c)
	return nil
}
