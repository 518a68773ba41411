// Package generations says in which partitions the rows of a generation of a timeline are.
package generations

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxPartitions is how many partitions one query reads in one order.
const MaxPartitions = 100

// Mark begins the number of partitions at the end of the id of a generation of rows. So whoever knows a generation knows
// where its rows are: cursors, workers of a job, readers of replaced rows, and the sweep that removes them.
const Mark = "~p"

// PartitionsOf returns the number of partitions of a generation.
func PartitionsOf(generation string) int {
	at := strings.LastIndex(generation, Mark)
	if at < 0 {
		return 1
	}
	digits := generation[at+len(Mark):]
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > MaxPartitions || strconv.Itoa(n) != digits {
		return 1
	}
	return n
}

func PartitionAt(generation string, number int) string {
	return fmt.Sprintf("%s~%02d", generation, number)
}

// Partitions returns the partitions with the rows of a generation.
func Partitions(generation string) []string {
	n := PartitionsOf(generation)
	if n == 1 {
		return []string{generation}
	}
	all := make([]string, n)
	for i := range all {
		all[i] = PartitionAt(generation, i)
	}
	return all
}
