P='/tmp/w/editor/'
def sub(f, *pairs):
    s=open(P+f).read()
    for a,b in pairs:
        if a not in s: print('!!',f,a[:80]); continue
        s=s.replace(a,b)
    open(P+f,'w').write(s)
import re
A='src/domain/audit/'
f=A+'operator-acts.ts'; s=open(P+f).read()
i=s.index('export type OperatorAct = {'); j=s.index('/** Writes one entry')
s=s[:i]+'''/** `operator`: a wallet or a client id of the admin API, or `cli:NAME`. */
export type OperatorAct = NewEntry & { event: OperatorEvent; operator: string }

'''+s[j:]
k=s.index('\n/** Call this after the change. If it throws')
s=s[:k]
s=s.replace("import type { Address } from '../../wallet/address.ts'\nimport { type AuditEntry, newEntry } from './entry.ts'","import type { AuditEntry, NewEntry } from './entry.ts'")
open(P+f,'w').write(s)
sub(A+'entry.ts',
 ("  /** the operator who acted: a wallet or a client of the admin API, or `cli:NAME` */","  /** the operator who acted: a wallet or a client id of the admin API, or `cli:NAME` */"),
 ("  /** further facts, such as how many grants ended */\n","  /** further facts, such as how many grants ended; never a secret */\n"),
 ("export type NewEntry =","/** `result` is `done` unless given. */\nexport type NewEntry ="),
 ("/** Without control characters, which not every database can store. */","/** Shortens the text, and replaces control characters, which not every database can store. */"),
 ("/** No value of a line is longer. Only a URI of a resource or of a client's document can be nearly as long. */","/** In characters. Longer values are cut. Only the URI of a resource or of a client's document can be nearly as long. */"))
sub('src/cli/compose/record-act.ts',
 ("import { type OperatorAct, recordOperatorAct } from '../../domain/audit/operator-acts.ts'","import { newEntry } from '../../domain/audit/entry.ts'\nimport type { OperatorAct } from '../../domain/audit/operator-acts.ts'"),
 ('''    await recordOperatorAct((entry) => appendEntry(store.audit, entry), {
      ...act,
      operator: `cli:${userName()}`,
      details: { ...act.details, ...sudo },
    })
''','''    const details = { ...act.details, ...sudo }
    await appendEntry(store.audit, newEntry({ ...act, operator: `cli:${userName()}`, details }))
'''),
 ("// `sudo` sets the variable to the user who ran it. The user could also set it, so it does not replace the name.","// `sudo` sets SUDO_USER to the user who ran `sudo`. A user can also set this variable, so its value is only a detail of the line."),
 ("/** Records what a command did in the audit trail, with the name of the operating system's user. */","/** Records the act of a command in the audit trail, with the name of the operating system's user. */"))
