package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// programs are built one after the other into one build cache, which is empty at first. Each does the same with another library;
// the last uses all features.
var programs = []string{"raw", "guregu", "entity", "all"}

// sizeTables builds the programs and measures the CPU time of the compiler and the size of the binaries.
func sizeTables(ctx context.Context) ([]table, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	t := table{name: "size", head: []string{"program", "CPU s of the compiler", "MB", "without symbols"}}
	for _, name := range programs {
		progress("building " + name)
		start := childTime()
		size, err := build(ctx, dir, name)
		if err != nil {
			return nil, err
		}
		took := childTime() - start
		bare, err := build(ctx, dir, name, "-ldflags=-s -w")
		if err != nil {
			return nil, err
		}
		text := fmt.Sprintf("%.1f", took.Seconds())
		if name != programs[0] {
			text = "+" + text
		}
		t.rows = append(t.rows, []string{name, text, fmt.Sprintf("%.1f", size), fmt.Sprintf("%.1f", bare)})
	}
	return []table{t}, nil
}

// build returns the size of a program in MB.
func build(ctx context.Context, dir, name string, flags ...string) (float64, error) {
	file := filepath.Join(dir, name)
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-trimpath"}, flags...), "-o", file, "./programs/"+name)...)
	cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(dir, "cache"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building %s: %w\n%s", name, err, out)
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / 1e6, nil
}

// childTime is the CPU time of all children that have ended, and of theirs.
func childTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		panic(err) // the arguments are right
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
