package resource

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
)

var order = ApprovalRequest{Key: "order-7", Summary: "Pay 20 USDC to Alice", Action: map[string]any{"to": "alice", "amount": "20"}, Scope: "pay"}

// littleApprovals are the two endpoints of approvals, in memory, for one approval.
type littleApprovals struct {
	issuer  *littleIssuer
	lock    sync.Mutex
	state   string
	attempt string
}

func addApprovals(issuer *littleIssuer) *littleApprovals {
	approvals := &littleApprovals{issuer: issuer, state: "waiting"}
	issuer.handle("/approvals", approvals.ask)
	issuer.handle("/approvals/use", approvals.use)
	return approvals
}

func (a *littleApprovals) settle(state string) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.state = state
}

func (a *littleApprovals) ask(w http.ResponseWriter, request *http.Request) {
	a.lock.Lock()
	defer a.lock.Unlock()
	json.NewEncoder(w).Encode(map[string]any{"approval_id": "the-approval", "approval_uri": a.issuer.URL + "/approve/x", "user_code": "WDJB-MJHT",
		"state": a.state, "expires_in": 600, "interval": 5})
}

func (a *littleApprovals) use(w http.ResponseWriter, request *http.Request) {
	a.lock.Lock()
	defer a.lock.Unlock()
	attempt := request.FormValue("attempt")
	switch {
	case a.state == "used" && a.attempt != attempt:
		w.WriteHeader(409)
		w.Write([]byte(`{"error":"already_used"}`))
		return
	case a.state != "signed" && a.state != "used":
		w.WriteHeader(403)
		json.NewEncoder(w).Encode(map[string]any{"error": "not_approved", "state": a.state})
		return
	}
	a.state, a.attempt = "used", attempt
	json.NewEncoder(w).Encode(map[string]any{"approval_id": request.FormValue("approval_id"), "state": "used",
		"receipt": map[string]any{"message": "the signed text", "signature": "0x01", "address": wallet, "chain_id": 1}})
}

// approver returns the call of an API for one checked token.
func approver(t *testing.T, issuer *littleIssuer) func(ApprovalRequest) (*Approval, error) {
	r := resourceOf(t, issuer, Options{Introspection: credentials, Check: CheckLocal})
	return func(request ApprovalRequest) (*Approval, error) {
		token, err := r.Check(callWith(issuer.token(nil)), Needs{Scopes: []string{"pay"}})
		if err != nil {
			return nil, err
		}
		return r.Approve(context.Background(), token, request)
	}
}

func TestASignatureLetsOneOfSeveralCallsPass(t *testing.T) {
	issuer := startIssuer(t)
	approvals := addApprovals(issuer)
	approve := approver(t, issuer)
	approvals.settle("signed")
	results := make(chan error, 5)
	for range 5 {
		go func() {
			approval, err := approve(order)
			if err == nil && (approval.ApprovalID != "the-approval" || approval.Receipt != ApprovalReceipt{"the signed text", "0x01", wallet, 1}) {
				err = errors.New("another approval")
			}
			results <- err
		}()
	}
	passed := 0
	for range 5 {
		if err := <-results; err == nil {
			passed++
		} else {
			refusalOf(t, err, 403, "approval_used")
		}
	}
	equal(t, passed, 1)
}

func TestApproveNeedsATokenThatThisResourceCheckedAndCredentials(t *testing.T) {
	issuer := startIssuer(t)
	r := resourceOf(t, issuer, Options{})
	token, err := r.Check(callWith(issuer.token(nil)), Needs{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Approve(context.Background(), token, order); err == nil || !strings.Contains(err.Error(), "credentials") {
		t.Fatal(err)
	}
	other := resourceOf(t, issuer, Options{Introspection: credentials})
	for _, token := range []*AccessToken{token, {Wallet: wallet, Scopes: []string{"pay"}}, nil} {
		if _, err := other.Approve(context.Background(), token, order); err == nil || !strings.Contains(err.Error(), "checked") {
			t.Fatal(err)
		}
	}
}

func TestAnActionWithoutOneExactCanonicalFormIsRefused(t *testing.T) {
	for _, value := range []any{"\xff", json.RawMessage(`"\ud800"`), int64(1)<<53 + 1, json.RawMessage(strings.Repeat("[", 65) + strings.Repeat("]", 65))} {
		if text, err := canonicalJSON(value); err == nil {
			t.Errorf("%s has a canonical form", text)
		}
	}
}
