package localdb

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// dockerImage is the same version of DynamoDB Local that is run with Java.
const dockerImage = "amazon/dynamodb-local:3.3.1"

// dockerScript runs the server until standard input ends. A docker client that is killed cannot stop its container, but its end
// of the input is closed all the same. Its arguments are the token, and what [commonTables] returns.
const dockerScript = `java -jar DynamoDBLocal.jar -inMemory "$@" -disableTelemetry -cors "$0" -port 8000 & cat; kill $!`

// startDocker runs DynamoDB Local in a container that only this machine reaches.
func startDocker(ctx context.Context, cfg settings) (*Server, error) {
	docker, err := cfg.look("docker")
	if err != nil {
		return nil, err
	}
	if err := checkDocker(ctx, docker); err != nil {
		return nil, err
	}
	pull := "missing"
	if cfg.noFetch {
		pull = "never"
	}
	return boot(ctx, cfg, patience, recipe{KindDocker, os.TempDir(), func(port int, token string) []string {
		return append([]string{docker, "run", "--rm", "--interactive", "--pull", pull,
			"--publish", "127.0.0.1:" + strconv.Itoa(port) + ":8000",
			"--entrypoint", "sh", dockerImage, "-c", dockerScript, token}, commonTables(cfg)...)
	}})
}

// checkDocker reports whether a daemon answers the docker command. A daemon that hangs is passed over after a while.
func checkDocker(ctx context.Context, docker string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, docker, "version", "--format", "{{.Server.Version}}")
	cmd.WaitDelay = time.Second
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("no docker daemon answers: %w: %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}
