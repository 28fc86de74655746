package resource

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestATokenIsAcceptedWithItsValues(t *testing.T) {
	issuer := startIssuer(t)
	token, err := resourceOf(t, issuer, Options{}).Check(callWith(issuer.token(map[string]any{"aud": []string{"https://other.example/", api}})), Needs{Scopes: []string{"notes.read"}})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, []any{token.Wallet, token.ClientID, token.Scopes, token.IssuedAt, token.ExpiresAt}, []any{wallet, app, []string{"notes.read", "pay"}, instant, instant + 600})
	if text := fmt.Sprintf("%+v %#v", token, *token); strings.Contains(text, "eyJ") {
		t.Fatal("a token in a log contains its text")
	}
}

func TestMembersThatDifferInCaseSecondSpellingsAndUnknownExtensionsAreRefused(t *testing.T) {
	issuer := startIssuer(t)
	r := resourceOf(t, issuer, Options{})
	_, err := r.Check(callWith(issuer.token(map[string]any{"sub": nil, "SUB": wallet})), Needs{})
	refusalOf(t, err, 401, "claim_sub")
	_, err = r.Check(callWith(secondSpelling(issuer.token(nil))), Needs{})
	refusalOf(t, err, 401, "malformed")
	// RFC 7515 §4.1.11
	_, err = r.Check(callWith(issuer.sign(map[string]any{"typ": "at+jwt", "alg": "ES256", "kid": keyInSet, "crit": []string{"exp"}}, issuer.claims(nil))), Needs{})
	refusalOf(t, err, 401, "malformed")
}

// secondSpelling sets a bit that base64url ignores.
func secondSpelling(token string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, token[len(token)-1])
	changed := token[:len(token)-1] + alphabet[last^1:last^1+1]
	a, _ := base64.RawURLEncoding.DecodeString(token[strings.LastIndex(token, ".")+1:])
	b, _ := base64.RawURLEncoding.DecodeString(changed[strings.LastIndex(changed, ".")+1:])
	if string(a) != string(b) {
		panic("another signature")
	}
	return changed
}

func TestRequireTokenAnswersARefusalAndGivesTheHandlerTheToken(t *testing.T) {
	issuer := startIssuer(t)
	var logged []string
	r := resourceOf(t, issuer, Options{OnRefusal: func(refusal *Error) { logged = append(logged, refusal.Reason) }})
	handler := r.RequireToken(Needs{Scopes: []string{"notes.write"}})(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Write([]byte(AccessTokenOf(request).Wallet))
	}))
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, callWith(issuer.token(nil)))
	equal(t, []any{answer.Code, logged}, []any{403, []string{"scope_missing"}})
	answer = httptest.NewRecorder()
	handler.ServeHTTP(answer, callWith(issuer.token(map[string]any{"scope": "notes.write"})))
	equal(t, []any{answer.Code, answer.Body.String()}, []any{200, wallet})
}

func TestAHandlerWithoutRequireTokenPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("a route that is not protected works")
		}
	}()
	AccessTokenOf(httptest.NewRequest(http.MethodGet, "/", nil))
}

func TestTheMetadataDocumentIsReadWithGetAndHeadFromEveryOrigin(t *testing.T) {
	r := resourceOf(t, startIssuer(t), Options{})
	for method, status := range map[string]int{http.MethodGet: 200, http.MethodHead: 200, http.MethodOptions: 204, http.MethodPost: 405} {
		answer := httptest.NewRecorder()
		r.ServeMetadata(answer, httptest.NewRequest(method, r.MetadataPath, nil))
		equal(t, []any{answer.Code, answer.Header().Get("Access-Control-Allow-Origin")}, []any{status, "*"})
	}
}

func TestNewRefusesUnusableOptions(t *testing.T) {
	good := Options{Issuer: "https://auth.example.com", Resource: "https://api.example.com"}
	r, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, r.MetadataURL, "https://api.example.com/.well-known/oauth-protected-resource")
	for name, change := range map[string]func(*Options){
		"Issuer must be":      func(o *Options) { o.Issuer = "http://auth.example.com" },
		"final slash":         func(o *Options) { o.Issuer += "/" },
		"Resource must be":    func(o *Options) { o.Resource += "/?a" },
		"this Check needs":    func(o *Options) { o.Check = CheckFeed },
		"Check must be":       func(o *Options) { o.Check = "none" },
		"Introspection needs": func(o *Options) { o.Introspection.ClientID = "api" },
		"Feed.MaxAge":         func(o *Options) { o.Feed.MaxAge = 2 * usableFor },
		"ClockTolerance":      func(o *Options) { o.ClockTolerance = -1 },
	} {
		options := good
		change(&options)
		if _, err := New(options); err == nil || !strings.Contains(err.Error(), name) {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
