import { expect } from 'vitest'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import type { Sketch } from '../../../src/testing/workflow.js'
import type { Patch } from '../gates/sabotage.js'
import { discovery, document, HostilePeer, type Lies } from './hostile-peer.js'
import { passing } from './passing.js'
import { handoffsIn } from './plot.js'
import { honestReceipt, lieAbout, RECEIPT_KEY } from './receipt-lies.js'
import { KEY_OF_A, type Making, sideA, TwoHosts } from './two-hosts.js'
import { ON_A, ON_B } from './workflows.js'

/** What keeps a hand-off right, each with a check that sees whether it does, and what it takes to make that fail. */

export type Protection = {
  readonly name: string
  readonly sabotage: readonly Patch[]
  /** Throws where the host of that build, or of the repository's own, is not protected. */
  check(folder: string, build?: string): Promise<void>
}

const HOUR = 3_600_000
const MINUTE = 60_000

async function between<T>(
  making: Omit<Partial<Making>, 'build'> & { readonly folder: string; readonly build: string | undefined },
  story: (two: TwoHosts) => Promise<T>,
): Promise<T> {
  const { build, ...others } = making
  const two = await TwoHosts.start({
    a: ON_A,
    b: ON_B,
    lostAfter: MINUTE,
    ...others,
    ...(build !== undefined && { build }),
  })
  try {
    return await story(two)
  } finally {
    await two.stop()
  }
}

const chain = async (two: TwoHosts, runId: string) =>
  handoffsIn((await two.stored('a')).find(run => run.runId === runId)!.events)

/** A hand-off of A to a peer that lies, and what came of it. */
async function handedToLiar(folder: string, build: string | undefined, lies: Lies) {
  const peer = await HostilePeer.start()
  peer.receiptOf = honestReceipt
  peer.tell(lies)
  const clock = new ManualClock()
  const workflows = ON_A.filter(({ id }) => id === 'errand' || id === 'add-hundred')
  const a = await sideA(
    {
      folder,
      workflows,
      url: peer.url,
      lostAfter: 15_000,
      receiptKeys: [RECEIPT_KEY],
      ...(build !== undefined && { build }),
    },
    clock,
  ).boot()
  try {
    const response = await fetch(`${a.host.url}/v1/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY_OF_A}`, 'content-type': 'application/json' },
      body: JSON.stringify({ workflowId: 'errand' }),
    })
    const { runId } = (await response.json()) as { readonly runId: string }
    const row = () => a.store.readRun(null, runId)
    const busy = { clock, moves: () => a.moves + peer.questions.length, isBusy: () => a.busy > 0 }
    await passing('the run to end', async () => (await row())?.endedAt != null, busy)
    const events = await a.store.readEvents(runId, 0)
    return { peer, log: JSON.stringify(events), end: (await row())!.status }
  } finally {
    await a.stop()
    await peer.close()
  }
}

const withoutWork = (workflows: readonly Sketch[]): readonly Sketch[] => workflows.filter(({ id }) => id !== 'add-ten')

const startPeer = 'engine/effects/start-peer.js'

