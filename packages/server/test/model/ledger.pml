/*
 * The ledger of grants on PostgreSQL: several nodes, a primary with a synchronous standby, and one failover at any time.
 * docs/evidence/model.md explains the model. scripts/test-model.ts runs it.
 *
 * Each atomic block is one statement of the store, or the moment of a response. Between two blocks anything may happen: the steps of other
 * requests, a failover, and also nothing any more, so every request may stop at every place.
 *
 * Each macro WITHOUT_… removes one rule. Each scene (SCENE_…) chooses the requests.
 */

/* The two servers. */
#define PRIMARY 0
#define STANDBY 1

/* The attempt id of a reserved row. */
#define RESERVED 0

/* The receipt of the wallet for the app. */
#define NONE 0
#define VALID 1
#define WITHDRAWN 2

/* In these scenes each redemption chooses whether it has one statement, as on one primary, or three, as on a cluster. */
#ifdef SCENE_CODE_IN_ONE
#define SCENE_CODE
#define IN_ONE_STATEMENT
#endif
#ifdef SCENE_SESSION_IN_ONE
#define SCENE_SESSION
#define IN_ONE_STATEMENT
#endif
#ifdef SCENE_RECEIPT_IN_ONE
#define SCENE_RECEIPT
#define IN_ONE_STATEMENT
#endif
#ifdef SCENE_HONEST_REDEEM_IN_ONE
#define SCENE_HONEST_REDEEM
#define IN_ONE_STATEMENT
#endif

#if defined(SCENE_DRAW) || defined(SCENE_RETURN)
#define HAS_DRAWS
#endif

/* How often a run has these faults. */
#ifndef CANCELLED_AT_MOST
#define CANCELLED_AT_MOST 1
#endif
#ifndef LOST_AT_MOST
#define LOST_AT_MOST 1
#endif

/*
 * What one server holds: the row of the grant, and the rows of its wallet, of its session, of its receipt, of one signed approval, and of its draws
 * with two keys.
 */
typedef Server {
  bit exists;
  byte attempt;
  byte generation;
  byte key;
  bit ended;
  byte codeEpoch;
  byte epoch;
  bit sessionEnded;
  byte receipt;
  /* the attempt that used the approval; 0 before */
  byte usedBy;
  /* in the row of the grant: the uses that count towards the limit */
  short used;
  /* for each key, the uses that counted after the draw, as the row of the draw stores them; 0 without a row */
  byte drawn[2];
  bit returned[2]
}

Server db[2];
byte cur = PRIMARY;
byte cancelled = 0;
byte lostResults = 0;

/* The redemptions that share the lock of the wallet on the present server. */
byte sharing = 0;

#define ROW db[cur]
#define IS_ACTIVE (ROW.exists && ROW.attempt != RESERVED && !ROW.ended)

/* The uses that the wallet signed. */
byte limit = 0;
#define CAN_DRAW (IS_ACTIVE && ROW.used < limit)
/* The requests 0 and 1 draw with one key, the request 2 with another one. */
#define KEY_OF(request) (request / 2)
/* The draws that were not given back. */
#define DRAWS ((ROW.drawn[0] != 0 && !ROW.returned[0]) + (ROW.drawn[1] != 0 && !ROW.returned[1]))

/* What clients have received. The model uses these variables for the properties, not for decisions. */
bit endingAcknowledged = 0;
bit appEndAcknowledged = 0;
bit sessionEndAcknowledged = 0;
bit receiptAcknowledged = 0;
byte redeemedBy = 0;
byte newest = 0;
byte successor[4];
byte successorKey[4];
bit mayHaveEnded = 0;
byte actedBy = 0;
/* for each key, the answer to its draw; 0 before */
byte answered[2];
bit returnAcknowledged[2];
/* for each request that draws, whether its key had no draw and the grant allowed none, both at one moment of the request */
bit mayRefuse[3];

/* The properties. Each becomes 1 when it is violated. */
bit fork = 0;
bit redeemed_twice = 0;
bit different_answer = 0;
bit active_after_ending = 0;
bit taken_back = 0;
bit ended_without_cause = 0;
bit acted_twice = 0;
bit overdrawn = 0;
bit drawn_twice = 0;
bit returned_twice = 0;

/*
 * With -DTRACE, a run ends with its history, which scripts/test-model.ts compares with the specification of one grant in
 * test/chaos/order. An event is the number of its process times 32, plus what happened.
 */
#define BEGIN_REDEEM 0
/* plus the token, 1 to 3 */
#define BEGIN_REFRESH 0
#define BEGIN_END 4
#define REFUSED_OR_DONE 5
#define SEEN_ACTIVE 6
#define SEEN_ENDED 7
#define GOT_TOKENS(generation, key) (8 + (generation - 1) * 4 + key % 4)
#ifdef TRACE
byte events[7];
byte eventCount = 0;
#endif

