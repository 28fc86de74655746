P='/tmp/w/editor/'
def sub(f, *pairs):
    s=open(P+f).read()
    for a,b in pairs:
        if a not in s: print('!!',f,a[:80]); continue
        s=s.replace(a,b)
    open(P+f,'w').write(s)
D='src/cli/doctor/'
sub(D+'addresses.ts',
 ("  return reading(","  return checkAnswer("),("async function reading(url","async function checkAnswer(url"),
 ("'Check what changes the discovery document on its way.'","'Find the proxy that changes the discovery document, and let it forward responses unchanged.'"),
 ("/** The login page reads its challenge from the auth service. An unknown challenge is refused there, so the refusal shows the way. */","/** The auth service refuses an unknown challenge. So a refusal on the login page shows that the login server reaches the auth service. */"),
 ("/** The API of the login server is only for the login server, which has an address of its own for it. */","/** Only the login server calls this API. With GRANTOR_AUTH_BACKEND_URL it does not use the public URL, so the proxy should refuse the paths. */"),
 ("/** The metrics name no secrets, but they show the load and the state of the service. */","/** The metrics contain no secrets, but they show the load and the state of the service. */"))
s=open(P+D+'addresses.ts').read()
# the helper's doc
s=s.replace("async function checkAnswer(url","/** Calls the URL, and judges the answer unless the URL cannot be reached, redirects, or is answered by the proxy alone. */\nasync function checkAnswer(url")
open(P+D+'addresses.ts','w').write(s)
sub(D+'call.ts',("// Unknown once the connection is closed.","// Read now, because a closed connection has no port."))
sub(D+'certificates.ts',("...(await oldVersions(url))","...(await checkOldVersions(url))"),("async function oldVersions(","async function checkOldVersions("),
 ("/** Most certificates of ACME are renewed 30 days before their end. */","/** ACME clients usually renew certificates 30 days before they expire. */"),
 ("'Renew the certificate, and check what should have renewed it.'","'Renew the certificate, and check why it was not renewed automatically.'"),
 ("// The handshake continues with a certificate that is not accepted, so that the reason and the end can be read.","// The handshake completes even if the certificate is not accepted, so that the reason and the date of expiry can be read."))
sub(D+"databases.ts",("/** Each fault of one server, or what is right about it. */","/** The faults of one server, or one finding that the server is set up correctly. */"),
 ("  const real = faults.filter((fault) => fault !== false)\n","  const found = faults.filter((fault) => fault !== false)\n"),
 ("  return real.length > 0\n    ? real\n","  return found.length > 0\n    ? found\n"),
 ("keeps what it acknowledges, and has","keeps acknowledged changes, and has"),
 ("const OLDEST = 150_000","/** PostgreSQL 15. */\nconst OLDEST_VERSION = 150_000"),("facts.version < OLDEST &&","facts.version < OLDEST_VERSION &&"))
sub(D+'keys.ts',("/** A node rotates keys every minute. A day more means that no node does. */","/** Seconds. A node checks every minute whether a key must be replaced. If a key is a day late, no node does so. */"),
 ("/** Files that the settings name and that hold a secret. */","/** The files of secrets that the settings name. */"),
 ("  const shown = mode.toString(8).padStart(4, '0')\n","  const octal = mode.toString(8).padStart(4, '0')\n"),("(mode ${shown})","(mode ${octal})"))
sub(D+'machine.ts',("    descriptors(),","    checkDescriptors(),"),("function descriptors(): Found","function checkDescriptors(): Found"))
sub(D+'sqlite-file.ts',("[...permissions(path, folder), ...journal(path), ...fileSystem(folder)]","[...checkPermissions(path, folder), ...checkJournal(path), ...checkFileSystem(folder)]"),
 ("function permissions(","function checkPermissions("),("function journal(","function checkJournal("),("function fileSystem(","function checkFileSystem("),
 ("/** The file holds sealed keys, hashes of secrets and the wallets of all users. */","/** The file contains wrapped keys, hashes of secrets and the wallets of all users. */"))
sub(D+'proxies.ts',("clientAddress(server, probed, settings)]","judgeClientAddress(server, probed, settings)]"),("function clientAddress(","function judgeClientAddress("),
 ("`the way to ${NAMES[server]} could not be checked:","`the path to ${NAMES[server]} could not be checked:"),
 ("learns the client address from the proxy","gets the client address from the proxy"),
 ("// Another port than that of this command means a proxy, or an address translation, which no machine does with itself.","// The port differs from that of this command, so there is a proxy or an address translation. On loopback there is no address translation."))
