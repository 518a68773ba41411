package localdb

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// attachPatience is how long a database that DYNAMODB_ENDPOINT names may take to answer. CI starts it beside the tests, so it may be the
// later one.
const attachPatience = 30 * time.Second

// attach uses the database that DYNAMODB_ENDPOINT names.
func attach(ctx context.Context, cfg settings) (*Server, error) {
	if err := checkEndpoint(cfg.endpoint, cfg.allowAWS); err != nil {
		return nil, fmt.Errorf("%w: DYNAMODB_ENDPOINT=%q: %w", ErrUnavailable, cfg.endpoint, err)
	}
	server := &Server{kind: KindEndpoint, endpoint: strings.TrimRight(cfg.endpoint, "/"), http: newHTTPClient()}
	ctx, cancel := context.WithTimeout(ctx, attachPatience)
	defer cancel()
	if err := await(ctx, server.http, server.endpoint, "", nil); err != nil {
		return nil, fmt.Errorf("%w: DYNAMODB_ENDPOINT=%q: %w", ErrUnavailable, cfg.endpoint, err)
	}
	return server, nil
}

// awsDomains are the names below which AWS serves DynamoDB.
var awsDomains = []string{"amazonaws.com", "amazonaws.com.cn", "amazonaws.eu", "api.aws", "api.amazonwebservices.com.cn"}

// checkEndpoint refuses what is no address of a database, and addresses of AWS: tests create and delete tables, and a variable that
// left set by mistake should not make them do so in a real account.
func checkEndpoint(endpoint string, allowAWS bool) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return fmt.Errorf("want a URL such as http://127.0.0.1:8000")
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	for _, domain := range awsDomains {
		if (host == domain || strings.HasSuffix(host, "."+domain)) && !allowAWS {
			return fmt.Errorf("this is an address of AWS; set LOCALDB_ALLOW_AWS=1 to use it all the same")
		}
	}
	return nil
}