inline note(what) {
#ifdef TRACE
  events[eventCount] = _pid * 32 + what;
  eventCount++
#else
  skip
#endif
}

/* A request that is refused because the grant has ended acknowledges nothing: the ending may be on the primary alone. */
inline noteFoundEnded(what) {
#if CANCELLED_AT_MOST == 0
  note(what)
#else
  skip
#endif
}

inline violate(property) {
  property = 1;
  assert(!property)
}

/* Every state that clients can see is checked: any request may read it. */
inline check() {
  d_step {
  if
  :: endingAcknowledged && IS_ACTIVE ->
    if
    :: cur == STANDBY && db[PRIMARY].ended -> violate(taken_back)
    :: else -> violate(active_after_ending)
    fi
  :: appEndAcknowledged && ROW.receipt == VALID -> violate(active_after_ending)
  :: sessionEndAcknowledged && !ROW.sessionEnded -> violate(taken_back)
  :: receiptAcknowledged && ROW.receipt == NONE -> violate(taken_back)
  :: redeemedBy != 0 && !ROW.ended && (!ROW.exists || ROW.attempt == RESERVED) -> violate(taken_back)
  :: newest > 0 && !ROW.ended && ROW.generation < newest -> violate(taken_back)
  :: ROW.ended && !mayHaveEnded -> violate(ended_without_cause)
  :: actedBy != 0 && ROW.usedBy == 0 -> violate(taken_back)
  :: actedBy != 0 && ROW.usedBy != 0 && ROW.usedBy != actedBy -> violate(acted_twice)
  :: else -> skip
  fi;
#ifdef HAS_DRAWS
  checkDraws()
#endif
  }
}

inline checkDraws() {
  if
  :: ROW.used < DRAWS -> violate(returned_twice)
  :: ROW.used > DRAWS -> violate(drawn_twice)
  :: ROW.used > limit -> violate(overdrawn)
  :: answered[0] != 0 && ROW.drawn[0] == 0 -> violate(taken_back)
  :: answered[1] != 0 && ROW.drawn[1] == 0 -> violate(taken_back)
  :: returnAcknowledged[0] && !ROW.returned[0] -> violate(taken_back)
  :: returnAcknowledged[1] && !ROW.returned[1] -> violate(taken_back)
  :: else -> skip
  fi;
  noteCause(0);
  noteCause(1);
  noteCause(2)
}

/* Notes a moment at which the request may be refused. */
inline noteCause(request) {
  if
  :: !CAN_DRAW && ROW.drawn[KEY_OF(request)] == 0 -> mayRefuse[request] = 1
  :: else -> skip
  fi
}

inline replicate() {
  d_step {
  db[STANDBY].exists = db[PRIMARY].exists;
  db[STANDBY].attempt = db[PRIMARY].attempt;
  db[STANDBY].generation = db[PRIMARY].generation;
  db[STANDBY].key = db[PRIMARY].key;
  db[STANDBY].ended = db[PRIMARY].ended;
  db[STANDBY].codeEpoch = db[PRIMARY].codeEpoch;
  db[STANDBY].epoch = db[PRIMARY].epoch;
  db[STANDBY].sessionEnded = db[PRIMARY].sessionEnded;
  db[STANDBY].receipt = db[PRIMARY].receipt;
  db[STANDBY].usedBy = db[PRIMARY].usedBy;
  db[STANDBY].used = db[PRIMARY].used;
  db[STANDBY].drawn[0] = db[PRIMARY].drawn[0];
  db[STANDBY].drawn[1] = db[PRIMARY].drawn[1];
  db[STANDBY].returned[0] = db[PRIMARY].returned[0];
  db[STANDBY].returned[1] = db[PRIMARY].returned[1]
  }
}

/*
 * The end of a statement that changed a row. The standby has a commit, and every earlier one, before the primary shows it. `lost`: the node
 * gets no result, and repeats the statement.
 */
inline commit() {
  if
  :: cur == PRIMARY -> replicate(); lost = 0
  :: cur == STANDBY -> lost = 0
  /* The wait for the standby was cancelled: the commit is visible on the primary alone. */
  :: cur == PRIMARY && cancelled < CANCELLED_AT_MOST -> cancelled++; lost = 1
  /* The connection broke after the commit. */
  :: lostResults < LOST_AT_MOST -> lostResults++; lost = 1;
    if
    :: cur == PRIMARY -> replicate()
    :: else -> skip
    fi
  fi;
  check()
}

