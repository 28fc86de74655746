// Middleware of net/http that checks access tokens of Grantor with the feed of endings: a token is refused within a second of its end, and
// no request waits for the authorization server. Only the standard library. Copy this file.
//
// docs/reference/feed.md defines the feed. Tokens that are bound to a DPoP key are refused.
package main

import (
	"bufio"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the values that an operator gives the owner of an API: grantor clients create --resource-server RESOURCE
type Options struct {
	Issuer, Resource, ClientID, ClientSecret string
	MaxAge                                   time.Duration // of the feed; 3 seconds if zero
}

// Token is an access token that passed every check.
type Token struct {
	Wallet, ClientID string
	Scopes           []string
}

type TokenCheck struct {
	options  Options
	client   *http.Client
	metadata struct {
		sync.Mutex
		JwksURI       string `json:"jwks_uri"`
		Introspection string `json:"introspection_endpoint"`
		Endings       string `json:"endings_endpoint"`
		Issuer        string `json:"issuer"`
	}
	keys struct {
		sync.Mutex
		byID      map[string]crypto.PublicKey
		fetchedAt time.Time
	}
	feed     feedState
	mayHurry atomic.Bool   // whether the next introspection response may shorten the wait for a connection: once in an outage
	hurry    chan struct{} // has room for one
	start    time.Time
	ahead    float64 // the least difference between the machine's clock and the monotonic clock on this connection
}

// NewTokenCheck starts the reader of the feed, which ends with the context. Until the feed is complete, tokens are introspected.
func NewTokenCheck(ctx context.Context, options Options) *TokenCheck {
	if options.MaxAge == 0 {
		options.MaxAge = 3 * time.Second
	}
	check := newTokenCheck(options)
	go check.readFeed(ctx)
	return check
}

func newTokenCheck(options Options) *TokenCheck {
	// A redirect would send the credentials to another address.
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("redirected") }}
	check := &TokenCheck{options: options, client: client, hurry: make(chan struct{}, 1), start: time.Now()}
	check.mayHurry.Store(true)
	return check
}

// Require lets requests pass whose token has the scopes. The handler gets the token with TokenOf.
func (c *TokenCheck) Require(scopes []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, status, problem := c.check(r, scopes)
		if status == http.StatusOK {
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), tokenKey{}, token)))
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "5")
		} else {
			challenge := fmt.Sprintf("Bearer realm=%q", c.options.Resource)
			if problem != "" {
				challenge += fmt.Sprintf(", error=%q", problem)
			}
			if len(scopes) > 0 {
				challenge += fmt.Sprintf(", scope=%q", strings.Join(scopes, " "))
			}
			w.Header().Set("WWW-Authenticate", challenge)
		}
		w.WriteHeader(status)
	})
}

type tokenKey struct{}

// TokenOf returns the token of a request that passed Require.
func TokenOf(r *http.Request) Token { return r.Context().Value(tokenKey{}).(Token) }

func (c *TokenCheck) check(r *http.Request, scopes []string) (Token, int, string) {
	headers := r.Header.Values("Authorization")
	if len(headers) > 1 {
		return Token{}, http.StatusBadRequest, "invalid_request"
	}
	scheme, text, found := strings.Cut(strings.Join(headers, ""), " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return Token{}, http.StatusUnauthorized, ""
	}
	claims, err := c.verify(r.Context(), text, "at+jwt")
	if errors.Is(err, errUnavailable) {
		return Token{}, http.StatusServiceUnavailable, ""
	}
	now := float64(time.Now().Unix())
	if err != nil || claims.Exp <= now || claims.Confirmation != nil || claims.Sub == claims.ClientID {
		return Token{}, http.StatusUnauthorized, "invalid_token"
	}
	switch c.decide(claims) {
	case "ended":
		return Token{}, http.StatusUnauthorized, "invalid_token"
	case "ask":
		active, err := c.introspect(r.Context(), text, claims)
		if err != nil {
			return Token{}, http.StatusServiceUnavailable, ""
		}
		if !active {
			return Token{}, http.StatusUnauthorized, "invalid_token"
		}
	}
	token := Token{claims.Sub, claims.ClientID, strings.Fields(claims.Scope)}
	for _, scope := range scopes {
		if !slices.Contains(token.Scopes, scope) {
			return Token{}, http.StatusForbidden, "insufficient_scope"
		}
	}
	return token, http.StatusOK, ""
}