export const PROTECTIONS: readonly Protection[] = [
  {
    name: 'P1: whoever does not know whether a run was made looks first; there is no second one',
    sabotage: [
      { file: startPeer, find: /const found = await peers\.find\([^;]*;/, put: "const found = { is: 'none' };" },
      { file: startPeer, find: /const KEY_HOLDS_MS = [^;]*;/, put: 'const KEY_HOLDS_MS = Infinity;' },
    ],
    check: (folder, build) =>
      between({ folder, build, lostAfter: 30 * 24 * HOUR }, async two => {
        two.proxy.plan({ at: 0, of: 'create', fault: 'drop-answer', thenDown: true })
        const runId = await two.begin('errand', 'k')
        await two.until('silence', async () => (await chain(two, runId)).includes('peer.silent unreachable'))
        two.clock.skip(3 * 24 * HOUR)
        // B forgets the key.
        const end = two.clock.now() + 11 * MINUTE
        await two.until('time to pass', () => two.clock.now() >= end, 5_000)
        two.proxy.up()
        await two.ended(runId)
        expect(await two.stored('b')).toHaveLength(1)
      }),
  },
  {
    name: 'P2: the claim comes before the call: a try of which nobody knows what became is no refusal',
    sabotage: [
      {
        file: startPeer,
        find: /perform: \(id, again, sending\) => tryOnce\(context, \{ run, order: orderOf\(run, effect, id\), effect, again, /,
        put: 'perform: (id, _again, sending) => tryOnce(context, { run, order: orderOf(run, effect, id), effect, again: false, ',
      },
    ],
    check: (folder, build) =>
      between({ folder, build, b: withoutWork(ON_B) }, async two => {
        two.proxy.plan({ at: 0, of: 'create', fault: 'late-gateway' })
        const runId = await two.begin('errand', 'k')
        await two.ended(runId)
        expect((await chain(two, runId)).at(-1)).toMatch(/^peer\.lost /)
      }),
  },
  {
    name: 'P6: a result that comes after the hand-off was given up is not merged',
    sabotage: [
      {
        file: 'core/handoff/evolve.js',
        find: /case 'assay\.peer\.lost': \{/,
        put: "case 'assay.peer.lost': { return { ...before, silentAt: event.at };",
      },
    ],
    check: (folder, build) =>
      between({ folder, build }, async two => {
        const runId = await two.begin('lasting', 'k')
        await two.until('the work to begin', async () => (await chain(two, runId)).includes('dispatch.succeeded'))
        two.proxy.down()
        const has = (what: RegExp) => async () => (await chain(two, runId)).some(step => what.test(step))
        await two.until('it to be lost', has(/^peer\.lost/))
        two.proxy.up()
        await two.until('the late answer', has(/^(peer\.released|child\.)/))
        expect(await chain(two, runId)).not.toContainEqual(expect.stringMatching(/^(child|output)\./))
        expect((await two.snapshot('a', runId)).variables).toEqual({ mine: 20 })
      }),
  },
  {
    name: 'P3: of an answer that is too large no more is read than may be',
    sabotage: [{ file: 'peers/request.js', find: /maxResponseBytes: maxBytes,/, put: 'maxResponseBytes: Infinity,' }],
    check: async (folder, build) => {
      const answer = 'x'.repeat(2_000_000)
      const { log } = await handedToLiar(folder, build, {
        read: () => ({ status: 200, body: document('completed', { variables: { sum: answer } }) }),
      })
      expect(log).toContain('too_large')
      expect(log.length).toBeLessThan(100_000)
    },
  },
  {
    name: 'P9: a mask is not merged as text',
    sabotage: [
      { file: 'peers/answers.js', find: /value === undefined \|\| isMasked\(value\)/, put: 'value === undefined' },
    ],
    check: async (folder, build) => {
      const { log } = await handedToLiar(folder, build, {
        read: () => ({ status: 200, body: document('completed', { variables: { sum: '[REDACTED:key]' } }) }),
      })
      expect(log).toContain('child.completed')
      expect(log).not.toContain('REDACTED')
    },
  },
  {
    name: 'the host at the address is the one that it is taken for, or nothing is sent to it',
    sabotage: [{ file: 'peers/peer-client.js', find: /if \(hostId === settings\.hostId\)/, put: 'if (true)' }],
    check: async (folder, build) => {
      const { peer, log } = await handedToLiar(folder, build, {
        discovery: () => ({ status: 200, body: discovery('c.example') }),
      })
      expect(peer.times('create')).toBe(0)
      expect(log).toContain('peer_mismatch')
    },
  },
  {
    name: 'P8: an id that a peer chooses is no path',
    sabotage: [{ file: 'peers/answers.js', find: /&& isNamed\('runId', document\.runId\)/, put: '' }],
    check: async (folder, build) => {
      const runId = '../../v1/keys'
      const { log } = await handedToLiar(folder, build, {
        create: honest => ({ ...honest, body: { runId, status: 'running', eventsUrl: '/', statusUrl: '/' } }),
      })
      expect(log).not.toContain(runId)
    },
  },
  {
    name: 'P17: the receipt of another run is no evidence',
    sabotage: [
      {
        file: 'receipts/peer-evidence.js',
        find: /verifyReceipt\(text, keys, \{[^}]*\}\)/,
        put: 'verifyReceipt(text, keys)',
      },
    ],
    check: async (folder, build) => {
      const { log } = await handedToLiar(folder, build, { receipt: lieAbout('of another run') })
      expect(log).not.toContain('\\"evidence\\":true')
      expect(log).toContain('other-run')
    },
  },
  {
    name: 'P17: what is not signed with a key that is believed is no evidence',
    sabotage: [
      { file: 'audit/statement.js', find: /\? undefined : 'signature-invalid'/, put: '? undefined : undefined' },
    ],
    check: async (folder, build) => {
      const { log } = await handedToLiar(folder, build, { receipt: lieAbout('under the name of a known key') })
      expect(log).not.toContain('\\"evidence\\":true')
      expect(log).toContain('signature-invalid')
    },
  },
  {
    name: 'P13: a cause on another host is heard only from a key that is bound to that host',
    sabotage: [{ file: 'http/causation.js', find: /keyIds\.includes\(keyId\)/, put: 'true' }],
    check: (folder, build) =>
      between({ folder, build }, async two => {
        const { key } = await two.client('b').createKey({ scopes: ['runs:create', 'runs:read'] })
        const carrier = {
          hostId: 'a.example',
          runId: 'a-run-of-a',
          eventId: 'a-run-of-a:3',
          cause: 'core.dispatch',
          depth: 0,
        }
        const response = await fetch(`${two.b.host.url}/v1/runs`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'x-host-assay-causation': Buffer.from(JSON.stringify(carrier)).toString('base64url'),
          },
          body: JSON.stringify({ workflowId: 'add-one', inputs: { given: 1 } }),
        })
        const { runId } = (await response.json()) as { readonly runId: string }
        await two.ended(runId, 'b')
        expect((await two.client('b').getAncestry(runId)).parent).toBeNull()
      }),
  },
]
