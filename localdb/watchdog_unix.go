//go:build unix

package localdb

// watchdog puts a reader of standard input beside the program and then becomes the program. The input is a pipe whose other
// end this process holds; when it ends, the pipe is closed, and the reader kills the process group: the program and itself.
const watchdog = `exec 3<&0; { cat <&3; kill -9 0; } >/dev/null 2>&1 & exec 3<&-; exec "$@"`

// watched returns argv under a watchdog. It must be started in a process group of its own, with a pipe for its input.
func watched(argv []string) []string {
	return append([]string{"/bin/sh", "-c", watchdog, "localdb"}, argv...)
}
