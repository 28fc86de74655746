P='/tmp/w/editor/'
def sub(f, *pairs):
    s=open(P+f).read()
    for a,b in pairs:
        if a not in s: print('!!',f,a[:80]); continue
        s=s.replace(a,b)
    open(P+f,'w').write(s)
sub('docs/guides/mcp.md',
 ("The first quarter of an hour for the owner of an API, or of an MCP server, whose callers sign in with a wallet. [builders.md](builders.md)\nis for the apps that call it.","For the owner of an API or an MCP server whose callers sign in with a wallet. The steps take about a quarter of an hour. [builders.md](builders.md)\nis for the apps that call your API."),
 ("Your API is a resource server: it accepts access tokens that Grantor issued, and issues none itself. `grantor/resource` checks the tokens,\ntells clients where to sign in (RFC 9728), and asks them for more when an operation needs more. It needs no framework. Small adapters fit\nit to Fastify, Express, Hono, Next.js and the MCP SDK.","Your API is a resource server: it accepts access tokens that Grantor issued, and issues none itself. `grantor/resource` checks the tokens.\nIt publishes the metadata from which clients find the sign-in (RFC 9728). It refuses a call whose token is not sufficient, and names in the\nresponse what is missing. `grantor/resource` needs no framework. It has adapters for Fastify, Express, Hono, Next.js and the MCP SDK."),
 ("## Look at one that runs","## Try the example"),
 ("The document names the authorization server. From there, a client finds everything else by itself.","The document names the authorization server, whose metadata name everything else."),
 ("If your code already uses the SDK's `requireBearerAuth`, give it our verifier:","If your code already uses the SDK's `requireBearerAuth`, pass Grantor's verifier to it:"),
 ("Both checks read the claims `auth_time` and `acr` of the token (RFC 9068 §2.2.1). Grantor's access tokens do not have these claims yet, so\nsuch a call is refused with every token of Grantor.","Both checks read the claims `auth_time` and `acr` of the token (RFC 9068 §2.2.1), which Grantor's access tokens have. `acr` is\n`urn:grantor:acr:signature`, or `urn:grantor:acr:vouched` if the platform's login server vouched for the wallet."),
 ("MCP clients usually have never heard of your server. They can sign users in without a registration, if the operator of Grantor allows it\nand opens your resource to them:","Most MCP clients are not registered for your server. They can sign users in without a registration, if the operator of Grantor allows this\nand opens your resource to such clients:"),
 ("2. The registry says which resources such clients may request, and with which scopes. A client that is not registered may request these\n   resources and no others:","2. The registry lists the resources that such clients may request, with their scopes. A client that is not registered may request no other\n   resources:"),
 ("The login page and the signed text name the host of the metadata document first, because only\nthis host is proved. The name of the client is what the client calls itself. Users should read the host, as they do with a link.","The login page and the signed text name the host of the metadata document first, because only\nthis host is proved. The client chooses its own name. Users should read the host, as they do with a link."),
 ("| a client that you know | the id that you gave it | | `grantor clients create` as above |","| a client that you registered | its client id | | `grantor clients create` as above |"))
sub('docs/guides/devices.md',
 ("The text that the wallet signs then names this key, and nobody else can use the\ndevice code.","The text that the wallet signs then names this key, and no other device can use\nthe device code."),
 ("The page, the\nlogin page and the signed text show the code and say where the access goes. Help your users:","The page, the\nlogin page and the signed text show the code, and warn that the access goes to the device that shows this code. Help your users:"),
 ("## What the user must be warned of","## Warn your users"))