/* Makes durable what was found already done. `server` is the server on which it was found. On another server the request gets 503. */
inline confirm() {
  atomic {
    if
#ifndef WITHOUT_THE_SERVER_OF_A_CONFIRMATION
    :: server != cur -> goto stop
    :: server == cur ->
#else
    :: true ->
#endif
      if
      :: cur == PRIMARY -> replicate()
      :: else -> skip
      fi;
      check()
    fi
  }
}

/* A refresh with any token that a client has received. `me` is the attempt id, and also the key with which the node makes tokens. */
proctype Refresh(byte me) {
  byte token;
  byte generation;
  byte key;
  byte server;
  bit lost;
  atomic {
    if
    :: newest >= 1 -> token = 1
    :: newest >= 2 -> token = 2
    :: newest >= 3 -> token = 3
    fi;
#ifndef SCENE_HONEST
    mayHaveEnded = 1;
#endif
    note(BEGIN_REFRESH + token)
  };

rotate:
  atomic {
    if
#ifndef WITHOUT_THE_GENERATION_IN_THE_UPDATE
    :: IS_ACTIVE && ROW.generation == token && token < 3 ->
#else
    :: IS_ACTIVE && ROW.generation < 3 ->
#endif
      ROW.generation++;
      ROW.key = me;
      ROW.attempt = me;
      generation = ROW.generation;
      key = me;
      commit();
      if
      :: lost -> goto rotate
      :: else -> goto respond
      fi
    :: else -> skip
    fi
  };

  /* Why no row changed. */
  atomic {
    server = cur;
    generation = ROW.generation;
#ifndef WITHOUT_THE_STORED_ANSWER
    key = ROW.key;
#else
    key = me;
#endif
    if
    :: !IS_ACTIVE -> noteFoundEnded(REFUSED_OR_DONE); goto stop
    :: IS_ACTIVE && generation == token && token == 3 -> goto stop
    :: IS_ACTIVE && generation == token && token < 3 -> goto rotate
    :: IS_ACTIVE && generation < token -> goto stop
#ifndef WITHOUT_THE_ATTEMPT_ID
    :: IS_ACTIVE && generation == token + 1 && ROW.attempt == me -> skip
    :: IS_ACTIVE && generation == token + 1 && ROW.attempt != me ->
#else
    :: IS_ACTIVE && generation == token + 1 ->
#endif
      if
      /* within the retry window */
      :: true -> skip
      /* after the retry window */
      :: true -> goto replay
      fi
    :: IS_ACTIVE && generation > token + 1 -> goto replay
    fi
  };
#ifndef WITHOUT_CONFIRMING_A_REFRESH
  confirm();
#endif

respond:
  atomic {
    if
    :: successor[token] == 0 -> successor[token] = generation; successorKey[token] = key
    :: successor[token] != 0 && successor[token] != generation -> violate(fork)
    :: successor[token] == generation && successorKey[token] != key -> violate(different_answer)
    :: else -> skip
    fi;
    if
    :: generation > newest -> newest = generation
    :: else -> skip
    fi;
    check();
    note(GOT_TOKENS(generation, key));
    goto stop
  };

  /* One statement decides about the replay by the row as it is, and ends the grant. */
replay:
  atomic {
    if
    :: IS_ACTIVE && ROW.generation > token ->
#ifndef WITHOUT_ENDING_A_REPLAYED_GRANT
      ROW.ended = 1;
      commit();
      if
      :: lost -> goto rotate
      :: else -> skip
      fi;
#endif
      endingAcknowledged = 1;
      check();
      note(REFUSED_OR_DONE)
    :: else -> skip
    fi
  };
stop:
  skip
}

/* Ends one grant: a revocation, an operator, or the second use of a code. */
inline endGrant() {
  skip;
repeat:
  atomic {
    if
    :: ROW.exists && !ROW.ended ->
      ROW.ended = 1;
      commit();
      if
      :: lost -> goto repeat
      :: else -> endingAcknowledged = 1; check(); note(REFUSED_OR_DONE); goto stop
      fi
    :: else -> server = cur
    fi
  };
  /* No row changed. A second statement reads why. */
  atomic {
    if
    :: !ROW.exists -> goto stop
#ifndef WITHOUT_READING_THAT_IT_ENDED
    :: ROW.exists && !ROW.ended -> goto repeat
    :: ROW.exists && ROW.ended -> server = cur
#else
    :: ROW.exists -> server = cur
#endif
    fi
  };
#ifndef WITHOUT_CONFIRMING_AN_ENDING
  confirm();
#endif
  atomic {
    endingAcknowledged = 1;
    check();
    note(REFUSED_OR_DONE)
  }
}