// claims are those of access tokens and of messages of the feed.
type claims struct {
	keyID         string
	Iss           string            `json:"iss"`
	Aud           audience          `json:"aud"`
	Sub           string            `json:"sub"`
	ClientID      string            `json:"client_id"`
	Scope         string            `json:"scope"`
	Iat           float64           `json:"iat"`
	Exp           float64           `json:"exp"`
	Jti           string            `json:"jti"`
	GrantID       *string           `json:"grant_id"`
	ExchangedFrom []string          `json:"exchanged_from"`
	Act           *actor            `json:"act"`
	Confirmation  json.RawMessage   `json:"cnf"`
	At            *float64          `json:"at"`
	Feed          string            `json:"feed"`
	From          *float64          `json:"from"`
	Until         *float64          `json:"until"`
	Nonce         string            `json:"nonce"`
	Snapshot      string            `json:"snapshot"`
	Lifetime      float64           `json:"lifetime"`
	Part          []int             `json:"part"`
	Keys          []string          `json:"keys"`
	Ended         map[string]string `json:"ended"`
	Clients       map[string]string `json:"clients"`
}

type actor struct {
	Sub string `json:"sub"`
	Act *actor `json:"act"`
}

// audience is a text or a list of texts (RFC 7519 §4.1.3).
type audience []string

func (a *audience) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*a = audience{""}
		return json.Unmarshal(data, &(*a)[0])
	}
	return json.Unmarshal(data, (*[]string)(a))
}

var errUnavailable = errors.New("the authorization server gave no usable response")

// verify checks the type, the signature, the issuer and the audience of a JWT.
func (c *TokenCheck) verify(ctx context.Context, text, typ string) (*claims, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, errors.New("not a JWS")
	}
	var header struct {
		Typ, Alg, Kid string
		Crit          json.RawMessage
	}
	found := &claims{}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err := errors.Join(err, decode(parts[0], &header), decode(parts[1], found)); err != nil {
		return nil, err
	}
	if header.Crit != nil || strings.TrimPrefix(strings.ToLower(header.Typ), "application/") != typ {
		return nil, errors.New("another type")
	}
	key, err := c.key(ctx, header.Kid)
	if err != nil {
		return nil, err
	}
	if !isSigned(key, header.Alg, []byte(parts[0]+"."+parts[1]), signature) {
		return nil, errors.New("the signature is wrong")
	}
	if found.Iss != c.options.Issuer || !slices.Contains(found.Aud, c.options.Resource) {
		return nil, errors.New("another issuer or audience")
	}
	found.keyID = header.Kid
	return found, nil
}

func decode(part string, to any) error {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// isSigned takes the algorithm from the key, not from the header: the header must name the same.
func isSigned(key crypto.PublicKey, algorithm string, signed, signature []byte) bool {
	digest := sha256.Sum256(signed)
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if algorithm != "ES256" || len(signature) != 64 {
			return false
		}
		return ecdsa.Verify(key, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
	case ed25519.PublicKey:
		return algorithm == "EdDSA" && ed25519.Verify(key, signed, signature)
	case *rsa.PublicKey:
		return algorithm == "RS256" && rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature) == nil
	}
	return false
}

// key fetches the JWK Set every ten minutes, and for an unknown key at most every thirty seconds.
func (c *TokenCheck) key(ctx context.Context, id string) (crypto.PublicKey, error) {
	c.keys.Lock()
	defer c.keys.Unlock()
	key, found := c.keys.byID[id]
	age := time.Since(c.keys.fetchedAt)
	if c.keys.byID == nil || age > 10*time.Minute || (!found && age > 30*time.Second) {
		metadata, err := c.endpoints(ctx)
		if err != nil {
			return nil, err
		}
		var set struct{ Keys []jwk }
		if err := c.getJSON(ctx, metadata.jwks, &set); err != nil {
			return nil, err
		}
		c.setKeys(set.Keys)
		key, found = c.keys.byID[id]
	}
	if !found {
		return nil, errors.New("unknown key")
	}
	return key, nil
}