sub('test/domain/audit/trail.test.ts',("import { recordOperatorAct } from '../../../src/domain/audit/operator-acts.ts'\n",""),
 ('''  await recordOperatorAct(trail.record, {
    event: 'client_deleted',
    operator,
    at: NOW,
    clientId: 'c',
    wallet: operator,
    network: '203.0.113',
    requestId: 'r',
    details: { grants: 7 },
  })
''','''  await trail.record(
    newEntry({
      event: 'client_deleted',
      operator,
      at: NOW,
      clientId: 'c',
      wallet: operator,
      network: '203.0.113',
      requestId: 'r',
      details: { grants: 7 },
    }),
  )
'''))
open(P+A+'verify-store.ts','w').write('''/** Checks the chain of a store. The search columns of each line are compared with its text, which is what the hash covers. */
import type { AuditStore } from '../model/audit-store.ts'
import { linePages } from './export.ts'
import { type ChainFault, type ChainReport, columnsAgree, type VerifyOptions, verifyChain } from './verify.ts'

type StoreOptions = Omit<VerifyOptions, 'pages'> & {
  /** the check begins with the line after this number; 0 unless given */
  after?: number
}

export async function verifyStore(store: AuditStore, { after = 0, ...options }: StoreOptions): Promise<ChainReport> {
  let wrongColumn: ChainFault | null = null
  async function* pages() {
    for await (const page of linePages(store, after)) {
      const wrong = page.find((line) => !columnsAgree(line))
      if (wrong) wrongColumn ??= { seq: wrong.seq, kind: 'changed' }
      yield page
    }
  }
  const report = await verifyChain({ ...options, pages: pages() })
  return { ...report, fault: earlierOf(wrongColumn, report.fault) }
}

function earlierOf(one: ChainFault | null, other: ChainFault | null): ChainFault | null {
  return one && (!other || one.seq < other.seq) ? one : other
}
''')
sub(A+'signed-heads.ts',
 ("    const report = await verifyChain({ pages: checkedPages(after), findKey, heads, mayBePart: from !== null })\n","    const report = await verifyStore(store, { after, findKey, heads, mayBePart: from !== null })\n"),
 ("    return report.fault ?? wrongColumn\n","    return report.fault\n"),
 ('''  let wrongColumn: ChainFault | null = null
  async function* checkedPages(after: number) {
    wrongColumn = null
    for await (const page of linePages(store, after)) {
      const wrong = page.find((line) => !columnsAgree(line))
      if (wrong) wrongColumn ??= { seq: wrong.seq, kind: 'changed' }
      yield page
    }
  }

''',''),
 ("import { linePages } from './export.ts'\n",""),
 ("import { type ChainFault, columnsAgree, fieldsOf, verifyChain } from './verify.ts'","import { type ChainFault, fieldsOf } from './verify.ts'\nimport { verifyStore } from './verify-store.ts'"),
 (" * Before that, the node checks the chain from the last head that it remembers. So while a node runs, a change of older lines is found within\n * the hour, although whoever changed them could compute all hashes again: a node does not sign a chain that contradicts its memory."," * Before each signature, the node checks the chain from the last head that it has in memory. So a running node finds a change of older lines\n * within the hour, even if an attacker computed all hashes again: the node does not sign a chain that contradicts this head."),
 ("/** The line that the last signed head names; null if there is none, or if its key is not known any more. */","/** The line that the last signed head names; null without a signed head, or if the key of the signature was deleted. */"),
 ("  /** the last line that this process has checked */\n  let checked: AuditHead | null = null\n","  /** the last line that this process has checked */\n  let checked: AuditHead | null = null\n  /** the line of the fault that was reported last, so that each fault is reported once */\n"))
sub('src/cli/commands/audit-verify.ts',
 ('''    let wrongColumn: ChainFault | null = null
    async function* pages() {
      for await (const page of linePages(store.audit, 0)) {
        const wrong = page.find((line) => !columnsAgree(line))
        if (wrong) wrongColumn ??= { seq: wrong.seq, kind: 'changed' }
        yield page
      }
    }
    const present = head.seq === 0 ? [] : [head]
    const report = await verifyChain({ pages: pages(), findKey: (id) => ring.verifier(id), heads: [...present, ...heads] })
    return { ...report, fault: firstOf(wrongColumn, report.fault) }
  })
}

function firstOf(one: ChainFault | null, other: ChainFault | null): ChainFault | null {
  return one && (!other || one.seq < other.seq) ? one : other
}
''','''    const present = head.seq === 0 ? [] : [head]
    return verifyStore(store.audit, { findKey: (id) => ring.verifier(id), heads: [...present, ...heads] })
  })
}
'''),
 ("async function verifyStore(environment","async function verifyDatabase(environment"),("? await verifyStore(environment","? await verifyDatabase(environment"),
 ("import { linePages, parseExportedLine }","import { parseExportedLine }"),
 ("import { type ChainedLine, type ChainFault, type ChainReport, columnsAgree, verifyChain } from '../../domain/audit/verify.ts'","import { type ChainedLine, type ChainFault, type ChainReport, verifyChain } from '../../domain/audit/verify.ts'\nimport { verifyStore } from '../../domain/audit/verify-store.ts'"),
 ("    // Read first: lines that are appended meanwhile come after it.\n","    // The head is read before the lines, so that it names a line that the check reaches.\n"),
 ("of keys that are not known any more.`","of keys that were deleted.`"))