/* An API uses an approval that the wallet has signed. `me` is the attempt. */
proctype Use(byte me) {
  byte server;
  bit lost;
  bit isLate;
  bit isAlive;
  bit hasChanged = 0;
  bit isRepeated;
  atomic { isLate = endingAcknowledged; isRepeated = (actedBy == me) };

  /* The statement reads the grant with the snapshot of its beginning, and the row of the approval after the wait for the lock of this row. */
use:
  atomic { server = cur; isAlive = IS_ACTIVE };
  atomic {
    if
    :: server != cur -> goto use
#ifdef WITHOUT_THE_GRANT_OF_A_USE
    :: server == cur && ROW.usedBy == 0 ->
#elif defined(WITHOUT_THE_CONDITION_OF_A_USE)
    :: server == cur && isAlive ->
#else
    :: server == cur && ROW.usedBy == 0 && isAlive ->
#endif
      ROW.usedBy = me;
      hasChanged = 1;
      commit();
      if
      :: lost -> goto use
      :: else -> goto respond
      fi
    :: else -> skip
    fi
  };

  /* Why no row changed. */
  atomic {
    server = cur;
    if
    :: ROW.usedBy == 0 && IS_ACTIVE -> goto use
    :: ROW.usedBy == 0 && !IS_ACTIVE -> goto refuse
#if defined(WITHOUT_THE_ATTEMPT_OF_A_USE)
    :: ROW.usedBy != 0 -> skip
#elif defined(WITHOUT_ANSWERING_A_REPEATED_USE)
    :: ROW.usedBy != 0 -> goto refuse
#elif defined(WITHOUT_THE_USE_BEFORE_THE_GRANT)
    :: ROW.usedBy != 0 && (ROW.usedBy != me || !IS_ACTIVE) -> goto refuse
    :: ROW.usedBy == me && IS_ACTIVE -> skip
#else
    :: ROW.usedBy != 0 && ROW.usedBy != me -> goto refuse
    :: ROW.usedBy == me -> skip
#endif
    fi
  };
#ifndef WITHOUT_CONFIRMING_A_USE
  confirm();
#endif

respond:
  atomic {
    if
    :: actedBy != 0 && actedBy != me -> violate(acted_twice)
    :: isLate && hasChanged -> violate(active_after_ending)
    :: else -> actedBy = me
    fi;
    check();
    goto stop
  };

  /* An attempt that got its answer before gets the same answer again, also after the end of the grant. */
refuse:
  atomic {
    if
    :: isRepeated -> violate(different_answer)
    :: else -> skip
    fi
  };
stop:
  skip
}

/* The condition of the update, on the row as it is after the wait for its lock. */
#if defined(WITHOUT_THE_LIMIT_IN_THE_UPDATE)
#define CAN_UPDATE IS_ACTIVE
#elif defined(WITHOUT_THE_GRANT_IN_THE_UPDATE)
#define CAN_UPDATE (ROW.used < limit)
#else
#define CAN_UPDATE CAN_DRAW
#endif

/* The snapshot of the statement decides whether the statement waits for the row of the grant. */
inline takeSnapshot() {
  server = cur;
  if
  :: CAN_DRAW && ROW.drawn[KEY_OF(me)] == 0 -> skip
  :: else -> goto read
  fi
}

inline refuseDraw() {
  if
  :: !mayRefuse[me] -> violate(different_answer)
  :: else -> mayRefuse[me] = 1
  fi;
  goto stop
}

