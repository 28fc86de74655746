package resource

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"
)

// checkVectors are those of ../vectors.json, which all packages pass.
type checkVectors struct {
	Issuer, Resource string
	Now              int64
	Credentials      struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	}
	Metadata struct {
		Scopes          []string
		Name, Path, URL string
		Document        any
	}
	Answers map[string]json.RawMessage
	Calls   []vectorCall
	Actions []struct {
		Action            json.RawMessage
		Canonical, Digest string
	}
}

type vectorCall struct {
	Name    string
	Options struct {
		Check          CheckKind
		ClientTokens   bool    `json:"client_tokens"`
		ClockTolerance float64 `json:"clock_tolerance"`
		Scopes         []string
	}
	Request struct {
		Authorization []string
		URL           string
	}
	Needs struct {
		Scopes    []string
		MaxAge    float64  `json:"max_age"`
		ACRValues []string `json:"acr_values"`
	}
	Answers map[string]json.RawMessage
	Approve *struct {
		Key, Summary, Scope string
		Action              json.RawMessage
		WaitSeconds         float64 `json:"wait_seconds"`
	}
	Draw *struct {
		Key    string
		Amount int64
	}
	GiveBack *struct {
		GrantID string `json:"grant_id"`
		Key     string
		Amount  int64
	} `json:"give_back"`
	Outcome map[string]any
}

func readVectors(t *testing.T) (vectors checkVectors) {
	readJSON(t, "../vectors.json", &vectors)
	if len(vectors.Calls) < 100 || len(vectors.Actions) < 5 {
		t.Fatalf("only %d calls", len(vectors.Calls))
	}
	return vectors
}

func TestCheckVectors(t *testing.T) {
	vectors := readVectors(t)
	for _, call := range vectors.Calls {
		t.Run(call.Name, func(t *testing.T) {
			equal(t, outcomeOf(t, vectors, call), call.Outcome)
		})
	}
}

func TestTheMetadataDocumentIsThatOfTheVectors(t *testing.T) {
	vectors := readVectors(t)
	r, err := New(Options{Issuer: vectors.Issuer, Resource: vectors.Resource, Scopes: vectors.Metadata.Scopes, Name: vectors.Metadata.Name})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	r.ServeMetadata(answer, httptest.NewRequest(http.MethodGet, r.MetadataPath, nil))
	equal(t, []any{r.MetadataPath, r.MetadataURL, parse(answer.Body.Bytes())}, []any{vectors.Metadata.Path, vectors.Metadata.URL, vectors.Metadata.Document})
}

func TestTheDigestOfAnActionIsThatOfTheVectors(t *testing.T) {
	for _, each := range readVectors(t).Actions {
		canonical, err := canonicalJSON(each.Action)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := digestOfAction(each.Action)
		equal(t, []any{canonical, digest, err}, []any{each.Canonical, each.Digest, nil})
	}
}

