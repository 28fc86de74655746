package resource

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// keptFor is how long the metadata and the keys of the issuer are cached.
	keptFor = 10 * time.Minute
	// unknownKeyAfter is the least time between two requests because of an unknown key, so that callers with invented key ids cannot make this API
	// overload the authorization server.
	unknownKeyAfter = 30 * time.Second
	// failedFor is the least time between two requests if the first one failed.
	failedFor      = time.Second
	requestTimeout = 5 * time.Second
	bodyAtMost     = 1 << 20
)

// issuer has the metadata (RFC 8414) and the keys (RFC 7517) of the authorization server.
type issuer struct {
	url, audience string
	credentials   IntrospectionCredentials
	client        *http.Client

	lock     sync.Mutex
	found    *foundIssuer  // nil before the first request that succeeded
	err      error         // of the latest request
	triedAt  time.Time     // the end of the latest request
	fetching chan struct{} // closed at the end of the request that is under way; nil if there is none
}

type foundIssuer struct {
	keys                              map[string]crypto.PublicKey
	introspection, endings, approvals string // endings is empty if the server has no feed
	at                                time.Time
}

func newIssuer(options Options) *issuer {
	client := &http.Client{}
	if options.Client != nil {
		*client = *options.Client
	}
	client.Timeout = 0 // each request has its own, and the feed has none
	// A redirect would send the token and the API's credentials to an address that the operator did not configure.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &issuer{url: options.Issuer, audience: options.Resource, credentials: options.Introspection, client: client}
}

// find returns the metadata and the keys; with the key of this id, if the set has one. One request serves all callers that wait. A failure is not cached
// for longer than a second, so an API may start before the issuer.
func (i *issuer) find(ctx context.Context, keyID string) (*foundIssuer, error) {
	i.lock.Lock()
	if i.found != nil && time.Since(i.found.at) < keptFor {
		if i.found.keys[keyID] != nil || keyID == "" || time.Since(i.found.at) < unknownKeyAfter {
			defer i.lock.Unlock()
			return i.found, nil
		}
	}
	if i.err != nil && i.fetching == nil && time.Since(i.triedAt) < failedFor {
		defer i.lock.Unlock()
		return nil, i.err
	}
	if i.fetching == nil {
		i.fetching = make(chan struct{})
		go i.fetch()
	}
	fetching := i.fetching
	i.lock.Unlock()
	select {
	case <-fetching:
	case <-ctx.Done():
		return nil, unavailable("issuer_unreachable", ctx.Err())
	}
	i.lock.Lock()
	defer i.lock.Unlock()
	if i.err != nil {
		return nil, i.err
	}
	return i.found, nil
}

// fetch does not depend on the call that caused it: other calls wait for the same request.
func (i *issuer) fetch() {
	found, err := i.read()
	i.lock.Lock()
	defer i.lock.Unlock()
	if i.err = err; err == nil {
		i.found = found
	}
	i.triedAt = time.Now()
	close(i.fetching)
	i.fetching = nil
}

func (i *issuer) read() (*foundIssuer, error) {
	address, err := url.Parse(i.url)
	if err != nil {
		return nil, err
	}
	// RFC 8414 §3.1: the well-known path is inserted between the host and the issuer's path.
	metadata, err := i.get(address.Scheme + "://" + address.Host + "/.well-known/oauth-authorization-server" + address.EscapedPath())
	if err != nil {
		return nil, err
	}
	// RFC 8414 §3.3: otherwise another server could impersonate this issuer.
	if metadata["issuer"] != i.url {
		return nil, unavailable("issuer_mismatch", nil)
	}
	jwks := endpointOf(metadata, "jwks_uri")
	if jwks == "" {
		return nil, unavailable("jwks_uri_unusable", nil)
	}
	set, err := i.get(jwks)
	if err != nil {
		return nil, unavailable("jwks_unreachable", err)
	}
	found := &foundIssuer{keys: publicKeys(set), at: time.Now(), introspection: endpointOf(metadata, "introspection_endpoint"),
		endings: endpointOf(metadata, "endings_endpoint"), approvals: endpointOf(metadata, "approvals_endpoint")}
	if found.approvals == "" {
		found.approvals = i.url + "/oauth/approvals"
	}
	return found, nil
}

func endpointOf(metadata map[string]any, name string) string {
	if text, _ := metadata[name].(string); isSecureURL(text) {
		return text
	}
	return ""
}

// checkAudience refuses a token of another issuer, and a token that leaked from another API (RFC 8707 §3). aud is a text or a list (RFC 7519 §4.1.3).
func (i *issuer) checkAudience(iss, aud any) error {
	if iss != i.url {
		return invalidToken("claim_iss")
	}
	list, isList := aud.([]any)
	if !isList {
		list = []any{aud}
	}
	if !slices.Contains(list, any(i.audience)) {
		return invalidToken("claim_aud")
	}
	return nil
}

