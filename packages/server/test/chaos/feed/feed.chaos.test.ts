/** The feed of endings under load and failures. docs/evidence/reliability.md says how to run and repeat it. */
import { expect, type OnTestFinishedHandler, test } from 'vitest'
import { cutConnections, cutNode, killNode, lockFile } from '../faults.ts'
import { setUpPair } from '../postgres-pair.ts'
import { setUpPostgres } from '../postgres-scene.ts'
import { PATIENCE_MS, seconds } from '../prove.ts'
import { readSeed, seeded } from '../random.ts'
import type { ServiceFault } from '../run.ts'
import { performFeedRun } from './feed-run.ts'

const isShort = seconds < 10
const endings = readEndings(process.env.TEST_ENDINGS)
const users = isShort ? 4 : 8

function readEndings(text = isShort ? '300' : '20000'): number {
  if (!/^[1-9][0-9]{0,7}$/.test(text)) throw new Error(`TEST_ENDINGS must be a number, not "${text}"`)
  return Number(text)
}

type AtEnd = (close: OnTestFinishedHandler) => void
type Database = { databaseUrl?: string; faults: ServiceFault[] }
type Deployment = { name: string; nodes: number; open: (atEnd: AtEnd) => Promise<Database> }

const deployments: Deployment[] = [
  {
    name: 'SQLite, one node',
    nodes: 1,
    open: () => Promise.resolve({ faults: [killNode, cutNode, lockFile, ...(isShort ? [] : [cutConnections])] }),
  },
  { name: 'PostgreSQL, three nodes', nodes: 3, open: isShort ? openServer : openPair },
]

/** One server. Its kill takes less time than a promotion. */
async function openServer(atEnd: AtEnd) {
  const scene = await setUpPostgres()
  atEnd(() => scene.close())
  return { databaseUrl: await scene.newDatabase('feed'), faults: [killNode, cutNode, scene.killServer] }
}

async function openPair(atEnd: AtEnd) {
  const pair = await setUpPair()
  atEnd(() => pair.close())
  const faults = [pair.promoteStandby, pair.killStandby, killNode, cutNode, cutConnections]
  return { databaseUrl: await pair.newDatabase('feed'), faults }
}

test.for(deployments)(
  'No API with the feed accepts a token later than promised after its ending, or on an old feed, or refuses a valid one: $name',
  { timeout: seconds * 1000 + endings * 10 + PATIENCE_MS },
  async ({ name, nodes, open }, { annotate, onTestFinished }) => {
    const seed = readSeed()
    const runSeed = seeded(seed)
      .stream(name)
      .below(2 ** 32)
    const outcome = await performFeedRun({ seed: runSeed, nodes, seconds, endings, users, ...(await open(onTestFinished)) })
    const figures = `TEST_SEED=${seed}: ${outcome.figures}`
    console.info(`${name}\n  ${figures}`)
    await annotate(figures)
    const { missing, accepting, refusing, brokenByOldFeed, skippedWithoutRule, alarms } = outcome
    const violations = outcome.violations.slice(0, 5)
    const names = Array.from({ length: nodes }, (_, index) => [`node ${index + 1}`, 0])
    const apis = ['API 1', 'API 2', 'API 3', 'API 4']
    expect({ figures, violations, missing, alarms, accepting, refusing }).toEqual({
      figures,
      violations: [],
      missing: Object.fromEntries(names),
      alarms: [],
      accepting: apis,
      refusing: apis,
    })
    // What must be found, or the check proves nothing.
    expect(brokenByOldFeed).toEqual(['a token was accepted on an old feed', 'an ended token was accepted'])
    expect(skippedWithoutRule === null).toBe(nodes === 1)
    expect(skippedWithoutRule).not.toBe(0)
  },
)
