package resource

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// What a reader of the feed of endings holds and decides (docs/reference/feed.md). Every time is an argument in milliseconds of a monotonic
// clock, so that the test vectors decide the same in every language.

const (
	entriesAtMost = 2_000_000
	// usableFor is how old the feed may be at most.
	usableFor = time.Minute
	// clocksDiffer is by how many milliseconds the clocks of two nodes may differ.
	clocksDiffer = 2000
)

// entry is a UUID, or the first 16 bytes of a SHA-256.
type entry [16]byte

// feedMessage has the claims of a message. At, From and Until are in milliseconds of the server's clock, Lifetime is in seconds.
type feedMessage struct {
	Iss, Aud       any
	At, Until      *float64
	From, Lifetime *float64
	Nonce, Feed    string
	Snapshot       string
	Part           []int
	Keys           []string
	Ended, Clients map[string]string
	isSnapshot     bool
	ended, clients map[entry]int64 // with the second after which each may be forgotten
}

var seconds = regexp.MustCompile(`^\d{1,12}$`)

// readFeedMessage checks the types of the claims. The signature, iss and aud are checked before.
func readFeedMessage(payload []byte) (*feedMessage, error) {
	m := &feedMessage{}
	if err := json.Unmarshal(payload, m); err != nil {
		return nil, messageRefused("claims")
	}
	m.isSnapshot = m.From == nil
	isTime := func(value *float64) bool { return value != nil && *value >= 0 }
	// A promise about the future would keep the feed fresh without any news.
	if !isTime(m.At) || !isTime(m.Until) || !isTime(m.Lifetime) || (!m.isSnapshot && *m.From < 0) || *m.Until > *m.At {
		return nil, messageRefused("claim at, from, until or lifetime")
	}
	if m.Feed == "" || len(m.Feed) > 256 || m.Keys == nil || (m.isSnapshot && len(m.Part) != 2) || (!m.isSnapshot && m.Part != nil) {
		return nil, messageRefused("claim feed, keys or part")
	}
	var isEnded, isClients bool
	m.ended, isEnded = readEntries(m.Ended)
	m.clients, isClients = readEntries(m.Clients)
	if !isEnded || !isClients {
		return nil, messageRefused("claim ended or clients")
	}
	return m, nil
}

func readEntries(lists map[string]string) (map[entry]int64, bool) {
	entries := map[entry]int64{}
	for at, text := range lists {
		bytes, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil || len(bytes)%16 != 0 || !seconds.MatchString(at) {
			return nil, false
		}
		forgetAt, _ := strconv.ParseInt(at, 10, 64)
		for ; len(bytes) > 0; bytes = bytes[16:] {
			entries[entry(bytes)] = max(entries[entry(bytes)], forgetAt)
		}
	}
	return entries, true
}

// feedContent is one state of the feed.
type feedContent struct {
	feed, name          string // name is that of the snapshot
	parts               int    // of the snapshot so far
	isWhole             bool
	until, at, lifetime float64
	keys                map[string]bool
	ended, clients      map[entry]int64
	sweptAt             float64
}

func (c *feedContent) add(m *feedMessage) {
	c.until, c.at, c.lifetime = *m.Until, max(c.at, *m.At), *m.Lifetime
	c.keys = map[string]bool{}
	for _, key := range m.Keys {
		c.keys[key] = true
	}
	for key, forgetAt := range m.ended {
		c.ended[key] = max(c.ended[key], forgetAt)
	}
	for key, forgetAt := range m.clients {
		c.clients[key] = max(c.clients[key], forgetAt)
	}
	if c.at-c.sweptAt < 60_000 {
		return
	}
	c.sweptAt = c.at
	for _, entries := range []map[entry]int64{c.ended, c.clients} {
		for key, forgetAt := range entries {
			if float64(forgetAt)*1000 < c.at {
				delete(entries, key)
			}
		}
	}
}

// feedConnection has the time just before the request was sent. After the first message, which must repeat the nonce, it also has the run of the feed, and
// by how much the server's clock is ahead of the monotonic clock, at most.
type feedConnection struct {
	sentAt      float64
	nonce, feed string
	offset      float64
}

// feedState is what a reader holds.
type feedState struct {
	content, snapshot *feedContent // the snapshot is not complete, or has not come as far as the content
	completeUntil     *float64     // nil if the feed is stale
	// How far a run of the feed had come when its latest message arrived. ahead is the server's clock minus the monotonic clock, at least.
	reached struct {
		feed                    string
		until, ahead, arrivedAt float64
	}
}

// distrust makes the feed stale until the next message of another connection.
func (s *feedState) distrust() { s.completeUntil, s.snapshot = nil, nil }

// forget discards everything: only a snapshot can follow.
func (s *feedState) forget(kind, detail string) error {
	s.distrust()
	s.content = nil
	return FeedProblem{Kind: kind, Detail: detail}
}

// connect discards a snapshot that is not complete, because the connection ended.
func (s *feedState) connect(now float64, nonce string) *feedConnection {
	s.snapshot = nil
	return &feedConnection{sentAt: now, nonce: nonce}
}

func (s *feedState) isFresh(now, maxAge float64) bool {
	return s.content != nil && s.completeUntil != nil && now-*s.completeUntil <= maxAge
}

