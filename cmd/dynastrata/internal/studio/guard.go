package studio

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// policy lets a page load the studio's own style sheet, script and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// protect sets the headers of every answer.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer") // the token is in the first URL
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// refusal is a request that is not served.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// admit decides whether a request is served, and returns its session. It sets the cookie of a new one. done reports that it has
// answered the request.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (session string, done bool, err error) {
	if !s.knownHost(r.Host) { // a page of another site whose name resolves to this machine
		return "", false, &refusal{http.StatusMisdirectedRequest, "this server has another name"}
	}
	if err := s.origins.Check(r); err != nil {
		return "", false, &refusal{http.StatusForbidden, "the request comes from another site"}
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return "", false, &refusal{http.StatusForbidden, "the request comes from another site"}
	}
	if c, err := r.Cookie(s.cookie); err == nil {
		if id, mark, ok := strings.Cut(c.Value, "."); ok && s.marked("session", id, mark) {
			session = id
		}
	}
	given := r.URL.Query().Get("token")
	switch {
	case s.options.Token == "" && session == "":
		return s.begin(w, r), false, nil
	case s.options.Token == "":
		return session, false, nil
	case r.Method == http.MethodGet && given != "" && subtle.ConstantTimeCompare([]byte(given), []byte(s.options.Token)) == 1:
		s.begin(w, r)
		redirect(w, "./")
		return "", true, nil
	case session == "":
		return "", false, &refusal{http.StatusForbidden, "open the URL that the command printed: it has the token of this start"}
	}
	return session, false, nil
}

// begin starts a session.
func (s *Server) begin(w http.ResponseWriter, r *http.Request) string {
	id := rand.Text()
	http.SetCookie(w, &http.Cookie{
		Name: s.cookie, Value: id + "." + s.mark("session", id), HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	return id
}

// checkForm refuses a form that is not of a page that this browser was given.
func (s *Server) checkForm(session string, r *http.Request) error {
	if s.marked("form", session, r.PostFormValue("form")) {
		return nil
	}
	return &refusal{http.StatusForbidden, "this form was given to another browser: load the page again"}
}

// knownHost reports whether the studio may be called by the name in a URL.
func (s *Server) knownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if len(s.options.Hosts) > 0 {
		return slices.Contains(s.options.Hosts, name)
	}
	return s.options.Token == "" || Loopback(name)
}

// Loopback reports whether a host is this machine only.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// redirect answers with a place relative to the request, which also holds where the handler is mounted under a path.
func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}
