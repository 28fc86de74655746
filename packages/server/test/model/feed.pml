/*
 * The feed of endings on PostgreSQL: endings become visible in another order than that of their times, a node reads them, and a reader
 * decides about tokens. In the scene JOB, the feed on SQLite. docs/evidence/model.md explains the model. scripts/test-model.ts runs it.
 *
 * Each macro WITHOUT_… removes one rule. Each scene (SCENE_…) chooses the processes: all of them at once have too many states.
 */

#if defined(SCENE_ORDER) || defined(SCENE_FAILOVER)
#define ENDINGS 2
#else
#define ENDINGS 1
#endif
#if defined(SCENE_READER) || defined(SCENE_JOB)
#define HAS_READER
#endif
#if defined(SCENE_READER) || defined(SCENE_FAILOVER)
#define HAS_FAILOVER
#endif
/* From the beginning of a statement to its transaction id, at most: PostgreSQL ends a statement that waits longer. */
#define BEGUN_BEFORE 1
#if defined(SCENE_FAILOVER)
#define READS_AT_MOST 2
#define TIME_AT_MOST 2
#elif defined(SCENE_JOB)
#define TIME_AT_MOST 7
#else
#define READS_AT_MOST 3
#define TIME_AT_MOST 3
#endif
/* How old the feed may be for a reader that decides with it. */
#define LIMIT 1
/* From the issue of an access token to its expiry. */
#define LIFETIME 3

byte now = 0;

/* The endings. `isAlone`: visible on the primary, and not on the standby. */
byte begunAt[ENDINGS];
byte id[ENDINGS];
bit hasBegun[ENDINGS];
bit isVisible[ENDINGS];
bit isAlone[ENDINGS];
bit isDead[ENDINGS];
bit isAcknowledged[ENDINGS];
byte acknowledgedAt[ENDINGS];
byte nextId = 1;
bit hasFailedOver = 0;
#ifdef SCENE_JOB
/* The last access token of the grant that ends. */
byte issuedAt = 0;
#define MAY_BE_VALID (now < issuedAt + LIFETIME)
#else
#define MAY_BE_VALID true
#endif
#ifdef SCENE_PAGES
bit isOnLastPage[ENDINGS];
#define IS_ON(e, page) (isOnLastPage[e] == page)
#else
#define IS_ON(e, page) true
#endif

/* The node: the snapshot before its last scan, and the positions. Every id from position[t] on was assigned at the time t or later. */
bit hasHistory = 0;
bit instance = 0;
byte xmax = 0;
bit wasRunning[ENDINGS];
byte position[TIME_AT_MOST + 1];
bit isInFeed[ENDINGS];
/*
 * The last message: what was added before `until` and after the message before. `from` and `until` of the real messages are in milliseconds and
 * differ for each read. Here `until` has the unit of the model's time, and `number` has the order.
 */
byte number = 0;
byte until = 0;
bit isAdded[ENDINGS];
bit feed = 0;
bit isOfPresentServer = 0;
bit hasFeed = 0;

/* The reader. */
bit hasSnapshot = 0;
bit isKnown[ENDINGS];
byte knownNumber = 0;
byte knownUntil = 0;
bit knownFeed = 0;
bit knowsPresentServer = 0;

/* The properties. Each becomes 1 when it is violated. */
bit incomplete = 0;
bit accepted_after_ending = 0;
bit refused_without_ending = 0;

inline violate(property) {
  property = 1;
  assert(!property)
}

#define WAITS_TOO_LONG(e) (hasBegun[e] && id[e] == 0 && !isDead[e] && now >= begunAt[e] + BEGUN_BEFORE)

#ifdef HAS_READER
#define GOES_ON true
#else
#define GOES_ON (number < READS_AT_MOST)
#endif