/* An API draws one use. `me` is the request. */
proctype Draw(byte me) {
  byte server;
  byte answer = 0;
  bit lost;
  bit canDraw = 0;
  bit isDrawn = 0;
  atomic {
    mayRefuse[me] = 0;
    noteCause(me);
    if
    :: true -> takeSnapshot(); goto update
    /* The token is no longer valid. */
    :: true -> mayRefuse[me] = (ROW.drawn[KEY_OF(me)] == 0); server = cur; goto readAlone
    fi
  };

draw:
  atomic { takeSnapshot() };
update:
  /* The statement changes the row of the grant, inserts the row of the draw, and commits. The primary key undoes both. */
  atomic {
    if
    :: server != cur -> goto draw
    :: server == cur && !CAN_UPDATE -> skip
#ifndef WITHOUT_THE_KEY_OF_A_DRAW
    :: server == cur && CAN_UPDATE && ROW.drawn[KEY_OF(me)] != 0 ->
#ifdef WITHOUT_UNDOING_A_DUPLICATE
      ROW.used++;
      commit();
#endif
#ifdef WITHOUT_READING_AFTER_A_DUPLICATE
      answer = ROW.used + 1;
      goto found;
#endif
      skip
    :: server == cur && CAN_UPDATE && ROW.drawn[KEY_OF(me)] == 0 ->
#else
    :: server == cur && CAN_UPDATE ->
#endif
      if
      :: endingAcknowledged -> violate(active_after_ending)
      :: else -> skip
      fi;
      ROW.used++;
      ROW.drawn[KEY_OF(me)] = ROW.used;
      answer = ROW.used;
      commit();
      if
      :: lost -> goto draw
      :: else -> goto respond
      fi
    fi
  };

  /* Why no row changed. */
read:
  atomic {
    server = cur;
    canDraw = CAN_DRAW;
#ifdef WITHOUT_ONE_READ_OF_BOTH
  };
  atomic {
    server = cur;
#endif
    isDrawn = (ROW.drawn[KEY_OF(me)] != 0);
#ifndef WITHOUT_THE_STORED_VALUES
    answer = ROW.drawn[KEY_OF(me)];
#else
    answer = ROW.used;
#endif
    if
#ifndef WITHOUT_THE_DRAW_BEFORE_THE_GRANT
    :: isDrawn -> skip
    :: !isDrawn && !canDraw -> refuseDraw()
#else
    :: isDrawn && canDraw -> skip
    :: !canDraw -> refuseDraw()
#endif
    :: !isDrawn && canDraw -> goto draw
    fi
  };
found:
#ifndef WITHOUT_CONFIRMING_A_DRAW
  confirm();
#endif
  goto respond;

  /* A token that is no longer valid draws nothing, but the API may have drawn with the key before. */
readAlone:
  atomic {
    answer = ROW.drawn[KEY_OF(me)];
    if
#ifndef WITHOUT_THE_DRAW_BEFORE_THE_TOKEN
    :: answer == 0 -> mayRefuse[me] = 1; goto stop
    :: answer != 0 -> skip
#else
    :: true -> refuseDraw()
#endif
    fi
  };
#ifndef WITHOUT_CONFIRMING_A_DRAW_THAT_WAS_READ
  confirm();
#endif

respond:
  atomic {
    if
    :: answered[KEY_OF(me)] != 0 && answered[KEY_OF(me)] != answer -> violate(different_answer)
    :: else -> answered[KEY_OF(me)] = answer
    fi;
    mayRefuse[me] = 1;
    check()
  };
stop:
  skip
}

/* An API gives back a draw whose answer it has. */
proctype Return(byte key) {
  byte server;
  bit lost;
  atomic { answered[key] != 0 -> skip };
giveBack:
  atomic {
    if
#ifndef WITHOUT_THE_CONDITION_OF_A_RETURN
    :: ROW.drawn[key] != 0 && !ROW.returned[key] ->
#else
    :: ROW.drawn[key] != 0 ->
#endif
      ROW.returned[key] = 1;
      ROW.used--;
      commit();
      if
      :: lost -> goto giveBack
      :: else -> goto respond
      fi
    :: else -> skip
    fi
  };

  /* Why no row changed. */
  atomic {
    server = cur;
    if
    :: ROW.drawn[key] == 0 -> goto stop
    :: ROW.drawn[key] != 0 && !ROW.returned[key] -> goto giveBack
    :: ROW.drawn[key] != 0 && ROW.returned[key] -> skip
    fi
  };
#ifndef WITHOUT_CONFIRMING_A_RETURN
  confirm();
#endif
respond:
  atomic {
    returnAcknowledged[key] = 1;
    check()
  };
stop:
  skip
}

proctype EndGrant() {
  byte server;
  bit lost;
  atomic { mayHaveEnded = 1; note(BEGIN_END) };
  endGrant();
stop:
  skip
}

