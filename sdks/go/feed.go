package resource

import (
	"bufio"
	"context"
	cryptorand "crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	lineAtMost     = 4 << 20
	silenceAtMost  = 5 * time.Second // the server sends a message at least once a second
	workedFor      = 5 * time.Second // a connection that ends earlier counts as a failure
	afterEnd       = 500 * time.Millisecond
	afterFailures  = 30 * time.Second
	afterTooLarge  = 15 * time.Second
	clockAheadBy   = 1000 // milliseconds
	unreportedEnds = 2    // the restart of a server is no problem
)

// FeedProblem is why the feed cannot be used. Tokens are introspected meanwhile. No field contains a token, a secret or an entry.
type FeedProblem struct {
	// Kind is
	//   - unreachable: the authorization server does not respond, or ends every connection
	//   - refused: the server refuses the connection: the credentials, or the number of connections
	//   - not_offered: the metadata have no endings_endpoint
	//   - message_refused: a message is forged, malformed, too long, of another issuer, or for another resource
	//   - message_missing: a message is missing, old, or of another run of the feed; the reader reads a snapshot
	//   - clock_set: a clock was set; the reader connects again
	//   - too_large: the list of endings is larger than a reader accepts
	Kind string
	// Detail is what exactly was wrong, such as "status 401" or "claim aud".
	Detail     string
	retryAfter time.Duration
}

func (p FeedProblem) Error() string { return "feed of endings: " + p.Kind + ": " + p.Detail }

func messageRefused(detail string) FeedProblem {
	return FeedProblem{Kind: "message_refused", Detail: detail}
}

// feedReader reads the feed of endings over one connection, and connects again when the connection ends.
type feedReader struct {
	issuer    *issuer
	maxAge    float64 // milliseconds
	onProblem func(FeedProblem)
	start     time.Time
	ended     context.Context
	close     context.CancelFunc
	hurry     chan struct{} // has room for one: the authorization server responds again

	lock     sync.Mutex
	state    feedState
	ahead    float64       // the least difference between the machine's clock and the monotonic clock on this connection
	mayHurry bool          // whether the next answer of introspection may shorten the wait for a connection: once in an outage
	complete chan struct{} // closed at the next complete message

	// only of the goroutine that reads
	cursor   string
	failures int
	reported map[string]bool // since the feed worked
}

func startFeed(issuer *issuer, options Options) *feedReader {
	f := &feedReader{issuer: issuer, maxAge: float64(options.Feed.MaxAge.Milliseconds()), onProblem: options.Feed.OnProblem, start: time.Now(),
		hurry: make(chan struct{}, 1), mayHurry: true, complete: make(chan struct{}), reported: map[string]bool{}}
	f.ended, f.close = context.WithCancel(context.Background())
	go f.run()
	return f
}

// now returns milliseconds of the monotonic clock.
func (f *feedReader) now() float64 { return float64(time.Since(f.start).Microseconds()) / 1000 }

func (f *feedReader) decide(token *AccessToken) verdict {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.noticeSetClock()
	if f.ended.Err() != nil {
		return ask
	}
	return f.state.decide(token, f.now(), f.maxAge)
}

// noticeSetClock reports whether the machine's clock went forward by a second more than the monotonic clock: the clock was set, or the machine was suspended.
func (f *feedReader) noticeSetClock() bool {
	ahead := float64(time.Now().UnixMilli()) - f.now()
	if ahead > f.ahead+clockAheadBy {
		f.state.distrust()
		return true
	}
	f.ahead = min(f.ahead, ahead)
	return false
}

