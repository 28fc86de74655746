import re,subprocess
P='/tmp/w/editor/'
def sub(f, *pairs):
    s=open(P+f).read()
    for a,b in pairs:
        if a not in s: print('!!',f,a[:80]); continue
        s=s.replace(a,b)
    open(P+f,'w').write(s)
def ren(old,new,paths):
    out=subprocess.run(['git','-C',P,'grep','-lw',old,'--']+paths,capture_output=True,text=True).stdout.split()
    for f in out:
        s=open(P+f).read(); s2=re.sub(r"(?<![\w.'])%s(?=\b)(?!')"%old,new,s)
        open(P+f,'w').write(s2)
    print(old,'->',new,out)
sub('src/domain/maintenance/keep-keys.ts',("retireKey(keeping: KeyKeeping, keyId: string, atOnce: boolean)","retireKey(keeping: KeyKeeping, keyId: string, { atOnce }: { atOnce: boolean })"))
sub('src/admin/routes/keys.ts',("retireKey(keyKeeping, params.id, query.at_once === true)","retireKey(keyKeeping, params.id, { atOnce: query.at_once === true })"))
sub('src/cli/commands/keys-retire.ts',("retireKey(keeping, keyId, options['at-once'])","retireKey(keeping, keyId, { atOnce: options['at-once'] })"))
for f in subprocess.run("git -C %s grep -lE 'retireKey\\(.*, (true|false)\\)' -- test"%P,shell=True,capture_output=True,text=True).stdout.split():
    s=open(P+f).read(); s=re.sub(r"(retireKey\(.*), (true|false)\)(?=\n|;|\)|,)",r"\1, { atOnce: \2 })",s); open(P+f,'w').write(s); print('test',f)
# client form
f='src/admin/console/client-form.ts'; s=open(P+f).read()
s=s.replace("const common = true\n\n","").replace("isCommon: common","isCommon: true").replace("/** The words of the form for clients. The members themselves are in `domain/configuration/members.ts`. */","/** The labels, hints and choices of the forms for clients and resources. The members are in `domain/configuration/members.ts`. */")
open(P+f,'w').write(s)
# overview tile
f='src/pages/console/overview-page.ts'; s=open(P+f).read()
s=s.replace("""${tile('Requests', `${rate(live.now.perSecond)}/s`, 'in the last minute')}
${tile('Latency, p99', milliseconds(live.now.p99), `p50 ${milliseconds(live.now.p50)} · p95 ${milliseconds(live.now.p95)}`)}
${tile('Faults', number(live.now.faults), 'answers 5xx in the last minute', live.now.faults > 0)}
${tile('Store', view.storeMs === null ? 'away' : `${view.storeMs.toFixed(1)} ms`, view.storeMs === null ? 'it cannot be reached' : 'one read just now', view.storeMs === null)}
""","""${tilesOf(view).map(tile)}
""")
s=s.replace("""function tile(name: string, value: string, aside: string, isBad = false): Html {
  return""","""type Tile = { name: string; value: string; aside: string; isBad?: boolean }

function tilesOf({ live, storeMs }: OverviewView): Tile[] {
  const { perSecond, faults, p50, p95, p99 } = live.now
  return [
    { name: 'Requests', value: `${rate(perSecond)}/s`, aside: 'in the last minute' },
    { name: 'Latency, p99', value: milliseconds(p99), aside: `p50 ${milliseconds(p50)} · p95 ${milliseconds(p95)}` },
    { name: 'Faults', value: number(faults), aside: 'answers 5xx in the last minute', isBad: faults > 0 },
    storeMs === null
      ? { name: 'Store', value: 'away', aside: 'it cannot be reached', isBad: true }
      : { name: 'Store', value: `${storeMs.toFixed(1)} ms`, aside: 'one read just now' },
  ]
}

function tile({ name, value, aside, isBad = false }: Tile): Html {
  return""")
open(P+f,'w').write(s)
# shorten
sub('src/cli/terminal/print.ts',("/** `1 grant`, `2 grants`. */","/** The text with at most so many characters. */\nexport function shorten(text: string, atMost: number): string {\n  return text.length > atMost ? `${text.slice(0, atMost - 3)}...` : text\n}\n\n/** `1 grant`, `2 grants`. */"))
f='src/cli/configuration/print-plan.ts'; s=open(P+f).read()
s=s.replace("import { counted } from '../terminal/print.ts'","import { counted, shorten } from '../terminal/print.ts'")
s=re.sub(r"\nfunction shorten\(text: string\): string \{\n.*\n\}\n","",s)
s=s.replace("shorten(item)","shorten(item, VALUE_AT_MOST)").replace("return shorten(JSON.stringify(value))","return shorten(JSON.stringify(value), VALUE_AT_MOST)")
s=re.sub(r"\bshown\(","valueText(",s)
open(P+f,'w').write(s.rstrip('\n')+'\n')
f='src/cli/configuration/read-configuration.ts'; s=open(P+f).read()
s=re.sub(r"\nfunction shorten\(text: string\): string \{\n.*\n\}\n","",s)
s=s.replace("shorten(name)","shorten(name, SHOWN_AT_MOST)").replace("shorten(JSON.stringify(text))","shorten(JSON.stringify(text), SHOWN_AT_MOST)").replace("name.slice(0, 60)","name.slice(0, SHOWN_AT_MOST)").replace("text.slice(0, 60)","text.slice(0, SHOWN_AT_MOST)")
s=s.replace("const DEPTH_AT_MOST = 20\n","const DEPTH_AT_MOST = 20\n/** In characters: names and values in messages. */\nconst SHOWN_AT_MOST = 60\n").replace("import { UsageError } from '../terminal/command.ts'","import { UsageError } from '../terminal/command.ts'\nimport { shorten } from '../terminal/print.ts'")
open(P+f,'w').write(s.rstrip('\n')+'\n')
f='src/cli/doctor/call.ts'; s=open(P+f).read()
s=s.replace("  const plain = text.replaceAll(/[^\\x20-\\x7e]/g, '?')\n  return plain.length > 100 ? `${plain.slice(0, 97)}...` : plain\n","  return shorten(text.replaceAll(/[^\\x20-\\x7e]/g, '?'), 100)\n").replace("import { request as tlsRequest } from 'node:https'","import { request as tlsRequest } from 'node:https'\nimport { shorten } from '../terminal/print.ts'")
open(P+f,'w').write(s)
ren('shown','printable',['src/cli/doctor'])
ren('countingEvents','countEvents',['src/cli/compose','test'])
ren('countingRuns','countRuns',['src/cli/compose'])
ren('traceStore','loadTracedStore',['src/cli/compose/compose.ts'])
ren('tracedStore','traceStore',['src','test'])
ren('tracedFetch','traceFetch',['src','test'])
ren('tracedChainCalls','traceChainCalls',['src','test'])