/* The redemption of the code. In the scene of the receipts, the request also authorizes: the code rests on the receipt. */
proctype Redeem(byte me) {
  byte codeEpoch = 0;
  byte epoch;
  bit sessionEnded;
  byte server;
  bit lost;
  bit isLate;

#ifdef SCENE_RECEIPT
#ifndef WITHOUT_READING_THE_EPOCH_BEFORE_THE_RECEIPT
  atomic { codeEpoch = ROW.epoch };
  atomic {
    if
    :: ROW.receipt == VALID -> skip
    :: else -> goto stop
    fi
  };
#else
  atomic {
    if
    :: ROW.receipt == VALID -> skip
    :: else -> goto stop
    fi
  };
  atomic { codeEpoch = ROW.epoch };
#endif
#endif
  atomic { isLate = sessionEndAcknowledged; note(BEGIN_REDEEM) };

#ifdef IN_ONE_STATEMENT
  if
  :: true -> skip
  :: true -> goto reserve
  fi;
once:
#ifdef WITHOUT_THE_SNAPSHOT_AFTER_THE_LOCK
  atomic { epoch = ROW.epoch; sessionEnded = ROW.sessionEnded };
#endif
  atomic {
    server = cur;
#ifndef WITHOUT_THE_LOCK_OF_A_REDEMPTION
    sharing++
#endif
  };
#ifndef WITHOUT_THE_SNAPSHOT_AFTER_THE_LOCK
  atomic { epoch = ROW.epoch; sessionEnded = ROW.sessionEnded };
#endif
  /* The commit. Until then no other statement sees the row. A server that was replaced commits nothing. */
  atomic {
    if
    :: server != cur -> goto stop
    :: server == cur && (ROW.exists || epoch != codeEpoch || sessionEnded) ->
#ifndef WITHOUT_THE_LOCK_OF_A_REDEMPTION
      sharing--;
#endif
      skip
    :: server == cur && !ROW.exists && epoch == codeEpoch && !sessionEnded ->
      ROW.exists = 1;
      ROW.attempt = me;
      ROW.key = me;
      ROW.generation = 1;
      ROW.codeEpoch = codeEpoch;
#ifndef WITHOUT_THE_LOCK_OF_A_REDEMPTION
      sharing--;
#endif
      commit();
      if
      :: lost -> goto once
      :: else -> goto respond
      fi
    fi
  };
#endif

#ifdef WITHOUT_READING_THE_EPOCH_AFTER_THE_RESERVATION
  atomic { epoch = ROW.epoch; sessionEnded = ROW.sessionEnded };
#endif
reserve:
  atomic {
    if
    :: !ROW.exists ->
      ROW.exists = 1;
      ROW.attempt = RESERVED;
      ROW.generation = 1;
      ROW.codeEpoch = codeEpoch;
      commit();
      if
      :: lost -> goto reserve
      :: else -> goto reserved
      fi
    :: else -> skip
    fi
  };

  /* The row exists already. */
  atomic {
    server = cur;
    if
    :: !ROW.exists -> goto stop
    :: ROW.exists && (ROW.ended || ROW.attempt != RESERVED) -> goto before
    :: ROW.exists && !ROW.ended && ROW.attempt == RESERVED -> skip
    fi
  };
#ifndef WITHOUT_CONFIRMING_A_RESERVED_ROW
  confirm();
#endif

reserved:
#ifndef WITHOUT_READING_THE_EPOCH_AFTER_THE_RESERVATION
  /* Two statements in any order: the session may be read first. */
  if
  :: atomic { epoch = ROW.epoch }; atomic { sessionEnded = ROW.sessionEnded }
  :: atomic { sessionEnded = ROW.sessionEnded }; atomic { epoch = ROW.epoch }
  fi;
#endif
  if
#ifndef WITHOUT_THE_SESSION_OF_A_CODE
  :: epoch != codeEpoch || sessionEnded -> goto refuse
  :: epoch == codeEpoch && !sessionEnded -> skip
#else
  :: epoch != codeEpoch -> goto refuse
  :: epoch == codeEpoch -> skip
#endif
  fi;

claim:
  atomic {
    if
#ifndef WITHOUT_THE_CONDITION_OF_A_CLAIM
    :: ROW.exists && ROW.attempt == RESERVED && !ROW.ended ->
#else
    :: ROW.exists && !ROW.ended ->
#endif
      ROW.attempt = me;
      ROW.key = me;
      commit();
      if
      :: lost -> goto claim
      :: else -> goto respond
      fi
    :: else -> skip
    fi
  };

  /* The row was claimed before, by this attempt or by another one, or it has ended. */
before:
  atomic {
    server = cur;
    if
    :: !ROW.exists -> goto stop
    /* Only on a server that was promoted since the claim: the request gets 503. */
#ifndef WITHOUT_READING_THAT_IT_WAS_CLAIMED
    :: ROW.exists && ROW.attempt == RESERVED && !ROW.ended -> goto stop
#else
    :: ROW.exists && ROW.attempt == RESERVED && !ROW.ended -> goto taken
#endif
#ifndef WITHOUT_THE_ATTEMPT_ID
    :: ROW.exists && ROW.attempt == me && !ROW.ended -> skip
    :: ROW.exists && (ROW.attempt != me && ROW.attempt != RESERVED || ROW.ended) -> goto taken
#else
    :: ROW.exists && (ROW.attempt != RESERVED || ROW.ended) -> goto taken
#endif
    fi
  };
#ifndef WITHOUT_CONFIRMING_A_REDEMPTION
  confirm();
#endif

respond:
  atomic {
    if
    :: redeemedBy != 0 && redeemedBy != me -> violate(redeemed_twice)
    :: isLate -> violate(active_after_ending)
    :: else -> skip
    fi;
    redeemedBy = me;
    if
    :: newest == 0 -> newest = 1
    :: else -> skip
    fi;
    check();
    note(GOT_TOKENS(1, me));
    goto stop
  };

  /* The wallet or the session of the code ended. */
refuse:
  atomic {
    if
    :: ROW.exists && !ROW.ended ->
      ROW.ended = 1;
      mayHaveEnded = 1;
      commit()
    :: else -> skip
    fi;
    noteFoundEnded(REFUSED_OR_DONE);
    goto stop
  };

taken:
#ifndef SCENE_HONEST
  mayHaveEnded = 1;
#endif
  endGrant();
stop:
  skip
}

