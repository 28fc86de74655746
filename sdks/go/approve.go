package resource

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// ApprovalRequest is one action that the user must sign.
type ApprovalRequest struct {
	// Key is the API's name of this action, such as the number of an order: 1 to 64 characters of [A-Za-z0-9._-]. Calls with the same key are about the same
	// approval, and an approval lets one call pass.
	Key string
	// Summary is what the user reads in the wallet, such as "Pay 20 USDC to Alice": 1 to 120 letters, digits, single spaces and characters of
	// -._~:/?#[]@!$&()*+,;=
	Summary string
	// Action is the whole action, as encoding/json writes it. The user signs its digest: SHA-256 of the canonical form (RFC 8785).
	Action any
	// Scope is the scope that the action needs. Empty: the scope that the call needed, if that was exactly one.
	Scope string
	// Wait is how long to wait for the answer of the user: whole seconds, up to 30. Meanwhile the call is not answered. The first call is answered at once,
	// because the user needs the link.
	Wait time.Duration
}

// Approval is an approval that this call used, and no other call can use.
type Approval struct {
	// ApprovalID is in the audit trail and in the user's list of receipts.
	ApprovalID string
	Receipt    ApprovalReceipt
}

// ApprovalReceipt is what the user signed, for the API's records.
type ApprovalReceipt struct {
	Message   string `json:"message"`   // the signed text (ERC-4361)
	Signature string `json:"signature"` // hex with 0x: ERC-191, or ERC-1271 of a contract wallet
	Address   string `json:"address"`   // the wallet of the access token, in EIP-55 form
	ChainID   int64  `json:"chain_id"`  // in the signed text
}

// ApprovalState is what an approval lacks.
type ApprovalState struct {
	// State is waiting, declined, expired, used or ended.
	State string
	// ApprovalURI is the page on which the user signs, and UserCode the letters that the user compares with those on the page. They, and the seconds in which
	// the user can still sign, are only with the state waiting.
	ApprovalURI, UserCode string
	ExpiresIn             int
}

var (
	actionName     = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	summaryGrammar = regexp.MustCompile(`^[A-Za-z0-9._~\-!$&()*+,;=:/?#[\]@]+(?: [A-Za-z0-9._~\-!$&()*+,;=:/?#[\]@]+)*$`)
)

// Approve lets a call pass only if the user of the token has signed this one action, and uses the signature. The first call with a key asks the user. The
// caller shows the link of the refusal to the user and repeats the call.
//
// Call Approve last, directly before the action: the approval is used even if the action fails afterwards. The action then needs a new key and a new signature.
// The same holds if the answer of the authorization server was lost twice (503).
//
// Approve returns an *Error if the user has not signed (403), if the key was used for other values (409), and with 429 and 503. Any other error is a fault of
// the program: an unusable request, a token that this ProtectedResource did not check, or missing credentials.
func (r *ProtectedResource) Approve(ctx context.Context, token *AccessToken, request ApprovalRequest) (*Approval, error) {
	if token == nil || token.of != r {
		return nil, errors.New("resource: Approve needs an access token that this ProtectedResource checked")
	}
	form, err := r.approvalForm(token, request)
	if err != nil {
		return nil, err
	}
	if token.Wallet == "" {
		return nil, r.addChallenge(invalidToken("no_wallet"), token.required)
	}
	scopes := unique(append(slices.Clone(token.required), form.Get("scope")))
	if !slices.Contains(token.Scopes, form.Get("scope")) {
		return nil, r.addChallenge(insufficientScope(), scopes)
	}
	approval, err := r.issuer.approve(ctx, form, request.Wait, token.Wallet)
	var refusal *Error
	if errors.As(err, &refusal) && refusal.Status == http.StatusServiceUnavailable {
		problem := approvalProblem(503, "temporarily_unavailable", "It is not known whether the user signed this action. Try again shortly.")
		problem.Reason, problem.RetryAfter, problem.cause = refusal.Reason, refusal.RetryAfter, refusal.cause
		return nil, problem
	}
	return approval, r.addChallenge(err, scopes)
}