// outcomeOf returns what the vectors call the outcome. A random attempt is written as "attempt", the same one each time.
func outcomeOf(t *testing.T, vectors checkVectors, call vectorCall) map[string]any {
	issuer := &vectorIssuer{t: t, usual: vectors.Answers, answers: call.Answers, attempts: map[string]bool{}}
	check := call.Options.Check
	if check == "" {
		check = CheckLocal
	}
	r, err := New(Options{Issuer: vectors.Issuer, Resource: vectors.Resource, Check: check, Scopes: call.Options.Scopes,
		Introspection: IntrospectionCredentials(vectors.Credentials), ClientTokens: call.Options.ClientTokens,
		ClockTolerance: time.Duration(call.Options.ClockTolerance) * time.Second, Client: &http.Client{Transport: issuer},
		Now: func() time.Time { return time.Unix(vectors.Now, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodGet, "/notes", nil)
	if call.Request.URL != "" {
		request = httptest.NewRequest(http.MethodGet, call.Request.URL, nil)
	}
	request.Header["Authorization"] = call.Request.Authorization
	outcome, err := carryOut(r, request, call)
	var refusal *Error
	if errors.As(err, &refusal) {
		answer := httptest.NewRecorder()
		r.AnswerRefusal(answer, err)
		headers := map[string]string{}
		for name := range answer.Header() {
			headers[name] = answer.Header().Get(name)
		}
		// The recorder writes names as net/http does on the wire, where case does not matter.
		if challenge, isThere := headers["Www-Authenticate"]; isThere {
			delete(headers, "Www-Authenticate")
			headers["WWW-Authenticate"] = challenge
		}
		outcome = map[string]any{"decision": refusal.Reason, "status": answer.Code, "headers": headers, "body": parse(answer.Body.Bytes())}
	} else if err != nil {
		return map[string]any{"decision": "unusable"}
	}
	if issuer.sent != nil {
		outcome["sent"] = issuer.sent
	}
	if len(issuer.attempts) > 1 {
		t.Fatal("several attempts")
	}
	return outcome
}

func carryOut(r *ProtectedResource, request *http.Request, call vectorCall) (map[string]any, error) {
	token, err := r.Check(request, Needs{call.Needs.Scopes, time.Duration(call.Needs.MaxAge) * time.Second, call.Needs.ACRValues})
	if err != nil {
		return nil, err
	}
	if call.Approve != nil {
		approval, err := r.Approve(request.Context(), token, ApprovalRequest{call.Approve.Key, call.Approve.Summary, call.Approve.Action, call.Approve.Scope,
			time.Duration(call.Approve.WaitSeconds) * time.Second})
		if err != nil {
			return nil, err
		}
		return map[string]any{"decision": "accepted", "approval": map[string]any{"approval_id": approval.ApprovalID, "receipt": approval.Receipt}}, nil
	}
	if call.Draw != nil {
		draw, err := r.Draw(request.Context(), token, DrawRequest(*call.Draw))
		if err != nil {
			return nil, err
		}
		values := withUntil(map[string]any{"grant_id": draw.GrantID, "draw": draw.Number, "left": valuesOfLeft(draw.Left)}, draw.Until)
		return map[string]any{"decision": "accepted", "draw": values}, nil
	}
	if call.GiveBack != nil {
		given, err := r.GiveBack(request.Context(), GiveBackRequest(*call.GiveBack))
		if err != nil {
			return nil, err
		}
		return map[string]any{"decision": "accepted", "given_back": map[string]any{"draw": given.Number, "returned": given.Returned}}, nil
	}
	orNull := func(value any, isThere bool) any {
		if isThere {
			return value
		}
		return nil
	}
	values := map[string]any{"wallet": token.Wallet, "client_id": token.ClientID,
		"scopes": append([]string{}, token.Scopes...), "token_id": token.TokenID, "issued_at": token.IssuedAt, "expires_at": token.ExpiresAt,
		"auth_time": orNull(token.AuthTime, token.AuthTime != 0), "acr": orNull(token.ACR, token.ACR != "")}
	if limit := token.Limit; limit != nil {
		values["limit"], values["left"] = valuesOfLimit(limit.Limit), withUntil(valuesOfLeft(limit.Left), limit.Until)
	}
	return map[string]any{"decision": "accepted", "token": values}, nil
}

func valuesOfLimit(limit Limit) map[string]any {
	values := map[string]any{"scope": limit.Scope, "uses": limit.Uses}
	if limit.Per != "" {
		values["per"] = limit.Per
	}
	if limit.Unit != "" {
		values["unit"], values["decimals"], values["amount"], values["each"] = limit.Unit, limit.Decimals, limit.Amount, limit.Each
	}
	return values
}

func valuesOfLeft(left Left) map[string]any {
	values := map[string]any{"uses": left.Uses}
	if left.Amount != nil {
		values["amount"] = *left.Amount
	}
	return values
}

func withUntil(values map[string]any, until int64) map[string]any {
	if until != 0 {
		values["until"] = until
	}
	return values
}

// vectorIssuer answers as a vector says, at the addresses of the vectors.
type vectorIssuer struct {
	t              *testing.T
	usual, answers map[string]json.RawMessage
	asked          map[string]int
	sent           []any
	attempts       map[string]bool
}

func (i *vectorIssuer) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		body, _ := io.ReadAll(request.Body)
		form, _ := url.ParseQuery(string(body))
		values := map[string]string{}
		for name := range form {
			values[name] = form.Get(name)
		}
		if form.Has("attempt") {
			i.attempts[values["attempt"]], values["attempt"] = true, "attempt"
		}
		i.sent = append(i.sent, map[string]any{"path": request.URL.Path, "authorization": request.Header.Get("Authorization"), "form": values})
	}
	var answer struct {
		Status  int
		Headers map[string]string
		JSON    json.RawMessage
	}
	text := i.answerTo(request.URL.Path)
	if text == nil {
		i.t.Errorf("no answer for %s", request.URL.Path)
	}
	if text == nil || string(text) == `"lost"` {
		return nil, errors.New("lost")
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	header := http.Header{}
	for name, value := range answer.Headers {
		header.Set(name, value)
	}
	return &http.Response{StatusCode: answer.Status, Header: header, Body: io.NopCloser(bytes.NewReader(answer.JSON)), Request: request}, nil
}

// answerTo returns the answers to approvals and draws one after another.
func (i *vectorIssuer) answerTo(path string) json.RawMessage {
	name := map[string]string{"/.well-known/oauth-authorization-server": "metadata", "/oauth/jwks": "jwks", "/oauth/introspect": "introspection",
		"/oauth/approvals": "approvals", "/oauth/approvals/use": "use", "/oauth/draw": "draw", "/oauth/draw/return": "return"}[path]
	if !slices.Contains([]string{"approvals", "use", "draw", "return"}, name) {
		if answer, isThere := i.answers[name]; isThere {
			return answer
		}
		return i.usual[name]
	}
	var list []json.RawMessage
	json.Unmarshal(i.answers[name], &list)
	if i.asked == nil {
		i.asked = map[string]int{}
	}
	i.asked[name]++
	if i.asked[name] > len(list) {
		return nil
	}
	return list[i.asked[name]-1]
}

func parse(text []byte) (value any) {
	json.Unmarshal(text, &value)
	return value
}