/* A wallet signs a consent. The epoch of the proof is the one before every ending. */
proctype KeepReceipt() {
  byte server;
  bit lost;
  byte epoch = 0;

insert:
#ifdef WITHOUT_THE_LOCK_OF_THE_WALLET
  atomic { epoch = ROW.epoch };
  if
  :: epoch != 0 -> goto stop
  :: else -> skip
  fi;
#endif
  atomic {
    if
#ifdef WITHOUT_THE_EPOCH_OF_A_RECEIPT
    :: ROW.receipt == NONE ->
#elif defined(WITHOUT_THE_LOCK_OF_THE_WALLET)
    :: ROW.receipt == NONE ->
#else
    :: ROW.receipt == NONE && ROW.epoch == 0 ->
#endif
      ROW.receipt = VALID;
      commit();
      if
      :: lost -> goto insert
      :: else -> goto respond
      fi
    :: else -> skip
    fi
  };
  /* Stored before, by the same attempt. */
  atomic {
    server = cur;
    if
    :: ROW.receipt == VALID -> skip
    :: else -> goto stop
    fi
  };
  confirm();
respond:
#ifdef WITHOUT_THE_EPOCH_OF_A_RECEIPT
  /* The node compares the epoch after the insert. */
  atomic {
    if
    :: ROW.epoch != 0 && ROW.receipt == VALID -> ROW.receipt = WITHDRAWN; commit(); goto stop
    :: else -> skip
    fi
  };
#endif
  atomic {
    receiptAcknowledged = 1;
    check()
  };
stop:
  skip
}

inline raise() {
  lost = 1;
  do
  :: lost ->
    atomic {
      /* The statement waits for the lock. */
      sharing == 0;
      ROW.epoch++;
      raised = ROW.epoch;
      commit()
    }
  :: else -> break
  od
}

/* Reads the grants whose codes are older than the epoch, and ends them. */
inline endOlderGrants() {
  atomic {
    server = cur;
#ifndef WITHOUT_ENDING_RESERVED_ROWS
    wasFound = (ROW.exists && !ROW.ended && ROW.codeEpoch < raised)
#else
    wasFound = (IS_ACTIVE && ROW.codeEpoch < raised)
#endif
  };
  if
  :: wasFound ->
    lost = 1;
    do
    :: lost ->
      atomic {
        if
        :: ROW.exists && !ROW.ended -> ROW.ended = 1; commit()
        :: else -> lost = 0; wasFound = 0
        fi
      }
    :: else -> break
    od;
    if
    :: !wasFound -> confirm()
    :: else -> skip
    fi
  :: else -> skip
  fi
}

/* Withdraws the receipt (an app ends), or ends the session (everything ends). */
inline endWhatAllowsCodes() {
  atomic {
    server = cur;
#ifdef SCENE_RECEIPT
    wasFound = (ROW.receipt == VALID)
#else
    wasFound = !ROW.sessionEnded
#endif
  };
  if
  :: wasFound ->
    lost = 1;
    do
    :: lost ->
      atomic {
#ifdef SCENE_RECEIPT
        if
        :: ROW.receipt == VALID -> ROW.receipt = WITHDRAWN; commit()
        :: else -> lost = 0; wasFound = 0
        fi
#else
        if
        :: !ROW.sessionEnded -> ROW.sessionEnded = 1; commit()
        :: else -> lost = 0; wasFound = 0
        fi
#endif
      }
    :: else -> break
    od;
    if
    :: !wasFound -> confirm()
    :: else -> skip
    fi
  :: else -> skip
  fi
}

/* Ends an app (the scene of the receipts) or everything. */
proctype EndMany() {
  byte server;
  byte first;
  byte raised;
  bit lost;
  bit wasFound;
  atomic { mayHaveEnded = 1; note(BEGIN_END) };
  atomic { first = cur };
#ifdef WITHOUT_ENDING_GRANTS_LAST
  raised = 9;
  endOlderGrants();
#endif
#ifndef WITHOUT_THE_FIRST_RAISE
  raise();
#endif
  endWhatAllowsCodes();
#ifndef WITHOUT_THE_SECOND_RAISE
  raise();
#endif
#ifndef WITHOUT_ENDING_GRANTS_LAST
  endOlderGrants();
#endif
  server = first;
#ifndef WITHOUT_CONFIRMING_WHAT_WAS_READ
  confirm();
#endif
  atomic {
    endingAcknowledged = 1;
    appEndAcknowledged = 1;
    check();
    note(REFUSED_OR_DONE)
  };
stop:
  skip
}

