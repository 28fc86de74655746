P='/tmp/w/editor/'
def sub(f, *pairs):
    s=open(P+f).read()
    for a,b in pairs:
        if a not in s: print('!!',f,a[:80]); continue
        s=s.replace(a,b)
    open(P+f,'w').write(s)
C='src/admin/console/'
sub(C+'clients.ts',
 ("  listPages(console)\n  creation(console)\n  change(console)\n  secretRotation(console)\n  stopping(console)\n  endings(console)\n","  addListAndClient(console)\n  addRegistration(console)\n  addUpdate(console)\n  addSecretRotation(console)\n  addDisabling(console)\n  addJobs(console)\n"),
 ("function listPages(","function addListAndClient("),("function creation(","function addRegistration("),("function change(console","function addUpdate(console"),
 ("function secretRotation(","function addSecretRotation("),("/** Disabling and enabling. */\nfunction stopping(","/** Disabling and enabling a client. */\nfunction addDisabling("),
 ("/** Long work: deleting a client, and ending all its grants. */\nfunction endings(","/** The changes that start a job: deleting a client, and ending all its grants. */\nfunction addJobs("),
 ("/** The usual values apply to what was left empty. */\nfunction newMembers(","/** The members of the new client. A member whose field is empty is left out, so it has its default. */\nfunction newMembers("),
 ("function changesOf(client: ClientRecord, entered: Fields): Record<string, unknown> {\n  const members = enteredMembers(clientMembers, clientChangeWordings, entered)\n  return Object.fromEntries(changesBetween(client, members).map(({ name, after }) => [name, after]))\n}","function changesOf(client: ClientRecord, entered: Fields): Record<string, unknown> {\n  return enteredChanges(clientMembers, clientChangeWordings, { present: client, entered })\n}"),
 ("import { byKey, changesBetween, clientMembers }","import { byKey, clientMembers }"),
 ("import { enteredMembers, fieldsFor,","import { enteredChanges, enteredMembers, fieldsFor,"),
 ("faults: ['Every value is as it was.']","faults: ['No value was changed.']"),
 ("`It stops ${grants} until the client is enabled again: no sign-in, no refresh, and tokens are inactive at introspection. It ends 0 grants.`","`It stops ${grants} until the client is enabled again: users cannot sign in, refreshes are refused, and tokens are inactive at introspection. It ends 0 grants.`"),
)
sub(C+'resources.ts',
 ("  creation(console)\n  change(console)\n  removal(console)","  addRegistration(console)\n  addUpdate(console)\n  addDeletion(console)"),
 ("function creation(","function addRegistration("),("function change(console","function addUpdate(console"),("function removal(","function addDeletion("),
 ("function changesOf(resource: ResourceRecord, entered: Fields): Record<string, unknown> {\n  const members = enteredMembers(resourceMembers, resourceChangeWordings, entered)\n  return Object.fromEntries(changesBetween(resource, members).map(({ name, after }) => [name, after]))\n}","function changesOf(resource: ResourceRecord, entered: Fields): Record<string, unknown> {\n  return enteredChanges(resourceMembers, resourceChangeWordings, { present: resource, entered })\n}"),
 ("import { byKey, changesBetween, resourceMembers }","import { byKey, resourceMembers }"),
 ("import { enteredMembers, fieldsFor,","import { enteredChanges, enteredMembers, fieldsFor,"),
 ("'Every value is as it was.'","'No value was changed.'"),
)
sub(C+'record-form.ts',
 ("import type { Member, MemberTable } from","import { changesBetween, type Member, type MemberTable } from"),
 ("/** The members that were entered. Empty fields of a new record are left out, so the usual values apply. */","/** The members that the operator entered, with the empty ones. */"),
 ("export function withoutEmpty(","""/** The entered members that differ from the present record. */
export function enteredChanges(
  table: MemberTable,
  wordings: Wordings,
  { present, entered }: { present: Members; entered: Fields },
): Record<string, unknown> {
  const changes = changesBetween(present, enteredMembers(table, wordings, entered))
  return Object.fromEntries(changes.map(({ name, after }) => [name, after]))
}

/** Without the members whose fields are empty. A new record then has their defaults. */
export function withoutEmpty("""),
 ("parsedOr(text)","parseOrKeep(text)"),("function parsedOr(text: string)","function parseOrKeep(text: string)"),
 ("/** The text itself if it is no JSON: the API refuses the text with the name of the member. */","/** The JSON value. A text that is not JSON is returned unchanged: the API refuses the text and names the member. */"),
 ("/** A member for the question: its label and its value in one line. */","/** The members for the question: the label and the value of each in one line. */"),
 ("shownMembers(wordings: Wordings, members: Members): [string, string][] {\n  return Object.entries(members).map(([name, value]) => [wordings[name]?.label ?? name, shown(value)])","shownMembers(wordings: Wordings, members: Members): [string, string][] {\n  return Object.entries(members).map(([name, value]) => [wordings[name]?.label ?? name, inOneLine(value)])"),
 ("function shown(value: unknown): string {","function inOneLine(value: unknown): string {"),
 ("label: 'as usual'","label: 'default'"),
)
sub(C+'operators.ts',
 ("  addition(console)\n  change(console)\n  removal(console)","  addAddition(console)\n  addRoleChange(console)\n  addRemoval(console)"),
 ("function addition(","function addAddition("),("function change(console","function addRoleChange(console"),("function removal(","function addRemoval("),
 ("faults: ['The role is as it was.']","faults: ['The operator has this role already.']"))