proctype Clock() {
  do
#if ENDINGS == 1
  :: atomic { GOES_ON && now < TIME_AT_MOST && !WAITS_TOO_LONG(0) -> now++ }
#else
  :: atomic { GOES_ON && now < TIME_AT_MOST && !WAITS_TOO_LONG(0) && !WAITS_TOO_LONG(1) -> now++ }
#endif
  :: atomic { now == TIME_AT_MOST -> break }
  od
}

/* The row has the time at which the statement began. The transaction may be held open for any time before its commit. */
proctype Ending(byte e) {
  /* The endings are alike, so the first one begins first. After the last read nothing more is of interest. */
  atomic {
    (e == 0 || hasBegun[0]) && GOES_ON -> hasBegun[e] = 1;
    begunAt[e] = now
#ifdef SCENE_PAGES
    ;
    /* The rows of a page are in the order of time and id, and each table has pages of its own. So any ending can be on any page. */
    if
    :: isOnLastPage[e] = 0
    :: isOnLastPage[e] = 1
    fi
#endif
  };
  atomic { !isDead[e] && GOES_ON -> id[e] = nextId; nextId++ };
  atomic {
    !isDead[e] && GOES_ON -> isVisible[e] = 1;
    if
    :: true -> skip
#ifdef HAS_FAILOVER
    /* The wait for the standby was cancelled. */
    :: !hasFailedOver -> isAlone[e] = 1
#endif
    fi
  };
  /* Acknowledged, if necessary after the request was repeated and the commit was confirmed. */
  atomic { isVisible[e] && GOES_ON -> isAlone[e] = 0; isAcknowledged[e] = 1; acknowledgedAt[e] = now }
}

/* The standby is promoted. It lacks what the primary showed alone, ends the open transactions, and assigns their ids again. */
proctype Failover() {
  byte e;
  d_step {
    hasFailedOver = 1;
    isOfPresentServer = 0;
    knowsPresentServer = 0;
    nextId = 1;
    e = 0;
    do
    :: e < ENDINGS && isVisible[e] && !isAlone[e] ->
      if
      :: id[e] >= nextId -> nextId = id[e] + 1
      :: else -> skip
      fi;
      e++
    :: e < ENDINGS && (!isVisible[e] || isAlone[e]) -> isVisible[e] = 0; isDead[e] = hasBegun[e]; e++
    :: e == ENDINGS -> break
    od;
    e = 0
  }
}

/* A snapshot of the server: which transactions are finished, which are not, and the next id. */
inline snapshot() {
  d_step {
    snapshotAt = now;
    snapshotNext = nextId;
    snapshotInstance = hasFailedOver;
    snapshotXmax = 1;
    e = 0;
    do
    :: e < ENDINGS && isVisible[e] && id[e] >= snapshotXmax -> snapshotXmax = id[e] + 1; e++
    :: e < ENDINGS && !(isVisible[e] && id[e] >= snapshotXmax) -> e++
    :: e == ENDINGS -> break
    od;
    e = 0;
    do
    :: e < ENDINGS -> isRunning[e] = (id[e] != 0 && !isVisible[e] && !isDead[e] && id[e] < snapshotXmax); e++
    :: e == ENDINGS -> break
    od;
    e = 0
  }
}

/* The first transaction that the snapshot before did not see, and that this snapshot sees; 0 if there is none. Then where the scan begins. */
inline beginScan() {
  d_step {
    first = 0;
    e = 0;
    do
    :: e < ENDINGS ->
      if
      :: isVisible[e] && id[e] < snapshotXmax && !isRunning[e] && (wasRunning[e] || id[e] >= xmax) && (first == 0 || id[e] < first) ->
        first = id[e]
      :: else -> skip
      fi;
      e++
    :: e == ENDINGS -> break
    od;
    e = 0;
    begin = 0;
    t = 0;
    do
    :: t <= TIME_AT_MOST && hasHistory && !isNew ->
      if
#ifndef WITHOUT_THE_HISTORY_OF_LOOKS
      :: position[t] != 0 && (first == 0 || position[t] <= first) -> begin = t
#else
      :: position[t] != 0 -> begin = t
#endif
      :: else -> skip
      fi;
      t++
    :: t <= TIME_AT_MOST && (!hasHistory || isNew) -> break
    :: t > TIME_AT_MOST -> break
    od;
    t = 0;
#ifndef WITHOUT_THE_TIME_BEFORE_THE_ID
    if
    :: begin >= BEGUN_BEFORE -> begin = begin - BEGUN_BEFORE
    :: else -> begin = 0
    fi
#endif
  }
}