/* Signs a browser out. */
proctype EndSession() {
  byte server;
  bit lost;
  atomic { server = cur };
repeat:
  atomic {
    if
    :: !ROW.sessionEnded ->
      ROW.sessionEnded = 1;
      commit();
      if
      :: lost -> goto repeat
      :: else -> goto respond
      fi
    :: else -> skip
    fi
  };
#ifndef WITHOUT_CONFIRMING_AN_ENDING
  confirm();
#endif
respond:
  atomic {
    sessionEndAcknowledged = 1;
    check()
  };
stop:
  skip
}

/* A client that has a token reads whether the grant is active. Without -DTRACE, check() takes the place of this request. */
proctype Introspect() {
  atomic {
    redeemedBy != 0 ->
    if
    :: IS_ACTIVE -> note(SEEN_ACTIVE)
    :: else -> noteFoundEnded(SEEN_ENDED)
    fi
  }
}

/* The standby is promoted. The old primary never returns. */
proctype Failover() {
  atomic {
    cur = STANDBY;
    sharing = 0;
    check()
  }
}

#ifdef SCENE_RESTORE
bit isInJournal = 0;

/* The same as EndGrant. The node also writes a line to a journal beside the database, unless the run of the node counts as finished. */
proctype EndGrantWithLine() {
  mayHaveEnded = 1;
  atomic {
    ROW.ended = 1;
    if
    :: true -> isInJournal = 1
    :: true -> skip
    fi;
    endingAcknowledged = 1;
    check()
  }
}

/* A backup is restored that is older than the ending. No request is answered until the command has finished. */
proctype Restore() {
  mayHaveEnded = 1;
  atomic {
#ifndef WITHOUT_ENDING_WHAT_WAS_RESTORED
    ROW.ended = 1;
#else
    ROW.ended = isInJournal;
#endif
    check()
  }
}
#endif

inline issue() {
  db[PRIMARY].exists = 1;
  db[PRIMARY].attempt = 9;
  db[PRIMARY].generation = 1;
  db[PRIMARY].key = 9;
  redeemedBy = 9;
  newest = 1
}

init {
  atomic {
#if defined(SCENE_REFRESH) || defined(SCENE_END) || defined(SCENE_END_MANY) || defined(SCENE_HONEST_REFRESH) || defined(SCENE_RESTORE) || defined(SCENE_USE) || defined(HAS_DRAWS)
    issue();
#endif
#ifdef HAS_DRAWS
    if
    :: limit = 1
    :: limit = 2
    fi;
    mayRefuse[0] = 1;
    mayRefuse[1] = 1;
    mayRefuse[2] = 1;
#endif
    replicate();
#if defined(SCENE_REFRESH)
    run Refresh(1);
    run Refresh(2);
    run Refresh(3);
#elif defined(SCENE_END)
    run Refresh(1);
    run EndGrant();
    run EndGrant();
#elif defined(SCENE_END_MANY)
    run Refresh(1);
    run EndGrant();
    run EndMany();
#elif defined(SCENE_USE)
    run Use(1);
    run Use(1);
    run Use(2);
    run EndGrant();
#elif defined(SCENE_DRAW)
    run Draw(0);
    run Draw(1);
    run Draw(2);
    run Return(0);
    run EndGrant();
#elif defined(SCENE_RETURN)
    run Draw(0);
    run Draw(2);
    run Return(0);
    run Return(0);
    run EndGrant();
#elif defined(SCENE_HONEST_REFRESH)
    run Refresh(1);
#elif defined(SCENE_HONEST_REDEEM)
    run Redeem(1);
#elif defined(SCENE_CODE)
    run Redeem(1);
    run Redeem(2);
    run EndMany();
#elif defined(SCENE_RESERVED)
    /* An earlier attempt reserved the row, and its wait for the standby was cancelled. */
    db[PRIMARY].exists = 1;
    db[PRIMARY].generation = 1;
    cancelled = CANCELLED_AT_MOST;
    run Redeem(1);
    run Redeem(2);
    run EndMany();
#elif defined(SCENE_SESSION)
    run Redeem(1);
    run EndSession();
    run EndSession();
#elif defined(SCENE_RECEIPT)
    run KeepReceipt();
    run Redeem(1);
    run EndMany();
#endif
#if defined(SCENE_RESTORE)
    run EndGrantWithLine();
    run Restore();
#else
    run Failover()
#endif
#ifdef TRACE
    ;
    run Introspect()
#endif
  }
#ifdef TRACE
  ;
  d_step {
    /* Spin leaves a variable out of the state if no condition reads it. */
    (_nr_pr == 1 || _nr_pr == 2 && redeemedBy == 0) && events[0] != 255 ->
    printf("history %d: %d %d %d %d %d %d %d\n", eventCount, events[0], events[1], events[2], events[3], events[4], events[5], events[6])
  }
#endif
}