type jwk struct{ Kty, Crv, Kid, X, Y, N, E string }

func (c *TokenCheck) setKeys(set []jwk) {
	c.keys.byID, c.keys.fetchedAt = map[string]crypto.PublicKey{}, time.Now()
	for _, key := range set {
		x, y, n, e := number(key.X), number(key.Y), number(key.N), number(key.E)
		switch {
		case key.Kty == "EC" && key.Crv == "P-256" && len(x) == 32 && len(y) == 32:
			point := &ecdsa.PublicKey{Curve: elliptic.P256(), X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y)}
			if _, err := point.ECDH(); err == nil { // on the curve
				c.keys.byID[key.Kid] = point
			}
		case key.Kty == "OKP" && key.Crv == "Ed25519" && len(x) == ed25519.PublicKeySize:
			c.keys.byID[key.Kid] = ed25519.PublicKey(x)
		case key.Kty == "RSA" && len(n) >= 256 && len(e) <= 4:
			c.keys.byID[key.Kid] = &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
		}
	}
}

func number(text string) []byte {
	bytes, _ := base64.RawURLEncoding.DecodeString(text)
	return bytes
}

type endpoints struct{ jwks, introspection, endings string }

// endpoints reads the metadata once (RFC 8414).
func (c *TokenCheck) endpoints(ctx context.Context) (endpoints, error) {
	m := &c.metadata
	m.Lock()
	defer m.Unlock()
	if m.Issuer == "" {
		address, err := url.Parse(c.options.Issuer)
		if err != nil {
			return endpoints{}, err
		}
		address.Path = "/.well-known/oauth-authorization-server" + strings.TrimSuffix(address.Path, "/")
		if err := c.getJSON(ctx, address.String(), m); err != nil {
			return endpoints{}, err
		}
		if m.Issuer != c.options.Issuer {
			m.Issuer = ""
			return endpoints{}, fmt.Errorf("%w: the metadata name another issuer", errUnavailable)
		}
	}
	return endpoints{m.JwksURI, m.Introspection, m.Endings}, nil
}

func (c *TokenCheck) getJSON(ctx context.Context, address string, to any) error {
	request, err := http.NewRequestWithContext(ctx, "GET", address, nil)
	if err != nil {
		return fmt.Errorf("%w: %v", errUnavailable, err)
	}
	return c.doJSON(request, to)
}