// approvalForm checks the request.
func (r *ProtectedResource) approvalForm(token *AccessToken, request ApprovalRequest) (url.Values, error) {
	seconds := int(request.Wait / time.Second)
	scope := request.Scope
	if scope == "" && len(token.required) == 1 {
		scope = token.required[0]
	}
	switch {
	case r.options.Introspection.ClientID == "":
		return nil, errors.New("resource: Introspection must have the credentials of this API, which approvals need")
	case !actionName.MatchString(request.Key):
		return nil, errors.New("resource: Key must be 1 to 64 letters, digits, and characters of ._-")
	case len(request.Summary) > 120 || !summaryGrammar.MatchString(request.Summary):
		return nil, errors.New("resource: Summary must be 1 to 120 letters, digits, single spaces, and characters of -._~:/?#[]@!$&()*+,;=")
	case seconds < 0 || seconds > 30 || request.Wait%time.Second != 0:
		return nil, errors.New("resource: Wait must be whole seconds, 0 to 30")
	case scope == "": // one scope of several would be a guess, and the user could sign for less than the action needs
		return nil, fmt.Errorf("resource: Scope must name the scope of the approval: this call needs %d scopes", len(token.required))
	}
	digest, err := digestOfAction(request.Action)
	if err != nil {
		return nil, err
	}
	form := url.Values{"token": {token.text()}, "scope": {scope}, "key": {request.Key}, "summary": {request.Summary}, "digest": {digest}}
	if seconds > 0 {
		form.Set("wait", strconv.Itoa(seconds))
	}
	return form, nil
}

// approve asks for an approval, and uses it if the user has signed.
func (i *issuer) approve(ctx context.Context, form url.Values, wait time.Duration, wallet string) (*Approval, error) {
	found, err := i.find(ctx, "")
	if err != nil {
		return nil, err
	}
	answer, err := i.post(ctx, found.approvals, form, requestTimeout+wait, 200, 403, 409, 429)
	if err != nil {
		return nil, err
	}
	if answer.status != http.StatusOK {
		return nil, refusalOfQuestion(answer)
	}
	id, state := textOf(answer.json, "approval_id"), textOf(answer.json, "state")
	_, hasEnd := answer.json["expires_in"].(float64)
	_, hasInterval := answer.json["interval"].(float64)
	open := ApprovalState{State: state, ApprovalURI: textOf(answer.json, "approval_uri"), UserCode: textOf(answer.json, "user_code"),
		ExpiresIn: int(secondsOf(answer.json, "expires_in"))}
	isState := state == "signed" || approvalDetails[state] != ""
	// The caller shows this link to the user.
	if id == "" || !isState || !isSecureURL(open.ApprovalURI) || open.UserCode == "" || !hasEnd || !hasInterval {
		return nil, unavailable("approval_malformed", nil)
	}
	if state != "signed" {
		refusal := notSigned(open)
		if state == "waiting" {
			refusal.RetryAfter = int(secondsOf(answer.json, "interval"))
		}
		return nil, refusal
	}
	return i.useApproval(ctx, found.approvals+"/use", id, wallet)
}

// useApproval sends the same attempt again if the answer was lost: the approval may be used already, and no second call can pass with this attempt.
func (i *issuer) useApproval(ctx context.Context, endpoint, id, wallet string) (*Approval, error) {
	attempt := make([]byte, 16)
	if _, err := cryptorand.Read(attempt); err != nil {
		return nil, err
	}
	form := url.Values{"approval_id": {id}, "attempt": {hex.EncodeToString(attempt)}}
	answer, err := i.postAgainIfLost(ctx, endpoint, form, 200, 403, 409)
	if err != nil {
		return nil, err
	}
	state := textOf(answer.json, "state")
	switch code := answer.json["error"]; {
	case answer.status == http.StatusOK:
		return readUsedApproval(answer.json, id, wallet)
	case code == "already_used":
		return nil, notSigned(ApprovalState{State: "used"})
	case code == "not_approved" && approvalDetails[state] != "":
		return nil, notSigned(ApprovalState{State: state})
	}
	return nil, answer.unexpected()
}

