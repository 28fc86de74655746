package resource

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync"
	"testing"
	"time"
)

const (
	wallet   = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
	app      = "6f1c2d9e-3b57-4f0a-9a4e-1c2b3d4e5f60"
	api      = "https://api.example.com/notes"
	instant  = 1_800_000_000
	keyInSet = "key-1"
)

var credentials = IntrospectionCredentials{"api", "a secret+"}

// littleIssuer is a small authorization server on a real socket. A test replaces the answer of a path.
type littleIssuer struct {
	*httptest.Server
	key     *ecdsa.PrivateKey
	lock    sync.Mutex
	answers map[string]http.HandlerFunc
	asked   map[string]int // requests by path
}

func startIssuer(t *testing.T) *littleIssuer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	issuer := &littleIssuer{key: key, asked: map[string]int{}, answers: map[string]http.HandlerFunc{}}
	issuer.Server = httptest.NewServer(http.HandlerFunc(issuer.serve))
	t.Cleanup(issuer.Close)
	issuer.answer("/.well-known/oauth-authorization-server", 200, map[string]any{"issuer": issuer.URL, "jwks_uri": issuer.URL + "/jwks",
		"introspection_endpoint": issuer.URL + "/introspect", "endings_endpoint": issuer.URL + "/endings", "approvals_endpoint": issuer.URL + "/approvals"})
	exchange, err := key.PublicKey.ECDH()
	if err != nil {
		t.Fatal(err)
	}
	point := exchange.Bytes()
	issuer.answer("/jwks", 200, map[string]any{"keys": []any{map[string]any{"kty": "EC", "crv": "P-256", "kid": keyInSet, "use": "sig", "alg": "ES256",
		"x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:])}}})
	return issuer
}

func (i *littleIssuer) serve(w http.ResponseWriter, request *http.Request) {
	i.lock.Lock()
	i.asked[request.URL.Path]++
	answer := i.answers[request.URL.Path]
	i.lock.Unlock()
	if answer == nil {
		answer = http.NotFound
	}
	answer(w, request)
}

func (i *littleIssuer) handle(path string, answer http.HandlerFunc) {
	i.lock.Lock()
	defer i.lock.Unlock()
	i.answers[path] = answer
}

func (i *littleIssuer) answer(path string, status int, body any) {
	i.handle(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(body)
	})
}

func (i *littleIssuer) requests(path string) int {
	i.lock.Lock()
	defer i.lock.Unlock()
	return i.asked[path]
}

// claims are those of a usual token, with the changes. A change to nil removes the claim.
func (i *littleIssuer) claims(changes map[string]any) map[string]any {
	claims := map[string]any{"iss": i.URL, "aud": api, "sub": wallet, "client_id": app, "jti": "00000000-0000-4000-8000-000000000001",
		"iat": instant, "exp": instant + 600, "scope": "notes.read pay"}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return claims
}

func (i *littleIssuer) token(changes map[string]any) string {
	return i.sign(map[string]any{"typ": "at+jwt", "alg": "ES256", "kid": keyInSet}, i.claims(changes))
}

func (i *littleIssuer) sign(header, claims map[string]any) string {
	first, _ := json.Marshal(header)
	second, _ := json.Marshal(claims)
	signed := base64.RawURLEncoding.EncodeToString(first) + "." + base64.RawURLEncoding.EncodeToString(second)
	digest := sha256.Sum256([]byte(signed))
	r, s, _ := ecdsa.Sign(rand.Reader, i.key, digest[:])
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// resourceOf returns an API of this issuer, whose clock is that of the tokens.
func resourceOf(t *testing.T, issuer *littleIssuer, options Options) *ProtectedResource {
	options.Issuer, options.Resource, options.Now = issuer.URL, api, func() time.Time { return time.Unix(instant, 0) }
	r, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func callWith(token string) *http.Request {
	request := httptest.NewRequest(http.MethodGet, "/notes", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	return request
}

// refusalOf fails the test unless the call was refused with this status and reason.
func refusalOf(t *testing.T, err error, status int, reason string) *Error {
	t.Helper()
	var refusal *Error
	if !errors.As(err, &refusal) {
		t.Fatalf("no refusal: %v", err)
	}
	if refusal.Status != status || refusal.Reason != reason {
		t.Fatalf("%d %s instead of %d %s", refusal.Status, refusal.Reason, status, reason)
	}
	return refusal
}

func equal(t *testing.T, found, expected any) {
	t.Helper()
	first, _ := json.Marshal(found)
	second, _ := json.Marshal(expected)
	if !reflect.DeepEqual(parse(first), parse(second)) {
		t.Fatalf("%s instead of %s", first, second)
	}
}

func TestKeysAreFetchedOnceForAllCalls(t *testing.T) {
	issuer := startIssuer(t)
	r := resourceOf(t, issuer, Options{})
	token := issuer.token(nil)
	var calls sync.WaitGroup
	for range 50 {
		calls.Add(1)
		go func() {
			defer calls.Done()
			if _, err := r.Check(callWith(token), Needs{}); err != nil {
				t.Error(err)
			}
		}()
	}
	calls.Wait()
	equal(t, []int{issuer.requests("/.well-known/oauth-authorization-server"), issuer.requests("/jwks")}, []int{1, 1})
}

func TestUnknownKeysCauseOneRequestInThirtySeconds(t *testing.T) {
	issuer := startIssuer(t)
	r := resourceOf(t, issuer, Options{})
	number := 0
	invented := func() error {
		number++
		header := map[string]any{"typ": "at+jwt", "alg": "ES256", "kid": fmt.Sprint("invented ", number)}
		_, err := r.Check(callWith(issuer.sign(header, issuer.claims(nil))), Needs{})
		return err
	}
	for range 5 {
		refusalOf(t, invented(), 401, "unknown_key")
	}
	equal(t, issuer.requests("/jwks"), 1)
	r.issuer.found.at = r.issuer.found.at.Add(-unknownKeyAfter)
	refusalOf(t, invented(), 401, "unknown_key")
	refusalOf(t, invented(), 401, "unknown_key")
	equal(t, issuer.requests("/jwks"), 2)
}

func TestAKeyThatLeftTheSetEndsItsTokensWithinTenMinutes(t *testing.T) {
	issuer := startIssuer(t)
	r := resourceOf(t, issuer, Options{})
	token := issuer.token(nil)
	if _, err := r.Check(callWith(token), Needs{}); err != nil {
		t.Fatal(err)
	}
	issuer.answer("/jwks", 200, map[string]any{"keys": []any{}})
	r.issuer.found.at = r.issuer.found.at.Add(-keptFor)
	_, err := r.Check(callWith(token), Needs{})
	refusalOf(t, err, 401, "unknown_key")
}

func TestAFailureOfTheIssuerCausesOneRequestInASecond(t *testing.T) {
	issuer := startIssuer(t)
	good := issuer.answers["/jwks"]
	issuer.answer("/jwks", 503, nil)
	r := resourceOf(t, issuer, Options{})
	for range 5 {
		_, err := r.Check(callWith(issuer.token(nil)), Needs{})
		refusalOf(t, err, 503, "jwks_unreachable")
	}
	equal(t, issuer.requests("/jwks"), 1)
	issuer.handle("/jwks", good)
	r.issuer.triedAt = r.issuer.triedAt.Add(-failedFor)
	if _, err := r.Check(callWith(issuer.token(nil)), Needs{}); err != nil {
		t.Fatal(err)
	}
}

func TestAForgedTokenCausesNoIntrospection(t *testing.T) {
	issuer := startIssuer(t)
	r := resourceOf(t, issuer, Options{Introspection: credentials})
	issuer.answer("/introspect", 200, issuer.claims(map[string]any{"active": true}))
	token := issuer.token(nil)
	_, err := r.Check(callWith(token[:len(token)-4]+"AAAA"), Needs{})
	refusalOf(t, err, 401, "signature")
	equal(t, issuer.requests("/introspect"), 0)
	if _, err := r.Check(callWith(token), Needs{}); err != nil {
		t.Fatal(err)
	}
	equal(t, issuer.requests("/introspect"), 1)
}

func mergeOf(first, second map[string]any) map[string]any {
	merged := maps.Clone(first)
	maps.Copy(merged, second)
	return merged
}