func (c *TokenCheck) doJSON(request *http.Request, to any) error {
	ctx, cancel := context.WithTimeout(request.Context(), 5*time.Second)
	defer cancel()
	response, err := c.client.Do(request.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("%w: %v", errUnavailable, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: status %d", errUnavailable, response.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(to); err != nil {
		return fmt.Errorf("%w: %v", errUnavailable, err)
	}
	return nil
}

// introspect calls the introspection endpoint (RFC 7662).
func (c *TokenCheck) introspect(ctx context.Context, token string, local *claims) (bool, error) {
	metadata, err := c.endpoints(ctx)
	if err != nil {
		return false, err
	}
	body := strings.NewReader(url.Values{"token": {token}, "token_type_hint": {"access_token"}}.Encode())
	request, err := http.NewRequestWithContext(ctx, "POST", metadata.introspection, body)
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	c.authenticate(request)
	var answer struct {
		Active        *bool
		Sub, Jti      string
		ClientID      string `json:"client_id"`
		Scope         string
		Confirmations json.RawMessage `json:"cnf"`
	}
	if err := c.doJSON(request, &answer); err != nil {
		c.mayHurry.Store(true)
		return false, err
	}
	if c.mayHurry.Swap(false) {
		select {
		case c.hurry <- struct{}{}:
		default:
		}
	}
	if answer.Active == nil {
		return false, errUnavailable
	}
	isSame := answer.Sub == local.Sub && answer.Jti == local.Jti && answer.ClientID == local.ClientID && answer.Confirmations == nil
	// The server may have removed scopes. It cannot add any.
	local.Scope = strings.Join(slices.DeleteFunc(strings.Fields(local.Scope), func(scope string) bool {
		return !slices.Contains(strings.Fields(answer.Scope), scope)
	}), " ")
	return *answer.Active && isSame, nil
}

// authenticate uses Basic with form-urlencoded values (RFC 6749 §2.3.1).
func (c *TokenCheck) authenticate(request *http.Request) {
	request.SetBasicAuth(url.QueryEscape(c.options.ClientID), url.QueryEscape(c.options.ClientSecret))
}

// The reader of the feed.

var (
	errRefused  = errors.New("a message is not one of the issuer for this resource")
	errSnapshot = errors.New("a message is missing, old, or of another run of the feed")
	errStale    = errors.New("a clock was set, or the machine was suspended")
)

const lineAtMost, entriesAtMost = 4 << 20, 2_000_000

// clocksDiffer is by how many milliseconds the clocks of two nodes may differ.
const clocksDiffer = 2000

// now returns milliseconds of the monotonic clock.
func (c *TokenCheck) now() float64 { return float64(time.Since(c.start).Microseconds()) / 1000 }

// noticeSetClock reports whether the machine's clock went forward by a second more than the monotonic clock.
func (c *TokenCheck) noticeSetClock() bool {
	ahead := float64(time.Now().UnixMilli()) - c.now()
	c.feed.Lock()
	defer c.feed.Unlock()
	if ahead > c.ahead+1000 {
		c.feed.distrust()
		return true
	}
	c.ahead = min(c.ahead, ahead)
	return false
}

func (c *TokenCheck) decide(token *claims) string {
	if c.noticeSetClock() {
		return "ask"
	}
	return c.feed.decide(token, c.now(), float64(c.options.MaxAge.Milliseconds()))
}

func (c *TokenCheck) readFeed(ctx context.Context) {
	cursor, failures := "", 0
	for ctx.Err() == nil {
		begun := time.Now()
		retryAfter, err := c.readStream(ctx, &cursor)
		if time.Since(begun) > 5*time.Second {
			failures = 0
		}
		atMost := 500 * time.Millisecond
		if err != nil || failures > 0 || time.Since(begun) < 5*time.Second {
			atMost = min(30*time.Second, time.Second<<min(failures, 5))
			failures++
		}
		if err != nil && ctx.Err() == nil {
			log.Printf("feed of endings: %v", err)
		}
		pause(ctx, retryAfter)
		select {
		case <-ctx.Done():
		case <-c.hurry: // the authorization server responds again
			failures = 0
			pause(ctx, rand.N(time.Second))
		case <-time.After(rand.N(atMost)):
		}
	}
}

func pause(ctx context.Context, duration time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(duration):
	}
}

// readStream reads one response to its end.
func (c *TokenCheck) readStream(ctx context.Context, cursor *string) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	metadata, err := c.endpoints(ctx)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, "GET", metadata.endings, nil)
	if err != nil {
		return 0, err
	}
	nonce := newNonce()
	request.URL.RawQuery = url.Values{"nonce": {nonce}}.Encode()
	c.authenticate(request)
	request.Header.Set("Accept", "text/event-stream")
	if *cursor != "" {
		request.Header.Set("Last-Event-ID", *cursor)
	}
	c.noticeSetClock()
	c.feed.Lock()
	c.ahead = float64(time.Now().UnixMilli()) - c.now()
	connection := c.feed.connect(c.now(), nonce)
	c.feed.Unlock()
	silence := time.AfterFunc(5*time.Second, cancel)
	defer silence.Stop()
	response, err := c.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		if response.StatusCode == http.StatusBadRequest {
			*cursor = ""
		}
		seconds, _ := time.ParseDuration(response.Header.Get("Retry-After") + "s")
		return min(max(seconds, 0), time.Minute), fmt.Errorf("status %d", response.StatusCode)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(make([]byte, 64<<10), lineAtMost)
	id, data := "", ""
	for lines.Scan() {
		silence.Reset(5 * time.Second)
		line := lines.Text()
		if value, found := strings.CutPrefix(line, "id:"); found {
			id = strings.TrimPrefix(value, " ")
		} else if value, found := strings.CutPrefix(line, "data:"); found {
			data += strings.TrimPrefix(value, " ")
		} else if line == "" && data != "" {
			if err := c.take(ctx, data, connection); err != nil && !errors.Is(err, errMoreParts) {
				if errors.Is(err, errSnapshot) {
					*cursor = ""
				}
				return 0, err
			} else if err == nil && id != "" {
				*cursor = id
			}
			id, data = "", ""
		}
	}
	return 0, lines.Err()
}