sub('docs/operating/audit.md',
 ("It is in the database, so it can be searched from any\nmachine that can run `grantor`, and it shows if somebody changed it. Why it works as it does is in\n[decision 0034](../decisions/0034-the-audit-trail.md).","The trail is in the database, so any\nmachine that can run `grantor` can search it. Changes of the trail can be found. [Decision 0034](../decisions/0034-the-audit-trail.md) has the\nreasons for its design."),
 ("## What is in it","## What the trail contains"),("## Search it","## Search the trail"),("## Copy it elsewhere","## Copy the trail to another machine"),
 ("## Send it to your servers","## Send lines to your servers"),("## Check it","## Check the trail"),("## Watch it","## Alarms"),("## How long it is kept","## How long lines are kept"),
 ("Each line has a number (`seq`), a time (`at`, in epoch seconds), the event, the result (`done` or `refused`), and what applies of the reason, the\noperator,","Each line has a number (`seq`), a time (`at`, in epoch seconds), the event and the result (`done` or `refused`). If they apply, it also has the reason, the\noperator,"),
 ("`--wallet` takes the whole address, which the database keeps for this purpose. It is in no output.","`--wallet` takes the whole address. The database keeps whole addresses for this purpose only: no output contains one."),
 ("A line never changes, so parts\ncan be put together.","A line never changes, so you can\nput parts together."),
 ("give them to the next check with `--head`: then nothing before that line can be removed or changed without being found.","give them to the next check with `--head`. That check finds every later change or removal of a line up to this one."))
sub('docs/operating/console.md',
 ('''Set `GRANTOR_ADMIN_URL` and `GRANTOR_ADMIN_LISTEN` for `grantor serve` ([admin-api.md](admin-api.md#turn-it-on)), and let the first owner in:

```sh
grantor operators add 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 --role owner
```

The console is at `{admin_url}/console`. Keep this address away from the internet if you can: a VPN or an allow list in the proxy. It is on
a listener of its own (`GRANTOR_ADMIN_LISTEN`), and the address of the auth service serves nothing of it. A proxy in
front must pass `Origin` on unchanged.
''','''Turn on the admin API and name the first owner: [admin-api.md](admin-api.md#turn-it-on). The console is then at `{admin_url}/console`. If you
can, keep this address away from the internet, with a VPN or an allow list in the proxy. The proxy must forward `Origin` unchanged.
'''),
 ('''| role | sees | changes |
|---|---|---|
| owner | everything | everything |
| operator | everything | everything except operators, clients of the admin API, and clients that are operators |
| auditor | everything | nothing; the pages have no buttons |
''','''Every role sees all pages. An auditor sees no buttons for changes. [Roles and scopes](admin-api.md#roles-and-scopes) lists what each role may
change.
'''),
 ("## Every change is asked once","## Confirm a change"),
 ("The question names what will happen, in numbers. If","Every change needs one confirmation. The question names what will happen, in numbers. If"),
 ("Why it works as it does is in [decision 0041](../decisions/0041-the-console.md).","[Decision 0041](../decisions/0041-the-console.md) has the reasons."),
 ("Signing out ends the grant of the session, so a copy of the cookie is worth nothing.","Signing out ends the grant of the session, so a copy of the cookie gives no access."),
 ("A search for a name stops after 50,000 clients, and says so.","A search for a name stops after 50,000 clients, with a message."),
 ("A job goes on if you leave the page, and if the process ends: another one continues it. The\npage refreshes itself, also without script.","A job continues if you leave the page. If its process ends, another one continues the\njob. The page refreshes itself, also without script."),
 ("| It was changed meanwhile | another operator was faster | open the page again |","| It was changed meanwhile | the record was changed after you opened the page | open the page again |"))
sub('docs/operating/admin-api.md',("The API does\nwhat the commands do, and calls the same functions. [admin-openapi.json](../reference/admin-openapi.json) describes every operation. Why the\nAPI works as it does is in [decision 0040](../decisions/0040-the-admin-api.md).","The API does\nwhat the commands do, and calls the same functions. [admin-openapi.json](../reference/admin-openapi.json) describes every operation.\n[Decision 0040](../decisions/0040-the-admin-api.md) has the reasons."),
 ("A request needs the scope in its access token and in the role of its operator. Only owners","A request is accepted if both the access token and the role of the operator have the scope. Only owners"))
