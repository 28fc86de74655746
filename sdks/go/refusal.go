package resource

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strconv"
	"strings"
)

// Error is why a call was refused, with the status and the headers of the response (RFC 6750 §3, RFC 9068 §4). Only Reason and the error that Unwrap
// returns are not for the caller: they are for the API's log. No field contains the token.
type Error struct {
	// Status is 400, 401, 403, or 503 if the token could not be checked. A refusal of Approve can have 409 or 429. A refusal of Draw or GiveBack can have 409,
	// and 500 for a fault of the API.
	Status int
	// Code is the OAuth error code; empty if the call had no credentials (RFC 6750 §3.1).
	Code string
	// Description is one sentence in plain words.
	Description string
	// Reason is the exact fault, for example expired or claim_aud.
	Reason string
	// WWWAuthenticate is empty with 409, 500 and 503, and in a refusal of Approve that another token would not change.
	WWWAuthenticate string
	// RetryAfter are the seconds until the next attempt; only with 429, 503, and an approval whose state is waiting.
	RetryAfter int
	// Approval is set in a refusal of Approve with the code approval_required.
	Approval *ApprovalState

	title string // of the problem document of an approval
	needs Needs  // of insufficient_user_authentication (RFC 9470 §3)
	cause error
}

func (e *Error) Error() string {
	return fmt.Sprintf("resource: %d %s (%s)", e.Status, e.Code, e.Reason)
}
func (e *Error) Unwrap() error { return e.cause }

// One wording for all faults: only the log names the failed check, because the name would help an attacker.
func invalidToken(reason string) *Error {
	return &Error{Status: 401, Code: "invalid_token", Reason: reason,
		Description: "The access token is expired, revoked, malformed or not meant for this API."}
}

func invalidRequest(reason string) *Error {
	return &Error{Status: 400, Code: "invalid_request", Reason: reason,
		Description: "Send the access token once, in one well-formed header."}
}

func insufficientScope() *Error {
	return &Error{Status: 403, Code: "insufficient_scope", Reason: "scope_missing",
		Description: "The access token does not allow this call."}
}

// The authorization server gave no usable response, so the token is neither accepted nor reported as bad.
func unavailable(reason string, cause error) *Error {
	return &Error{Status: 503, Code: "temporarily_unavailable", Reason: reason, RetryAfter: 5, cause: cause,
		Description: "The access token cannot be checked at the moment. Try again shortly."}
}

// addChallenge adds WWW-Authenticate (RFC 6750 §3, RFC 9470 §3, RFC 9728 §5.1) to a refusal of a token. The scopes are all that the call needs.
func (r *ProtectedResource) addChallenge(err error, scopes []string) error {
	var refusal *Error
	// Another token would not change these.
	if !errors.As(err, &refusal) || refusal.Status == 409 || refusal.Status >= 500 || refusal.title != "" {
		return err
	}
	description, scope, maxAge := refusal.Description, strings.Join(scopes, " "), ""
	if refusal.Code == "" { // RFC 6750 §3.1: no error information for a call without credentials
		description = ""
	}
	if refusal.Status == 400 { // a malformed request needs no other token
		scope = ""
	}
	if refusal.needs.MaxAge > 0 {
		maxAge = strconv.Itoa(int(refusal.needs.MaxAge.Seconds()))
	}
	names := [][2]string{{"realm", r.options.Resource}, {"error", refusal.Code}, {"error_description", description}, {"scope", scope},
		{"max_age", maxAge}, {"acr_values", strings.Join(refusal.needs.ACRValues, " ")}, {"resource_metadata", r.MetadataURL}}
	var written []string
	for _, each := range names {
		if each[1] != "" {
			written = append(written, each[0]+`="`+strings.Map(quotable, each[1])+`"`)
		}
	}
	refusal.WWWAuthenticate = "Bearer " + strings.Join(written, ", ")
	return err
}

// quotable drops characters that a quoted-string of RFC 6750 §3 may not contain, so that a value cannot break out of the header.
func quotable(char rune) rune {
	if char < 0x20 || char > 0x7e || char == '"' || char == '\\' {
		return -1
	}
	return char
}

// AnswerRefusal answers a call with the refusal that Check, Approve or Draw returned. Any other error is a fault of the program: it is logged, and answered
// with 500. Without OnRefusal, a refusal with 500 is logged too.
func (r *ProtectedResource) AnswerRefusal(w http.ResponseWriter, err error) {
	var refusal *Error
	if !errors.As(err, &refusal) {
		log.Print(err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	if r.options.OnRefusal != nil {
		r.options.OnRefusal(refusal)
	} else if refusal.Status == http.StatusInternalServerError {
		log.Printf("%v: %v", refusal, refusal.cause)
	}
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "application/json")
	if refusal.WWWAuthenticate != "" {
		header.Set("WWW-Authenticate", refusal.WWWAuthenticate)
	}
	if refusal.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(refusal.RetryAfter))
	}
	body := map[string]any{"error_description": refusal.Description}
	if refusal.Code != "" {
		body["error"] = refusal.Code
	}
	if refusal.title != "" {
		header.Set("Content-Type", "application/problem+json")
		body = refusal.problem()
	}
	w.WriteHeader(refusal.Status)
	json.NewEncoder(w).Encode(body)
}