/* The statement fails on another server than that of the snapshot. */
inline scan(page) {
  d_step {
    isFailed = (snapshotInstance != hasFailedOver);
    e = 0;
    do
    :: e < ENDINGS ->
      isFound[e] = isFound[e] || (!isFailed && IS_ON(e, page) && isVisible[e] && begunAt[e] >= begin && (isNew || !isInFeed[e]));
      e++
    :: e == ENDINGS -> break
    od;
    e = 0
  }
}

/* The next scan begins after this snapshot. */
inline keepLook() {
  d_step {
    e = 0;
    do
    :: e < ENDINGS -> wasRunning[e] = isRunning[e]; isRunning[e] = 0; e++
    :: e == ENDINGS -> break
    od;
    e = 0;
    xmax = snapshotXmax;
    hasHistory = 1;
    instance = snapshotInstance;
    t = 0;
    do
    :: t <= TIME_AT_MOST && isNew -> position[t] = 0; t++
    :: t > TIME_AT_MOST || !isNew -> break
    od;
    t = 0;
    if
#ifndef WITHOUT_THE_NEXT_ID
    :: position[snapshotAt] == 0 -> position[snapshotAt] = snapshotNext
#else
    :: position[snapshotAt] == 0 -> position[snapshotAt] = snapshotXmax
#endif
    :: else -> skip
    fi;
    snapshotAt = 0;
    snapshotNext = 0;
    snapshotXmax = 0;
    first = 0;
    begin = 0
  }
}

/* The message of this read. */
inline publish() {
  d_step {
    number++;
    until = readAt;
    feed = snapshotInstance;
    isOfPresentServer = (snapshotInstance == hasFailedOver);
    hasFeed = 1;
    e = 0;
    do
    :: e < ENDINGS ->
      isAdded[e] = isFound[e];
      isInFeed[e] = (isInFeed[e] && !isNew) || isFound[e];
      isFound[e] = 0;
      if
      :: isAcknowledged[e] && acknowledgedAt[e] < until && !isInFeed[e] && isOfPresentServer -> violate(incomplete)
      :: else -> skip
      fi;
      e++
    :: e == ENDINGS -> break
    od;
    e = 0;
    isNew = 0;
    snapshotInstance = 0;
    readAt = 0
  }
}

#ifndef SCENE_JOB
proctype Node() {
  byte e;
  byte t;
  byte readAt;
  byte snapshotAt;
  byte snapshotNext;
  byte snapshotXmax;
  bit snapshotInstance;
  byte first;
  byte begin;
  bit isRunning[ENDINGS];
  bit isFound[ENDINGS];
  bit isFailed;
  bit isNew;
#ifdef SCENE_PAGES
  bit isOpen;
  bit hasStopped;
nextRead:
#endif
  do
  :: number < READS_AT_MOST ->
    atomic { readAt = now };
#ifdef SCENE_PAGES
    /* The last page of a scan that stopped before it. */
    if
    :: isOpen -> scan(1); atomic { isOpen = 0; keepLook() }
#ifdef WITHOUT_A_SCAN_AFTER_AN_INTERRUPTED_ONE
      ;
      publish();
      goto nextRead
#endif
    :: else -> skip
    fi;
#endif
#ifdef WITHOUT_THE_LOOK_BEFORE_THE_SCAN
    atomic { snapshotXmax = xmax; snapshotInstance = hasFailedOver; beginScan(); scan(0) };
    snapshot();
#else
    atomic {
      snapshot();
#ifndef WITHOUT_A_NEW_RUN_AFTER_A_FAILOVER
      /* Another server: everything is read again, and every reader gets a snapshot. */
      isNew = (hasHistory && instance != snapshotInstance);
#endif
      beginScan()
    };
    scan(0);
#endif
#ifdef SCENE_PAGES
    if
    :: !hasStopped -> atomic { hasStopped = 1; isOpen = 1; goto nextRead }
    :: true -> scan(1)
    fi;
#endif
    if
    :: isFailed -> isFailed = 0; isNew = 0
    :: else ->
#ifdef WITHOUT_THE_TIME_BEFORE_THE_READ
      atomic { readAt = now; keepLook(); publish() }
#else
      atomic { keepLook(); publish() }
#endif
    fi
  od
}
#else
/* The app gets an access token at any time until its grant ends. */
proctype App() {
  do
  :: atomic { !isVisible[0] -> issuedAt = now }
  od
}

