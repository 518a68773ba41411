package exampletest

import (
	"bytes"
	"strings"
)

// Interrupter is the output of a program. It calls Cancel when the program writes the text After.
type Interrupter struct {
	bytes.Buffer
	After  string
	Cancel func()
}

// Write implements io.Writer.
func (w *Interrupter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.After) {
		w.Cancel()
	}
	return w.Buffer.Write(p)
}