// readUsedApproval: the answer must be about the approval that was asked for, and the receipt that of the token's wallet.
func readUsedApproval(json map[string]any, id, wallet string) (*Approval, error) {
	receipt, _ := json["receipt"].(map[string]any)
	message, isMessage := receipt["message"].(string)
	signature, isSignature := receipt["signature"].(string)
	chainID, isChainID := receipt["chain_id"].(float64)
	if json["approval_id"] != id || json["state"] != "used" || receipt["address"] != wallet || !isMessage || !isSignature || !isChainID {
		return nil, unavailable("approval_malformed", nil)
	}
	return &Approval{id, ApprovalReceipt{message, signature, wallet, int64(chainID)}}, nil
}

// A signed approval is used at once, so signed is no state of a refusal.
var approvalDetails = map[string]string{
	"waiting":  "The user has not signed this action yet. Open the link, compare the letters, and repeat the call after the signature.",
	"declined": "The user declined this action.",
	"expired":  "The user did not sign this action in time, or the signed action was not done in time. Start the action again.",
	"used":     "The signature of the user was used by an earlier call. Start the action again if it was not done.",
	"ended":    "The user ended the access of the app, so the signature cannot be used.",
}

// approvalTitles has one title for each code (RFC 9457 §3.1.3).
var approvalTitles = map[string]string{
	"approval_required":       "The user must sign this action.",
	"approval_key_used":       "The key of this action was used for another action.",
	"approvals_declined":      "The user wants no more questions from this app.",
	"too_many_approvals":      "The user was asked too often.",
	"temporarily_unavailable": "The approval of the user cannot be checked at the moment.",
}

func approvalProblem(status int, code, description string) *Error {
	return &Error{Status: status, Code: code, Description: description, Reason: code, title: approvalTitles[code]}
}

func notSigned(open ApprovalState) *Error {
	refusal := approvalProblem(403, "approval_required", approvalDetails[open.State])
	refusal.Reason = "approval_" + open.State
	if open.State != "waiting" {
		open = ApprovalState{State: open.State}
	}
	refusal.Approval = &open
	return refusal
}

// refusalOfQuestion: the endpoint has a 409 and a 429 for one reason each. Any other refusal is a fault between the API and the authorization server.
func refusalOfQuestion(answer issuerAnswer) *Error {
	switch answer.json["error"] {
	case "token_inactive":
		return invalidToken("inactive")
	case "insufficient_scope":
		return insufficientScope()
	case "key_used": // 409: the caller can choose another key
		return approvalProblem(409, "approval_key_used", "The user was already asked about another action with this key. Choose another key.")
	case "approvals_declined":
		return approvalProblem(403, "approvals_declined", "The user does not want to be asked to sign actions of this app.")
	case "too_many_approvals":
		refusal := approvalProblem(429, "too_many_approvals", "Let the user answer the open questions first, or try again later.")
		if refusal.RetryAfter = answer.retryAfter; answer.retryAfter == 0 {
			refusal.RetryAfter = 60
		}
		return refusal
	case "not_yours":
		return unavailable("approval_not_yours", nil)
	}
	return answer.unexpected()
}

// problem is the body of the response (RFC 9457).
func (e *Error) problem() map[string]any {
	problem := map[string]any{"type": "urn:grantor:problem:" + e.Code, "title": e.title, "status": e.Status, "detail": e.Description}
	if e.Approval != nil {
		problem["state"] = e.Approval.State
		if e.Approval.State == "waiting" {
			problem["approval_uri"], problem["user_code"] = e.Approval.ApprovalURI, e.Approval.UserCode
			problem["expires_in"], problem["interval"] = e.Approval.ExpiresIn, e.RetryAfter
		}
	}
	return problem
}