sub('docs/operating/install.md',("Nothing is downloaded but npm packages: the image has no base image.","The image has no base image. The build downloads npm packages only."))
sub('docs/operating/production.md',("Nodes do not talk to each other, so there is no cache traffic to protect.","Nodes do not communicate with each other, so there is no cache traffic to protect."),
 ("The issuer, the links and the signed texts contain these, whatever `Host` a request has. | There is no mode that trusts the `Host` of a request.","The issuer, the links and the signed texts contain these. | The `Host` of a request is never used."),
 ("Any number beside one PostgreSQL, and no more than the setting that all have the same secret.","Any number on one PostgreSQL database. All nodes have the same settings and secrets."),
 ("One by one, if `grantor migrate --status` says so.","Server by server without an interruption, if `grantor migrate --status` allows it."),
 ("Complete, or an earlier state: the difference decides whether `grantor migrate --restored` is needed.","A backup is complete or an earlier state. After an earlier state, `grantor migrate --restored` is needed."))
sub('docs/operating/init-and-doctor.md',("If the login server is your own program, this check, its clock and `login URL` report what they cannot find.","If the login server is your own program, ignore the findings of `login URL` and `login to auth`, and those of `proxies` and `clocks` for\n`grantor login-server`: these checks expect Grantor's own login server."),
 ("| `WARNING` | works now; look at it |","| `WARNING` | works now, but may fail later |"))
sub('docs/operating/operations.md',("  # The login server's own door to the auth service; it comes through GRANTOR_AUTH_BACKEND_URL, never from outside.","  # Only the login server calls these paths, at GRANTOR_AUTH_BACKEND_URL."),
 ("or if apps that nobody\nregistered may use it:","or if unregistered\napps may use it:"))
sub('docs/operating/upgrade.md',("For operators who install a newer version. How the packages are updated (systemd, Compose, Helm, the image) is in\n[install.md](install.md#updates). What changed, and what to do before an update, is in the [changelog](../../CHANGELOG.md). On one machine with SQLite:","For operators who install a newer version. Read the [changelog](../../CHANGELOG.md) first: it lists what changed, and what to do before an update.\n[install.md](install.md#updates) describes updates of the image, of Compose and of Helm. On one machine with systemd and SQLite:"))
sub('README.md',("| `grantor clients`, `grants`, `keys` | the operator's commands |","| `grantor clients`, `resources`, `grants`, `keys`, `operators` | show and change what the database holds |\n| `grantor audit`, `webhooks` | search, check and forward the audit trail ([docs/operating/audit.md](docs/operating/audit.md)) |"),
 ("| `grantor doctor` | checks a running installation, and says what to do (","| `grantor doctor` | checks a running installation, and prints what to do ("),
 ("[docs/operating/install.md](docs/operating/install.md) installs them with systemd, Docker Compose or Helm. Every command has `--help`.\n[docs/operating/operations.md](docs/operating/operations.md) describes proxies, systemd, workers, updates without an\noutage, health checks, metrics, logs, keys and backups.","[docs/operating/install.md](docs/operating/install.md) installs both programs with systemd, Docker Compose or Helm.\n[docs/operating/operations.md](docs/operating/operations.md) describes proxies, PostgreSQL, workers, health checks, logs and keys.\n[upgrade.md](docs/operating/upgrade.md), [recover.md](docs/operating/recover.md) and [watch.md](docs/operating/watch.md) describe updates, backups and\nmetrics. Every command has `--help`."))