sub(D+'probe.ts',("/** RFC 5737: an address that no client has. A proxy must not pass it on as the only address. */","/** An address that no client has (RFC 5737). A proxy must replace this address, or add the real one after it. */"))
sub(D+'check.ts',("/** A check of a running installation: what it found, and what to do. */","/** The types of a check and of its findings. */"),
 ("  /** The same probe for all checks of one server. */","  /** Sends the probe once for each server. All checks share the result. */"))
sub(D+'clocks.ts',("/** A node corrects smaller differences to the database. Tokens and proofs accept a few seconds. */","/** Seconds. A node corrects its difference to the database's clock, and tokens and proofs tolerate a few seconds. */"))
I='src/cli/init/'
sub(I+'checklist.ts',("    ...preparation(installation),","    ...prepareSteps(installation),"),("function preparation(","function prepareSteps("),
 ("    starting(installation, run),","    startStep(installation, run),"),("function starting(","function startStep("),
 ("[proxy(installation)]","[proxyStep(installation)]"),("function proxy(","function proxyStep("),
 ("  const run = runner(installation)","  const run = createRun(installation)"),("function runner(","function createRun("),
 ("/** How a command gets the settings of the services. */","/** Returns a function that writes a command so that it runs with the settings of the services. */"),
 ("    // The packages with containers migrate before they start.","    // Compose and Helm run the migration before the servers start."))
sub(I+'environment-file.ts',("/** How the servers will run: by hand or by a supervisor, with the units, with the Compose file, or with the chart of the package. */","/** How the servers will run: `files` by hand or by a supervisor, `systemd` with the units, `compose` with the Compose file, `kubernetes` with the chart. */"),
 ("/** Both URLs on this machine and without TLS: no proxy is necessary. */","/** Whether no proxy is necessary: both URLs are on this machine and without TLS. */"),
 ("${quoted(value)}","${quote(value)}"),("function quoted(","function quote("),
 ("    // The packages set the names of these files themselves. The environment file of systemd would override them.","    // The packages name these files themselves. In an environment file of systemd, the names would override those of the unit."),
 ("      // The Compose file has the other settings.","      // The other settings are in the Compose file."),
 ("/** The faults of these settings, in the words of the servers that will read them. */","/** The faults of these settings, as the servers would report them. */"))
sub(I+'new-files.ts',("/** Creates files that only their owner can read. All of them are new, or nothing is written. */","/** Creates files that only their owner can read. If one of the files exists, no file is written. */"),
 ("// Fails if the file exists, also if it is a symbolic link.","// `wx` fails if the path exists, even as a symbolic link."))
sub('src/cli/commands/init.ts',("'Asks for what is not given, if there is a terminal. Writes new files that only their owner can read:","'On a terminal, the command asks for the URLs that are not given. It writes new files that only their owner can read:"),
 ("/** The packages know the addresses of their proxies, or take them from --proxy. */","/** The Compose file and the chart have their own default for the proxies, and use other settings only from their own files. */"))
sub('src/cli/commands/apply.ts',("throw stopped(error, plan, done)","throw stopError(error, plan, done)"),("function stopped(error","function stopError(error"),
 ("/** What was done stays done, and a second run does the rest. */","/** The changes before the failed one stay. A second run makes the others. */"))
sub('src/cli/commands/webhooks-create.ts',("addressFault(url, options.data !== undefined)","addressFault(url, { isDevelopment: options.data !== undefined })"),("function addressFault(url: string, isDevelopment: boolean)","function addressFault(url: string, { isDevelopment }: { isDevelopment: boolean })"))
sub('src/cli/configuration/read-configuration.ts',(" * Reads the file of a configuration: YAML 1.2, of which JSON is a part. Everything that is not understood is a fault, with its line."," * Reads the file of a configuration: YAML 1.2, of which JSON is a subset. Everything that is not supported is a fault, with its line."),
 ("  // The file may come from someone else: its text must not control the terminal.","  // The file may be from another author, so its text must not control the terminal."),
 ("/** More faults do not help, and the first ones are often the cause of the others. */","/** The first faults are often the cause of the others. */"),
 ("    // The parser catches some of its own overflows.\n    if (problems.some","    // The parser reports some overflows of its recursion as errors, and throws others.\n    if (problems.some"),
 ("    // The parser is recursive.\n",""))
sub('src/cli/configuration/secrets-file.ts',("/** Where the secrets of new clients go: to a new file that only its owner can read, or to the terminal. */","/** Writes the secrets of new clients to a new file that only its owner can read. */"),
 ("      // A command that stopped before the first secret can be repeated with the same file.","      // An empty file is removed, so that the command can be repeated with the same name."))