func (c *TokenCheck) take(ctx context.Context, text string, connection *connection) error {
	message, err := c.verify(ctx, text, "endings+jwt")
	if err != nil {
		return fmt.Errorf("%w: %v", errRefused, err)
	}
	if c.noticeSetClock() {
		return errStale
	}
	c.feed.Lock()
	defer c.feed.Unlock()
	now := c.now()
	err = c.feed.accept(message, connection, now)
	if err == nil && now-connection.sentAt > 5000 {
		c.mayHurry.Store(true)
	}
	return err
}

func newNonce() string {
	bytes := make([]byte, 16)
	cryptorand.Read(bytes)
	return base64.RawURLEncoding.EncodeToString(bytes)
}

var errMoreParts = errors.New("the snapshot is not complete, or has not come as far as the state")

type entry [16]byte

// content is one state of the feed.
type content struct {
	feed     string
	name     string // of the snapshot
	parts    int
	isWhole  bool
	until    float64
	at       float64
	lifetime float64
	keys     map[string]bool
	ended    map[entry]float64
	clients  map[entry]float64
	sweptAt  float64
}

// connection has the time of the request, and how far the server's clock is ahead of the monotonic clock, both in milliseconds. The offset and
// the run of the feed are those of the first message, which must repeat the nonce.
type connection struct {
	sentAt float64
	nonce  string
	offset *float64
	feed   string
}

// reached is how far a run of the feed had come when its latest message arrived. Ahead is the server's clock minus the monotonic clock, at least.
type reached struct {
	feed                    string
	until, ahead, arrivedAt float64
}

// feedState is what a reader holds. Its methods but decide need the lock.
type feedState struct {
	sync.RWMutex
	content, snapshot *content // the snapshot is not complete, or has not come as far as the content
	reached           reached
	completeUntil     *float64 // nil if the feed is stale
}

func (s *feedState) distrust() { s.completeUntil, s.snapshot = nil, nil }

func (s *feedState) forget() error {
	s.distrust()
	s.content = nil
	return errSnapshot
}

func (s *feedState) connect(now float64, nonce string) *connection {
	s.snapshot = nil
	return &connection{sentAt: now, nonce: nonce}
}

// begin takes the first message of a response. It refuses a recording: the nonce is of another request, or the server's clock goes back within the run.
func (s *feedState) begin(m *claims, connection *connection, now float64) error {
	offset := *m.At - connection.sentAt
	if m.Nonce != connection.nonce || (s.isSameRun(m, now) && offset < s.reached.ahead-clocksDiffer) {
		return errRefused
	}
	connection.offset, connection.feed = &offset, m.Feed
	return nil
}

// isSameRun reports whether the run must not go back. The name of a run can stay when the clock is set back and the server starts again, so the run
// counts for a minute.
func (s *feedState) isSameRun(m *claims, now float64) bool {
	return s.reached.feed == m.Feed && now-s.reached.arrivedAt <= 60_000
}