sub(C+'keys.ts',("  retirement(console)\n","  addRetirement(console)\n"),("/** A key that is needed is retired only if it leaked. */\nfunction retirement(","/** For a key that is still needed, the question names the consequences, because such a key is retired only after a leak. */\nfunction addRetirement("))
sub(C+'wallets.ts',("  grantEnding(console)\n  walletEnding(console)\n  sessionEnding(console)","  addGrantEnding(console)\n  addWalletEnding(console)\n  addSessionEnding(console)"),
 ("function grantEnding(","function addGrantEnding("),("function walletEnding(","function addWalletEnding("),("function sessionEnding(","function addSessionEnding("),
 ("/** A number is how many grants ended. */","/** `done` is the number of grants that ended, or a key of `DONE`. */"),
 ("/** All grants of a wallet, or those at the client that the query names. */","/** Ends all grants of a wallet, or its grants at the client that the query names. */"))
sub(C+'overview.ts',("/** The page is shown without what the store or the role does not give. */","/** Empty if the store fails or the role may not read keys: the other parts of the page are shown anyway. */"))
sub(C+'console.ts',("/** What the pages of the console share: who visits, calls of the API, pages and changes. */","/** Defines the pages and the changes of the console. Both need an operator who is signed in. */"),
 ("/** Nothing is asked that would be refused. The operation itself checks again. */","/** Refuses before the form or the question is shown. The operation of the API checks the scope again. */"),
 ("`It needs the scope ${scope}.`","`This change needs the scope ${scope}.`"),
 ("/** What will happen, in numbers. `faults`: what the operator entered cannot be done. */","/** what will happen, in numbers; `faults` if the change that the operator entered is not possible */"),
 ("  /** what the operation of the API needs; without it, the operator gets a refusal in place of the question */","  /** the scope that the operation of the API needs; without this scope, the operator gets a refusal in place of the question */"))
sub(C+'form.ts',("'The form is of another session, or of another page. Open the page again and repeat the change.'","'The form belongs to another session or to another page. Open the page again and repeat the change.'"))
sub(C+'session.ts',("/** Reads the session of a request and notes that it was used. */","/** Reads the session of a request. If the cookie is older than a minute, a new one records the time of this use. */"),
 ("/** A sealed value of the console is shorter. */","/** In characters. The sealed values of the console are shorter. */"))
sub(C+'sign-in.ts',(" * Signing in to the console: the authorization code flow with PKCE (RFC 6749 §4.1, RFC 7636), like every app. The state and the code\n * verifier are in a sealed cookie, so an answer is accepted only in the browser that began, and once."," * Signing in to the console: the authorization code flow with PKCE (RFC 6749 §4.1, RFC 7636), as in every app. The state and the code\n * verifier are in a sealed cookie. So an authorization response is accepted once, and only in the browser that began the sign-in."),
 ("// The operator signs each time, also if an app has a session in this browser.","// The operator signs each time, even if the browser has a session."))
sub('src/pages/console/problem-page.ts',("'Nothing was changed. Your role, or what you allowed when you signed in, does not include it. An owner can do it, or give you another role.'","'Nothing was changed. Your role, or the scopes that you allowed when you signed in, do not include this action. An owner can carry it out, or give you another role.'"),
 ("may or may not have been made: look before you repeat it.","may or may not have been made: check before you repeat the change."))
sub('src/pages/console/key-page.ts',("A key is announced for a minute, then makes tokens until the next one takes over, then opens what it made until that has expired, and is retired. All of this happens by itself.","A new key is announced for a minute. Then it is in use until the next key takes over. After that, it only opens what it made. When everything that it made has expired, the key is retired. You need not do anything."))
sub('src/admin/README.md',("- `routes/`: one file per kind of record.","- `routes/`: one file for each kind of record, and one function for each operation, such as `addCreateClient` for `createClient`."))