// accept takes a verified message, and reports whether the reader may continue from here: not from a snapshot before its last part, nor before it has come as
// far as what the reader has of the same run. After an error, the caller closes the connection.
func (s *feedState) accept(m *feedMessage, connection *feedConnection, now float64) (isComplete bool, err error) {
	if connection.feed == "" {
		if err := s.begin(m, connection, now); err != nil {
			return false, err
		}
	}
	slack := 100 + (now-connection.sentAt)/1000
	if *m.At > connection.offset+now+slack {
		s.distrust()
		return false, FeedProblem{Kind: "clock_set", Detail: "of the authorization server"}
	}
	if m.Feed != connection.feed {
		return false, s.forget("message_missing", "feed")
	}
	next := s.next(m, now)
	if next == nil {
		return false, s.forget("message_missing", "a message, or a part of the snapshot")
	}
	next.add(m)
	if len(next.ended)+len(next.clients) > entriesAtMost {
		return false, s.forget("too_large", "entries")
	}
	if !next.isWhole || (s.isSameRun(m, now) && *m.Until < s.reached.until) {
		return false, nil
	}
	s.content, s.snapshot = next, nil
	s.reached.feed, s.reached.until, s.reached.ahead, s.reached.arrivedAt = m.Feed, *m.Until, *m.At-now, now
	completeUntil := *m.Until - connection.offset - slack
	s.completeUntil = &completeUntil
	return true, nil
}

// begin takes the first message of a response, and refuses a recording: the nonce is of another request, or the server's clock goes back within the run.
func (s *feedState) begin(m *feedMessage, connection *feedConnection, now float64) error {
	offset := *m.At - connection.sentAt
	if m.Nonce != connection.nonce {
		return messageRefused("claim nonce")
	}
	if s.isSameRun(m, now) && offset < s.reached.ahead-clocksDiffer {
		return messageRefused("claim at")
	}
	connection.offset, connection.feed = offset, m.Feed
	return nil
}

// isSameRun reports whether the run must not go back. The name of a run can stay when the clock is set back and the server starts again, so the run counts
// for a minute.
func (s *feedState) isSameRun(m *feedMessage, now float64) bool {
	return s.reached.feed == m.Feed && now-s.reached.arrivedAt <= float64(usableFor.Milliseconds())
}

// next returns what the message continues, or nil if a message before it is missing.
func (s *feedState) next(m *feedMessage, now float64) *feedContent {
	if m.isSnapshot {
		return s.nextPart(m, now)
	}
	next := s.snapshot
	if next == nil {
		next = s.content
	}
	if next == nil || !next.isWhole || next.feed != m.Feed || *m.From > next.until || *m.Until < next.until {
		return nil
	}
	return next
}

// nextPart returns the snapshot to which a part belongs, or nil. The parts of two snapshots must not be mixed: entries could be missing.
func (s *feedState) nextPart(m *feedMessage, now float64) *feedContent {
	index, of := m.Part[0], m.Part[1]
	if index == 1 {
		s.snapshot = &feedContent{feed: m.Feed, name: m.Snapshot, until: *m.Until, ended: map[entry]int64{}, clients: map[entry]int64{}}
		if !s.isFresh(now, float64(usableFor.Milliseconds())) {
			s.content = nil // nothing may use it, so it need not be held beside the snapshot
		}
	}
	part := s.snapshot
	if part == nil || part.parts != index-1 || index > of || part.name != m.Snapshot || part.until != *m.Until {
		return nil
	}
	part.parts, part.isWhole = index, index == of
	return part
}

type verdict string

const (
	valid verdict = "valid"
	ended verdict = "ended"
	// ask: only introspection can decide.
	ask verdict = "ask"
)

// decide is about a token whose signature and claims are valid.
func (s *feedState) decide(token *AccessToken, now, maxAge float64) verdict {
	c := s.content
	if !s.isFresh(now, maxAge) || !c.keys[token.keyID] || float64(token.ExpiresAt-token.IssuedAt) > c.lifetime {
		return ask
	}
	// The entries of tokens that have expired may be forgotten already, if the clock of this machine is behind.
	if float64(token.ExpiresAt)*1000 < c.at {
		return ask
	}
	clients, ids, isRead := entriesOf(token)
	if !isRead {
		return ask
	}
	for _, client := range clients {
		if _, isThere := c.clients[client]; isThere {
			return ask
		}
	}
	for _, id := range ids {
		if _, isThere := c.ended[id]; isThere {
			return ended
		}
	}
	return valid
}

// entriesOf returns the entries that can concern a token, of its clients and of what may have ended. False if the token names something that cannot be an
// entry.
func entriesOf(token *AccessToken) (clients, ids []entry, isRead bool) {
	clients = []entry{hashOf(token.ClientID)}
	// The clients of the chain (RFC 8693 §4.1).
	for actor, isThere := token.Claims["act"]; isThere; {
		members, _ := actor.(map[string]any)
		sub, isText := members["sub"].(string)
		if !isText {
			return nil, nil, false
		}
		clients = append(clients, hashOf(sub))
		actor, isThere = members["act"]
	}
	grantID, isThere := token.Claims["grant_id"]
	if !isThere {
		return clients, []entry{hashOf(token.ClientID + "\x00" + token.TokenID)}, true
	}
	exchangedFrom, isList := token.Claims["exchanged_from"].([]any)
	if _, isThere := token.Claims["exchanged_from"]; isThere && !isList {
		return nil, nil, false
	}
	for _, each := range append([]any{grantID, token.TokenID}, exchangedFrom...) {
		text, _ := each.(string)
		bytes, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		if err != nil || !uuid.MatchString(text) {
			return nil, nil, false
		}
		ids = append(ids, entry(bytes))
	}
	return clients, ids, true
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func hashOf(text string) entry {
	hash := sha256.Sum256([]byte(text))
	return entry(hash[:16])
}