// introspect asks the authorization server whether a token is active (RFC 7662 §2). The server may have removed scopes since it signed the token; it cannot
// add any.
func (i *issuer) introspect(ctx context.Context, text string, local *AccessToken) error {
	found, err := i.find(ctx, "")
	if err != nil {
		return err
	}
	if found.introspection == "" {
		return unavailable("introspection_endpoint_unusable", nil)
	}
	form := url.Values{"token": {text}, "token_type_hint": {"access_token"}}
	answer, err := i.post(ctx, found.introspection, form, requestTimeout, http.StatusOK)
	if err != nil {
		return err
	}
	// §2.2: active is a boolean. A text or a missing member is no valid response.
	active, isBool := answer.json["active"].(bool)
	_, isBound := answer.json["cnf"]
	switch {
	case !isBool:
		return unavailable("introspection_malformed", nil)
	case !active:
		return invalidToken("inactive")
	case isBound: // the token was verified as a bearer token
		return invalidToken("sender_constrained")
	}
	// The response must be about the token that was verified. Audience and time were checked on the signed claims.
	for _, name := range []string{"sub", "client_id", "jti"} {
		if answer.json[name] != local.Claims[name] {
			return invalidToken("introspection_" + name)
		}
	}
	scopes := readScopes(answer.json["scope"])
	local.Limit = readTokenLimit(answer.json)
	local.Scopes = slices.DeleteFunc(local.Scopes, func(scope string) bool { return !slices.Contains(scopes, scope) })
	return nil
}

// issuerAnswer is a response of the authorization server.
type issuerAnswer struct {
	status     int
	json       map[string]any
	retryAfter int // seconds; 0 without a usable Retry-After
}

func (a issuerAnswer) unexpected() *Error {
	refusal := unavailable(fmt.Sprintf("issuer_answered_%d", a.status), nil)
	if a.retryAfter > 0 {
		refusal.RetryAfter = a.retryAfter
	}
	return refusal
}

func (i *issuer) get(address string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, unavailable("issuer_unreachable", err)
	}
	answer, err := i.send(request, http.StatusOK)
	return answer.json, err
}

// post sends a form with the credentials of the API.
func (i *issuer) post(ctx context.Context, address string, form url.Values, timeout time.Duration, statuses ...int) (issuerAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return issuerAnswer{}, unavailable("issuer_unreachable", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	i.authenticate(request)
	return i.send(request, statuses...)
}

// postAgainIfLost sends the form once more if the answer was lost. The authorization server must answer a repeat as the first request.
func (i *issuer) postAgainIfLost(ctx context.Context, address string, form url.Values, statuses ...int) (issuerAnswer, error) {
	answer, err := i.post(ctx, address, form, requestTimeout, statuses...)
	if isLost(err) {
		return i.post(ctx, address, form, requestTimeout, statuses...)
	}
	return answer, err
}

func isLost(err error) bool {
	var refusal *Error
	return errors.As(err, &refusal) && (refusal.Reason == "issuer_unreachable" || refusal.Reason == "issuer_answer_malformed" ||
		strings.HasPrefix(refusal.Reason, "issuer_answered_5"))
}

// authenticate uses Basic with form-urlencoded values (RFC 6749 §2.3.1).
func (i *issuer) authenticate(request *http.Request) {
	request.SetBasicAuth(url.QueryEscape(i.credentials.ClientID), url.QueryEscape(i.credentials.ClientSecret))
}

// send returns an *Error with 503 for every response that is not a JSON object with one of the statuses.
func (i *issuer) send(request *http.Request, statuses ...int) (issuerAnswer, error) {
	request.Header.Set("Accept", "application/json")
	response, err := i.client.Do(request)
	if err != nil {
		return issuerAnswer{}, unavailable("issuer_unreachable", err)
	}
	defer response.Body.Close()
	answer := issuerAnswer{status: response.StatusCode}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds >= 0 && seconds <= 3600 {
		answer.retryAfter = seconds
	}
	if !slices.Contains(statuses, answer.status) {
		return answer, answer.unexpected()
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, bodyAtMost))
	if err != nil {
		return answer, unavailable("issuer_unreachable", err)
	}
	if answer.json, err = decodeObject(body); err != nil {
		return answer, unavailable("issuer_answer_malformed", nil)
	}
	return answer, nil
}

// decodeObject keeps the members in a map: names in a struct would be compared without regard to case.
func decodeObject(text []byte) (map[string]any, error) {
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("no object")
	}
	return object, nil
}
