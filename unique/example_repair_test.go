package unique_test

import (
	"context"
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/unique"
)

// Repair after other programs have written to the table, or once after a constraint was declared for items that exist.
func ExampleLookup_Repair() {
	mend := func(ctx context.Context, people *entity.Store[Person]) error {
		emails, err := unique.Of(people, "email")
		if err != nil {
			return err
		}
		done, err := emails.Repair(ctx, entity.Segments(8))
		fmt.Println(done) // mended 3 orphaned, 12 unclaimed; left 1 conflict
		for _, f := range done.Remaining {
			fmt.Println(f.Kind, f.Owners) // decide which of them keeps the value, and run it again
		}
		return err
	}
	_ = mend
}