// accept takes a verified message. All times are in milliseconds.
func (s *feedState) accept(m *claims, connection *connection, now float64) error {
	if m.At == nil || m.Until == nil || *m.Until > *m.At || m.Feed == "" || (m.From == nil) != (len(m.Part) == 2) {
		return errRefused
	}
	if !isWhole(m.Ended) || !isWhole(m.Clients) {
		return errRefused
	}
	if connection.offset == nil {
		if err := s.begin(m, connection, now); err != nil {
			return err
		}
	}
	slack := 100 + (now-connection.sentAt)/1000
	if *m.At > *connection.offset+now+slack {
		s.distrust()
		return errStale
	}
	next := s.snapshot
	if next == nil {
		next = s.content
	}
	if m.Feed != connection.feed {
		return s.forget()
	} else if m.From == nil {
		next = s.nextPart(m)
	} else if next != nil && (!next.isWhole || next.feed != m.Feed || *m.From > next.until || *m.Until < next.until) {
		next = nil
	}
	if next == nil {
		return s.forget()
	}
	next.add(m)
	if len(next.ended)+len(next.clients) > entriesAtMost {
		return s.forget()
	}
	if !next.isWhole || (s.isSameRun(m, now) && *m.Until < s.reached.until) {
		return errMoreParts
	}
	s.content, s.snapshot = next, nil
	s.reached = reached{m.Feed, *m.Until, *m.At - now, now}
	completeUntil := *m.Until - *connection.offset - slack
	s.completeUntil = &completeUntil
	return nil
}

// nextPart returns the snapshot to which a part belongs, or nil. The parts of two snapshots must not be mixed: entries could be missing.
func (s *feedState) nextPart(m *claims) *content {
	index, of := m.Part[0], m.Part[1]
	if index == 1 {
		s.snapshot = &content{feed: m.Feed, name: m.Snapshot, until: *m.Until, ended: map[entry]float64{}, clients: map[entry]float64{}}
	}
	part := s.snapshot
	if part == nil || part.parts != index-1 || index > of || part.name != m.Snapshot || part.until != *m.Until {
		return nil
	}
	part.parts, part.isWhole = index, index == of
	return part
}

func (c *content) add(m *claims) {
	c.until, c.at, c.lifetime = *m.Until, max(c.at, *m.At), m.Lifetime
	c.keys = map[string]bool{}
	for _, key := range m.Keys {
		c.keys[key] = true
	}
	addTo(c.ended, m.Ended)
	addTo(c.clients, m.Clients)
	if c.at-c.sweptAt < 60_000 {
		return
	}
	c.sweptAt = c.at
	for _, entries := range []map[entry]float64{c.ended, c.clients} {
		for key, forgetAt := range entries {
			if forgetAt*1000 < c.at {
				delete(entries, key)
			}
		}
	}
}

func isWhole(lists map[string]string) bool {
	for _, text := range lists {
		if bytes, err := base64.RawURLEncoding.DecodeString(text); err != nil || len(bytes)%16 != 0 {
			return false
		}
	}
	return true
}

func addTo(entries map[entry]float64, lists map[string]string) {
	for time, text := range lists {
		var forgetAt float64
		fmt.Sscan(time, &forgetAt)
		bytes := number(text)
		for ; len(bytes) >= 16; bytes = bytes[16:] {
			key := entry(bytes[:16])
			entries[key] = max(entries[key], forgetAt)
		}
	}
}

// decide returns valid, ended or ask: then only introspection can decide. Times are in milliseconds.
func (s *feedState) decide(token *claims, now, maxAge float64) string {
	s.RLock()
	defer s.RUnlock()
	c := s.content
	if c == nil || s.completeUntil == nil || now-*s.completeUntil > maxAge {
		return "ask"
	}
	if !c.keys[token.keyID] || token.Exp-token.Iat > c.lifetime || token.Exp*1000 < c.at {
		return "ask"
	}
	clients := []string{token.ClientID}
	for actor := token.Act; actor != nil; actor = actor.Act {
		clients = append(clients, actor.Sub)
	}
	for _, client := range clients {
		if _, found := c.clients[hashOf(client)]; found {
			return "ask"
		}
	}
	if token.GrantID == nil {
		if _, found := c.ended[hashOf(token.ClientID+"\x00"+token.Jti)]; found {
			return "ended"
		}
		return "valid"
	}
	verdict := "valid"
	for _, id := range append([]string{*token.GrantID, token.Jti}, token.ExchangedFrom...) {
		bytes, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
		if err != nil || len(bytes) != 16 {
			return "ask"
		}
		if _, found := c.ended[entry(bytes)]; found {
			verdict = "ended"
		}
	}
	return verdict
}

func hashOf(text string) entry {
	hash := sha256.Sum256([]byte(text))
	return entry(hash[:16])
}