/* A job of many pages. One of them ends the grant. */
proctype Job() {
  byte at;
  atomic { at = now };
  atomic {
#ifndef WITHOUT_THE_TIME_OF_A_PAGE
    at = now;
#endif
    begunAt[0] = at;
    isVisible[0] = 1;
    isAcknowledged[0] = 1;
    acknowledgedAt[0] = now
  }
}

/* Rows have the order of their commits, so each read returns every ending. An entry is forgotten one lifetime after the time of its ending. */
proctype OrderedNode() {
  do
  :: d_step {
      until = now;
      hasFeed = 1;
      isOfPresentServer = 1;
#ifndef WITHOUT_THE_LIFETIME_OF_AN_ENTRY
      isInFeed[0] = isVisible[0] && now <= begunAt[0] + LIFETIME;
#else
      isInFeed[0] = isVisible[0] && now <= begunAt[0] + LIMIT;
#endif
      isAdded[0] = isInFeed[0]
    }
  od
}
#endif

/* Receives the last message, or misses it. Decides at any time about a token of each ending. */
proctype Reader() {
  byte e;
  do
  :: d_step {
      hasFeed -> e = 0;
      do
      :: e < ENDINGS ->
        if
#ifndef WITHOUT_THE_BEGINNING_OF_A_MESSAGE
        :: hasSnapshot && knownFeed == feed && number <= knownNumber + 1 -> isKnown[e] = isKnown[e] || isAdded[e]
#else
        :: hasSnapshot && knownFeed == feed -> isKnown[e] = isKnown[e] || isAdded[e]
#endif
        :: else -> isKnown[e] = isInFeed[e]
        fi;
        e++
      :: e == ENDINGS -> break
      od;
      e = 0;
      hasSnapshot = 1;
      knownNumber = number;
      knownUntil = until;
      knownFeed = feed;
      knowsPresentServer = isOfPresentServer
    }
  :: d_step {
#ifndef WITHOUT_THE_AGE_OF_THE_FEED
      hasSnapshot && now <= knownUntil + LIMIT ->
#else
      hasSnapshot ->
#endif
      e = 0;
      do
      :: e < ENDINGS ->
        if
        :: !isKnown[e] && isAcknowledged[e] && acknowledgedAt[e] + LIMIT < now && MAY_BE_VALID -> violate(accepted_after_ending)
        :: isKnown[e] && !isVisible[e] && knowsPresentServer -> violate(refused_without_ending)
        :: else -> skip
        fi;
        e++
      :: e == ENDINGS -> break
      od;
      e = 0
    }
  od
}

init {
  atomic {
    run Clock();
#ifdef HAS_FAILOVER
    run Failover();
#endif
#ifdef HAS_READER
    run Reader();
#endif
#ifdef SCENE_JOB
    run App();
    run Job();
    run OrderedNode()
#else
    run Ending(0);
#if ENDINGS == 2
    run Ending(1);
#endif
    run Node()
#endif
  }
}