N='src/domain/configuration/'
sub(N+'members.ts',("/** `id` and `disabledAt` are not compared as they are: see `clientMember`. */","/** In an entry, `disabledAt` is the flag `disabled`: see `membersOfClient`. */"))
for f in ('plan-clients.ts','plan-resources.ts'):
    sub(N+f,("changing(store, before, after)","planUpdate(store, before, after)"),("deleting(store, ","planDeletion(store, "),
     ("function creating(","function planCreation("),("function changing(","function planUpdate("),("function deleting(","function planDeletion("),
     ("...planned(","...describeChange("),("function planned(","function describeChange("))
sub(N+'plan-clients.ts',("        : creating(store, after,","        : planCreation(store, after,"),
  ("  // Read once, when the first client is created: for each client, it would take minutes.","  // The names are read once, when the first client is created. To read them for each client would take minutes."),
  ("    // Clients that another entry names by their id are not meant.","    // A client that another entry names by its id is not a namesake."))
sub(N+'plan-resources.ts',(": creating(store, after))",": planCreation(store, after))"))
sub(N+'plan-operators.ts',("setting(store, { id, role }, before)","planRole(store, { id, role }, before)"),("function setting(","function planRole("),
  ("removing(store, operator)","planRemoval(store, operator)"),("function removing(","function planRemoval("),("...planned(","...describeChange("),("function planned(","function describeChange("))
T='src/telemetry/'
sub(T+'bounded-export.ts',("/** The queue of finished spans. A collector that is away, slow or full costs spans, and neither memory nor requests. */","/** The queue of finished spans. If the collector is unavailable, slow or full, spans are dropped. Memory stays bounded, and requests do not wait. */"),
  ("  /** counts spans by what became of them */","  /** counts spans by their outcome */"))
sub(T+'open-tracing.ts',("/** A longer value would be no name and no word of ours. */","/** In characters. Attributes are names and words from closed sets, which are shorter. */"),
  ("    // The route's pattern, not the requested path: the caller chooses the path, which may contain anything.","    // The pattern of the route. The requested path may contain a secret."),
  ("        // The name of the class: a message could repeat what a caller sent.","        // Only the name of the class: a message could contain what a caller sent."))
sub(T+'traced-store.ts',("/** No calls of the database. */","/** These methods do not call the database. */"))
K='src/cli/compose/'
sub(K+'tracing.ts',("/** The settings have checked the form. */","/** `readSettings` has checked the syntax. */"))
sub(K+'traced-calls.ts',("/** Clients get no `traceparent`: they are other parties, and need not know which requests belong together. */","/** Requests to clients have no `traceparent`. It would show another party which requests belong together. */"),
  ("/** The calls to other parties, each with a span: the method or the host, and how the call failed. Never a path, which may hold a secret. */","/** Spans for the calls to clients and chains, with the method or the host, and the failure. No span has a path, because a path may contain a secret. */"))
sub(K+'background-tasks.ts',("  /** absent if the admin API is off: then no node of this installation has jobs */","  /** absent if the admin API is off, because only the admin API starts jobs */"))
sub('src/cli/README.md',("- [clients](clients): what the `clients` commands share\n- [resources](resources): what the `resources` commands share\n","- [clients](clients), [resources](resources), [operators](operators), [webhooks](webhooks): what the commands of each group share\n- [configuration](configuration): what `apply` and `export` share\n- [init](init), [doctor](doctor): the parts of these two commands\n"))
sub('src/domain/operators/README.md',("- `roles.ts`:","- `authorize-operator.ts`: authorizes a call of the admin API.\n- `roles.ts`:"))
sub('src/domain/operators/authorize-operator.ts',(" * Who calls the admin API, and whether the call is allowed.\n *\n * The token names a wallet or a client, and the list of operators gives its role. The list is read for each request, so a removed operator\n * loses access with the next request. A scope counts only if both the token and the role have it."," * Authorizes a call of the admin API.\n *\n * The token names a wallet or a client, and the list of operators has its role. The list is read for each request, so a removed operator\n * loses access with the next request. A scope is granted only if both the token and the role have it."),
  ("unless the token's operator may do what needs this scope. */","unless the operator of the token has this scope. */"))
sub('src/domain/operators/jobs.ts',("/** No more jobs may be under way: an operator who needs more should disable the clients first. */","/** An operator who has to end the grants of more clients at once can disable these clients first. */"),
  ("/** Jobs that are done are kept until this many newer ones exist. */","/** The list keeps this many jobs. Then each new job replaces the oldest one that is done. */"),
  ("      // The progress, about once a second.\n","      // The progress is stored about once a second.\n"),
  ("const left = await noteProgress","const stored = await noteProgress"),("if (left && done !== null) note(left)","if (stored && done !== null) note(stored)"),
  (" * Returns a function that does all jobs that are under way, one after the other."," * Returns a function that carries out all jobs that are under way, one after the other."))