sub(A+'verify.ts',
 (" * Whoever can change the tables can also compute the hashes again. So the chain is also compared with the signed heads in it, and with heads\n * that were noted elsewhere."," * An attacker who can change the tables can also compute the hashes again. So the chain is also compared with the signed heads in it, and with\n * heads that an operator noted elsewhere."),
 ("/** signed heads whose keys are not known any more */","/** the number of signed heads whose keys were deleted */"),
 ("  const check = new ChainCheck(findKey, heads, mayBePart)\n","  const check = new ChainCheck({ findKey, heads, mayBePart })\n"),
 ("  constructor(findKey: FindKey, heads: readonly AuditHead[], mayBePart: boolean) {","  constructor({ findKey, heads, mayBePart }: Required<Omit<VerifyOptions, 'pages'>>) {"),
 ("const isChained = isFirst && line.seq > 1 ? true : hashOfLine(report.last.hash, line.line) === line.hash","// The hash of the line before the first one is unknown, unless the chain begins with line 1.\n    const isChained = (isFirst && line.seq > 1) || hashOfLine(report.last.hash, line.line) === line.hash"))
sub(A+'retention.ts',
 (" * Deletes old lines, once a day. Before that, a line of the trail names the last line that is deleted and its hash. So the chain can be checked\n * from the first remaining line, and a deletion by age differs from a removal."," * Deletes old lines, once a day. First, a new line of the trail names the last line that will be deleted, and its hash. So the chain can be\n * checked from the first remaining line, and a deletion by age differs from a removal by an attacker."),
 ("/** The last line before the first line that is young enough; null if the first line is. Lines are nearly in the order of their times. */","/** The last line that is older than `before`, by binary search; null if no line is. Lines are nearly in the order of their times. */"),
 ("/** Returns a function that deletes what is old enough. Call the function every minute. */","/** Returns a function that deletes the lines that are too old. Call the function every minute. */"),
 ("// An earlier deletion was interrupted.","// An interrupted deletion is continued without a second line."))
sub(A+'chain.ts',
 ("/** the lines whose append may have succeeded although the call did not say so */","/** the lines of an append whose outcome is unknown */"),
 ("Throws if the store fails, or if other processes were faster at every attempt.","Throws if the store fails, or if other processes appended first at every attempt."))
sub(A+'recorded-events.ts',
 (" * Sign-ins, consents and endings. Not recorded are requests for tokens, which are metrics, and whatever a caller can cause who has proved\n * neither a wallet nor a client: such a caller could fill the database."," * Sign-ins, consents and endings. Requests for tokens are not recorded, because metrics count them. Events that a caller can cause without a\n * proof of a wallet or a client are not recorded either: such a caller could fill the database."))
sub(A+'webhooks.ts',
 (" * Sends the lines of the trail to the webhook endpoints, each line after the one before, by one node at a time."," * Sends the lines of the trail to the webhook endpoints, in order. One node at a time delivers to an endpoint."),
 (" * A line that fails stops the lines after it, so the order holds also for each grant. Attempts go on for a day, less and less often. Then the\n * endpoint is paused until an operator resumes it. No line is lost meanwhile: the endpoint's cursor stays."," * A line that fails stops the lines after it, so the lines of each grant arrive in order too. Attempts continue for a day, with growing\n * intervals. Then the endpoint is paused until an operator resumes it. No line is lost meanwhile, because the endpoint's cursor stays."),
 ("/** Starts what is due, and returns.","/** Starts the deliveries that are due, and returns."),
 ("  /** Starts nothing more. An attempt that takes longer than three seconds from now may arrive, and is repeated by the next process. */","  /**\n   * Starts no further deliveries, and waits at most three seconds for the attempts under way. The next process repeats an attempt that takes\n   * longer, although its message may have arrived.\n   */"),
 ("/** An endpoint that hangs delays only itself. */","/** Each endpoint has its own run, so an endpoint that hangs delays no other endpoint. */"),
 ("class Run {","class DeliveryRun {"),("new Run(delivery","new DeliveryRun(delivery"))
sub(A+'webhook-message.ts',("/** As the receiver's library takes it. */","/** The secret in the form that the libraries of Standard Webhooks accept. */"),("/** The bytes of a new secret: 24 to 64 are allowed. */","/** A new secret. Standard Webhooks allows 24 to 64 bytes. */"))
sub(A+'search.ts',("/** At most `limit` lines, page by page. A page is read when the page before was consumed. */","/** At most `limit` lines, page by page. The next page is read when the consumer asks for it. */"))
sub(A+'README.md',("- checking a chain (`verify.ts`), and reading it page by page (`search.ts`, `export.ts`);","- checking a chain (`verify.ts`, and `verify-store.ts` for the chain of a store), and reading it page by page (`search.ts`, `export.ts`);"),
 ("The audit trail: what is recorded, in which order, and how a change of the record is found.","The audit trail: what is recorded, in which order, and how a changed line is found."))