sub('CHANGELOG.md',
 ("- Webhooks: each new line of the audit trail is sent to your servers, signed (Standard Webhooks), in order, again for a day of failures, and\n  again from any line (`grantor webhooks create|list|resume|replay|delete`, [audit.md](docs/operating/audit.md)).","- Webhooks (`grantor webhooks create|list|resume|replay|delete`, [audit.md](docs/operating/audit.md)): each new line of the audit trail is sent to your\n  servers in order, signed as Standard Webhooks defines. A line that fails is repeated for a day. `replay` sends all lines from a given line again."),
 ("It says what is wrong and what to do, and exits with 1 (","It prints what is wrong and what to do, and exits with 1 if something is wrong ("),
 ("Every change is asked once, with the number of grants that\n  end.","Every change needs one confirmation, which names the number of grants that\n  end."),
 ("- Commands: `start`, `serve`, `login-server`, `migrate`, `clients`, `grants`, `keys`, `audit`, `webhooks`, `verify-receipt`.","- Commands: `start`, `init`, `serve`, `login-server`, `migrate`, `doctor`, `clients`, `resources`, `operators`, `apply`, `export`, `grants`, `keys`,\n  `audit`, `webhooks`, `verify-receipt`."),
 ("[install.md](docs/operating/install.md) says what was run and what was only checked.","[install.md](docs/operating/install.md) lists what was run and what was only checked."))
D='docs/decisions/'
sub(D+'0034-the-audit-trail.md',
 ("Operators must be able to search who did what, and must notice if somebody changed the record. This page records how the trail in the database\nworks, and what it does not promise. The log has had the same events before, and still has them.","Operators must be able to search who did what, and must notice if somebody changed the record. This page records how the trail in the database\nworks, and what it does not promise. The log has the same events."),
 ("A node whose append came second reads the head and tries again. Each line\nhas a random id, so a node whose answer was lost can tell its own lines from those of another node.","A node whose append is refused reads the head and tries again. Each line\nhas a random id, so a node that did not receive the result of an append can distinguish its lines from those of another node."),
 ("Requests for tokens are no lines: they are metrics. Refusals and whatever else a caller can cause who has proved neither a wallet nor\na client are no lines either, because such a caller could fill the database.","Requests for tokens are no lines: they are metrics. Refusals are no lines either, nor are other events that a caller can cause without\na proof of a wallet or a client. Such a caller could fill the database."),
 ("They need\nnot be: the newest head covers all lines before it.","This is\nnot needed, because the newest head covers all lines before it."),
 ("does not sign over the change (","does not sign the changed chain ("))
sub(D+'0036-metrics-and-traces.md',("An event is written where something happened, with its reason. A second place for the same fact would\ndiffer from it one day.","An event is written where something happened, with its reason. A second record of the same fact could\ndiffer from the event after a change of the code."),
 ("**The age of keys is a time, not an age.** The times are in every snapshot of a worker, and the page of several workers takes the smallest.","**The metrics of keys are times.** Queries compute the ages. Every snapshot of a worker contains the times, and the page of several workers takes the\nsmallest."))
sub(D+'0037-packages.md',("The programs do not speak the protocol.","The programs do not implement its protocol."))
sub(D+'0038-init-and-doctor.md',("**`doctor` sees the way of a client, and asks the server what arrived.** What a proxy does to a request is only visible on both ends.","**`doctor` calls the public URL as a client does, and the server responds with what arrived.** The effect of a proxy is visible only if both ends are compared."),
 ("so it also finds a service that\nwas started with others. Its database checks do not use the pool of the store, because that refuses a server with `fsync` off, and the operator should\nread why.","so it also finds a service that\nwas started with other settings. Its database checks do not use the pool of the store: the pool refuses a server with `fsync` off, and `doctor` must\nreport the reason."))
sub(D+'0041-the-console.md',("**Every change is asked once, on a page of its own.**","**Every change needs one confirmation, on a page of its own.**"),
 ("A script that asks in a dialog would be invisible without script, and\ncould not show a number that the server knows.","A dialog would need a script, and\ncould not show a number that only the server has."),
 ("The alternative, domain functions called from pages, would have repeated each rule that is in the operations.","If the pages called domain functions instead, each rule of the operations would exist twice."))
