import subprocess,re
P='/tmp/w/editor/'
def sub(f, *pairs):
    s=open(P+f).read()
    for a,b in pairs:
        if a not in s: print('!!',f,a[:80]); continue
        s=s.replace(a,b)
    open(P+f,'w').write(s)
sub('test/domain/audit/verify.test.ts',("/** Whoever changes the trail in the database is found: in the chain itself, in its signed heads, or with a head that was noted elsewhere. */","/** Changes of the trail in the database are found: by the chain itself, by its signed heads, or by a head that was noted elsewhere. */"))
sub('test/admin/console/stored-html.test.ts',("/** Ends an attribute, an element and a script, and runs if anything of it is parsed as markup. */","/** Markup that ends an attribute, an element and a script. Its script runs if a part of it is parsed as markup. */"))
sub('test/packages/files.test.ts',("/** What the files in ops say about the program, checked without the tools that use these files. */","/** Compares the files in ops with the program, without the tools that use these files. */"))
sub('test/admin/fuzz.ts',(" * A schema cannot say everything:"," * A schema cannot express every rule:"))
sub('test/admin/console/forms.test.ts',("/** What the forms could change. */","/** The records that the forms can change. */"))
sub('test/pages/console.test.ts',("A table without rows says so, and a table with rows labels each cell for narrow screens","A table without rows has a sentence in place of the rows, and each cell of other tables has a label for narrow screens"))
sub('test/cli/commands/audit.test.ts',("audit list finds lines by event and time, and explains a time that it cannot read","audit list finds lines by event and time, and refuses an invalid time with examples of valid ones"),
 ("Every command that changes something is a line with the name of the user who ran it, and a command that changes nothing is none","Every command that changes something writes a line with the name of the user who ran it, and a command that changes nothing writes none"),
 ("An export is checked against the chain, the signed heads and a noted line, and each change of it is named","audit verify --file checks an export against the chain, the signed heads and a noted line, and names each change of the export"),
 ("The trail in the database is checked with its columns, and a broken one gives the exit code 1 and the line","audit verify checks the trail in the database with its search columns, and a broken trail gives the exit code 1 and the line"))
sub('test/cli/commands/webhooks.test.ts',("webhooks replay and resume move the place in the trail, delete removes the webhook, and each is a line without the address’s query","webhooks replay and resume move the cursor, delete removes the webhook, and each command writes a line without the query of the address"))
sub('test/domain/audit/verify.test.ts',("Lines that were removed from the end, with the head of the table, are found with a head that was noted before","Lines that were removed from the end, together with the stored head, are found with a head that was noted before"),
 ("A head is signed once an hour if lines were appended since, by one of two nodes, and a node that starts goes on from it","A head is signed once an hour by one of two nodes if lines were appended since, and a node that starts continues from this head"),
 ("A head that another key signed under the id of a key of the service is forged; one of a key that is gone is counted","A head that another key signed under the id of a key of the service is forged, and a head of a deleted key is counted"))
sub('test/cli/doctor/doctor.test.ts',("A proxy that replaces the Host header is fine, because every URL comes from the settings","A proxy that replaces the Host header is ok, because every URL comes from the settings"),
 ("A proxy that does not accept long headers of an answer is found, as nginx does not by default: sign-ins would fail with 502","A proxy that refuses long response headers, as nginx does by default, is found: sign-ins would fail with 502"))
sub('src/ops/probe.ts',("if the URL leads to another server, that server\n * learns a MAC for its own URL only.","if the URL leads to another server, that server\n * receives a MAC for its own URL only."),("/** Wide, because the probe also measures the difference of the clocks. */","/** Seconds. The range is wide, because the probe also measures the difference of the clocks. */"))
sub('src/ops/service-metrics.ts',("anyone can bring a new one.","any caller can present a new id."))
sub('src/store/audit-search.ts',("/** The conditions of a search of the audit trail, the same in both engines: only those of the filter, so that an index on its column is used. */","/** The conditions of a search of the audit trail, the same in both engines. The statement has only the conditions of the filter, so that the engine can use the index of a column. */"))
for f in subprocess.run(['git','-C',P,'grep','-lw','observing','--','src','test'],capture_output=True,text=True).stdout.split():
    s=open(P+f).read(); s2=re.sub(r"\.observing\(",".observe(",s); s2=re.sub(r"^(\s+)observing(\(metrics|: \(metrics)",r"\1observe\2",s2,flags=re.M)
    if s2!=s: open(P+f,'w').write(s2); print(f)