func (f *feedReader) ready(ctx context.Context) error {
	for {
		f.lock.Lock()
		isFresh, complete := f.state.isFresh(f.now(), f.maxAge), f.complete
		f.lock.Unlock()
		if isFresh {
			return nil
		}
		select {
		case <-complete:
		case <-f.ended.Done():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// noteAnswer notes how introspection responded. The first answer after an outage shortens the wait for the next connection, which may have grown to 30
// seconds. Once only: otherwise a server that answers, but has no feed, would get a connection each second.
func (f *feedReader) noteAnswer(err error) {
	var refusal *Error
	isAnswer := err == nil || (errors.As(err, &refusal) && refusal.Status != http.StatusServiceUnavailable)
	f.lock.Lock()
	mayHurry := f.mayHurry && isAnswer
	f.mayHurry = !isAnswer
	f.lock.Unlock()
	if mayHurry {
		select {
		case f.hurry <- struct{}{}:
		default:
		}
	}
}

func (f *feedReader) run() {
	for f.ended.Err() == nil {
		begun := time.Now()
		problem := problemOf(f.readStream())
		f.wait(problem, time.Since(begun))
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	f.state.forget("", "")
}

func problemOf(err error) FeedProblem {
	var problem FeedProblem
	var refusal *Error
	switch {
	case err == nil:
		return FeedProblem{Kind: "unreachable", Detail: "the connection ended"}
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &refusal):
		return FeedProblem{Kind: "unreachable", Detail: refusal.Reason}
	}
	return FeedProblem{Kind: "unreachable", Detail: fmt.Sprintf("%T", err)} // the text may contain an address with credentials of a proxy
}

// wait spreads the readers that were disconnected at the same moment.
func (f *feedReader) wait(problem FeedProblem, lasted time.Duration) {
	spread := afterEnd
	if problem.Kind == "unreachable" && lasted > workedFor {
		f.failures = 0
	} else {
		if lasted > workedFor {
			f.failures = 0
		}
		spread = min(afterFailures, time.Second<<min(f.failures, 5))
		f.failures++
		f.report(problem)
	}
	if problem.Kind == "message_missing" || problem.Kind == "too_large" || problem.Detail == "status 400" {
		f.cursor = ""
	}
	if problem.Kind == "too_large" { // the next snapshot would be as large
		problem.retryAfter = afterTooLarge
	}
	f.pause(problem.retryAfter)
	select {
	case <-f.ended.Done():
	case <-f.hurry:
		f.failures = 0
		f.pause(rand.N(time.Second))
	case <-time.After(rand.N(spread)):
	}
}

func (f *feedReader) pause(duration time.Duration) {
	select {
	case <-f.ended.Done():
	case <-time.After(duration):
	}
}

func (f *feedReader) report(problem FeedProblem) {
	if f.reported[problem.Kind] || (problem.Kind == "unreachable" && f.failures <= unreportedEnds) || f.ended.Err() != nil {
		return
	}
	f.reported[problem.Kind] = true
	if f.onProblem != nil {
		f.onProblem(problem)
	}
}

// readStream reads one response to the end. A FeedProblem is an error of the feed.
func (f *feedReader) readStream() error {
	ctx, cancel := context.WithCancel(f.ended)
	defer cancel()
	found, err := f.issuer.find(ctx, "")
	if err != nil {
		return err
	}
	if found.endings == "" {
		return FeedProblem{Kind: "not_offered", Detail: "endings_endpoint"}
	}
	silence := time.AfterFunc(silenceAtMost, cancel)
	defer silence.Stop()
	response, connection, err := f.connect(ctx, found.endings)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(make([]byte, 64<<10), lineAtMost)
	id, data := "", ""
	for lines.Scan() {
		silence.Reset(silenceAtMost)
		line := lines.Text()
		if value, isID := strings.CutPrefix(line, "id:"); isID {
			id = strings.TrimPrefix(value, " ")
		} else if value, isData := strings.CutPrefix(line, "data:"); isData {
			data = strings.TrimPrefix(value, " ")
		} else if line == "" && data != "" {
			if err := f.take(ctx, id, data, connection); err != nil {
				return err
			}
			id, data = "", ""
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return messageRefused("a line is too long")
	}
	return lines.Err()
}

func (f *feedReader) connect(ctx context.Context, endpoint string) (*http.Response, *feedConnection, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return nil, nil, err
	}
	bytes := make([]byte, 16)
	if _, err := cryptorand.Read(bytes); err != nil {
		return nil, nil, err
	}
	nonce := base64.RawURLEncoding.EncodeToString(bytes)
	request.URL.RawQuery = url.Values{"nonce": {nonce}}.Encode()
	f.issuer.authenticate(request)
	request.Header.Set("Accept", "text/event-stream")
	if f.cursor != "" {
		request.Header.Set("Last-Event-ID", f.cursor)
	}
	f.lock.Lock()
	f.noticeSetClock()
	f.ahead = float64(time.Now().UnixMilli()) - f.now()
	connection := f.state.connect(f.now(), nonce)
	f.lock.Unlock()
	response, err := f.issuer.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	if response.StatusCode == http.StatusOK && strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return response, connection, nil
	}
	response.Body.Close()
	problem := FeedProblem{Kind: "unreachable", Detail: fmt.Sprintf("status %d", response.StatusCode)}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 && seconds <= 60 {
		problem.retryAfter = time.Duration(seconds) * time.Second
	}
	switch response.StatusCode {
	case 400, 401, 403, 404, 429:
		problem.Kind = "refused"
	}
	return nil, nil, problem
}

var cursorGrammar = regexp.MustCompile(`^[\x21-\x7e]+$`)

// take verifies and accepts one message.
func (f *feedReader) take(ctx context.Context, id, text string, connection *feedConnection) error {
	message, err := f.issuer.verifyFeedMessage(ctx, text)
	if err != nil {
		return err
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.noticeSetClock() {
		return FeedProblem{Kind: "clock_set", Detail: "of this machine, or the machine was suspended"}
	}
	now := f.now()
	isComplete, err := f.state.accept(message, connection, now)
	if err != nil || !isComplete {
		return err
	}
	if len(id) <= 1024 && cursorGrammar.MatchString(id) {
		f.cursor = id
	}
	if now-connection.sentAt > float64(workedFor.Milliseconds()) {
		f.failures, f.mayHurry = 0, true
	}
	clear(f.reported)
	close(f.complete)
	f.complete = make(chan struct{})
	return nil
}

// verifyFeedMessage returns a FeedProblem if the message is not one of this issuer for this resource, and an *Error if the keys cannot be fetched.
func (i *issuer) verifyFeedMessage(ctx context.Context, text string) (*feedMessage, error) {
	jws, err := i.verify(ctx, text)
	var refusal *Error
	if errors.As(err, &refusal) && refusal.Status != http.StatusServiceUnavailable {
		return nil, messageRefused(refusal.Reason)
	} else if err != nil {
		return nil, err
	}
	if jws.typ != "endings+jwt" {
		return nil, messageRefused("claim_typ")
	}
	message, err := readFeedMessage(jws.payload)
	if err != nil {
		return nil, err
	}
	if err := i.checkAudience(message.Iss, message.Aud); err != nil {
		return nil, messageRefused("claim iss or aud")
	}
	return message, nil
}
