import { describe, expect, it } from 'vitest'
import { forkScope, runScope } from '../../../../src/core/journal/place.js'
import { MissingContent } from '../../../../src/engine/ports/event-log.js'
import { agentWorkflow } from '../../../../src/engine/plans/agent-workflow.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'
import { harvest, judged, merge, staged } from '../gate-fixtures.js'
import * as j from '../journal-fixtures.js'

const COMMITTED = { kind: 'committed' }

/** What becomes of a write (docs/design/journal.md): every row of that table. */
export function journalContract(open: () => Promise<Opened>): void {
  const opened = async () => j.journaling((await open()).store)

  describe('a write', () => {
    it('S15 is published at once where no gate stands, and seen from its position on', async () => {
      const { store, start, put, said } = await opened()
      const runId = await start()
      expect(await put(runId, 'one', { tags: ['x'], agentId: 'helper' })).toEqual(COMMITTED)
      expect(await put(runId, 'two', { id: 'b' })).toEqual(COMMITTED)
      expect(await put(runId, 'three')).toEqual(COMMITTED)
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 3, workspace: 0 })
      expect(await said({ upTo: 0 })).toBe(undefined)
      expect(await said({ upTo: 1 })).toBe('one')
      expect(await said({ upTo: 2 })).toBe('one')
      expect(await said({ upTo: 3 })).toBe('three')
      expect(await said({ upTo: 9 })).toBe('three')
      expect(await store.entryAt('acme', 'memory', j.whole({ upTo: 1 }), { ref: 'notes', id: 'a' })).toEqual({
        runId,
        sequence: 2,
        space: 'memory',
        scope: j.SCOPE,
        ref: 'notes',
        id: 'a',
        op: 'put',
        tags: ['x'],
        at: f.T0 + 2,
        expiresAt: null,
        contentId: expect.any(String),
        hash: expect.any(String),
        bytes: 3,
        contentType: null,
        position: 1,
        version: null,
        agentId: 'helper',
        nodeId: 'n1',
      })
    })

    it('S15 is seen by its own run before it is published, and is then the same row', async () => {
      const { start, put, said } = await opened()
      const runId = await start()
      await put(runId, 'one')
      await put(runId, 'two')
      const of = (before: number, upTo = 0) => said({ upTo, runs: [{ runId, before }] })
      expect(await of(2)).toBe(undefined)
      expect(await of(3)).toBe('one')
      expect(await of(4)).toBe('two')
      // What has a position up to the anchor is answered by the scope.
      expect(await of(3, 2)).toBe('two')
      expect(await of(2, 1)).toBe('one')
    })

    it('S15 may be a forget, which hides what was there and is itself an answer', async () => {
      const { start, put, tell, said } = await opened()
      const runId = await start()
      await put(runId, 'one')
      expect(await tell(runId, j.wrote(null))).toEqual(COMMITTED)
      expect(await said({ upTo: 1 })).toBe('one')
      expect(await said()).toBe(null)
      expect(await said({ upTo: 1, runs: [{ runId, before: 9 }] })).toBe(null)
    })

    it('S15 is refused without its content, with another hash, or with that of another tenant, and leaves nothing', async () => {
      const { store, start, tell, keep } = await opened()
      const runId = await start()
      const kept = await keep('mine')
      const other = j.content('theirs', { tenant: 'other' })
      await store.keepContent(other)
      const wrong = [
        j.wrote(j.content('never kept')),
        j.wrote(kept, { hash: 'f'.repeat(64) }),
        j.wrote(kept, { hash: null }),
        j.wrote(kept, { contentId: null }),
        j.wrote(other),
      ]
      for (const event of wrong) await expect(tell(runId, j.wrote(kept), event)).rejects.toBeInstanceOf(MissingContent)
      expect((await store.readRun('acme', runId))?.length).toBe(2)
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 0, workspace: 0 })
      expect(await store.entryAt('acme', 'memory', j.ownOf(runId), { ref: 'notes', id: 'a' })).toBe(undefined)
      expect(await tell(runId, j.wrote(kept))).toEqual(COMMITTED)
    })

    it('S15 is not made of a repeated append, nor of one that is refused', async () => {
      const { store, hostId, start, stream, keep } = await opened()
      const runId = await start()
      const again = f.commit(hostId, [await stream(runId, j.wrote(await keep('one')))])
      expect(await store.commit(again)).toEqual(COMMITTED)
      expect(await store.commit(again)).toEqual(COMMITTED)
      const late = f.commit(hostId, again.streams.slice())
      expect(await store.commit(late)).toMatchObject({ kind: 'conflict' })
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 1, workspace: 0 })
    })

    it('keeps the first content under an id, also when the same id comes again', async () => {
      const { store } = await opened()
      const first = j.content('first\nline', { runId: 'r', text: 'found\tby' })
      await store.keepContent(first)
      await store.keepContent({ ...first, body: new TextEncoder().encode('second') })
      const bytes = new Uint8Array([0, 1, 255])
      await store.keepContent({ ...first, contentId: 'raw', body: bytes, text: null, sealed: true })
      const read = async (id: string) => {
        const found = await store.readContent('acme', id)
        return found && { ...found, body: new Uint8Array(found.body) }
      }
      expect(await read(first.contentId)).toEqual({ ...first, body: new Uint8Array(first.body) })
      expect(await read('raw')).toEqual({ ...first, contentId: 'raw', body: bytes, text: null, sealed: true })
      expect(await store.readContent('other', first.contentId)).toBe(undefined)
      expect(await store.readContent('acme', 'none')).toBe(undefined)
    })
  })

  describe('a gate before a node', () => {
    it('S15 holds what the node writes until it completes, and then only what that attempt wrote', async () => {
      const { store, start, put, tell, said } = await opened()
      const runId = await start({ gated: [j.gate('node')] })
      await put(runId, 'first attempt', { since: 1, id: 'a' })
      await put(runId, 'first attempt', { since: 1, id: 'c' })
      await put(runId, 'second attempt', { since: 4, id: 'a' })
      await put(runId, 'elsewhere', { nodeId: 'n2', id: 'b' })
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 1, workspace: 0 })
      expect(await said(j.ownOf(runId))).toBe(undefined)
      expect(await said(j.ownOf(runId), 'b')).toBe('elsewhere')
      expect(await tell(runId, staged('node'), judged('pass'), j.completedNode(4, 'n1', 'h'))).toEqual(COMMITTED)
      expect(await said()).toBe('second attempt')
      expect(await said({ upTo: 1 })).toBe(undefined)
      expect(await said({}, 'c')).toBe(undefined)
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 2, workspace: 0 })
      // From the event on that let it in.
      expect(await said(j.ownOf(runId, { runs: [{ runId, before: 8 }] }))).toBe(undefined)
      expect(await said(j.ownOf(runId, { runs: [{ runId, before: 9 }] }))).toBe('second attempt')
    })

    it('S15 lets nothing in by a completion that names no attempt', async () => {
      const { store, start, put, tell } = await opened()
      const runId = await start({ gated: [j.gate('node')] })
      await put(runId, 'one')
      expect(await tell(runId, staged('node'), judged('pass'), merge('node'))).toEqual(COMMITTED)
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 0, workspace: 0 })
    })
  })

  describe('children', () => {
    it('S15 where no gate holds them are seen by all at once, and by their parent when they have completed', async () => {
      const { store, start, put, tell, said } = await opened()
      const parent = await start()
      const child = await start({ parentRunId: parent, parentNodeId: 'n1' })
      await put(child, 'of the child')
      expect(await said()).toBe('of the child')
      expect(await said(j.ownOf(parent))).toBe(undefined)
      expect(await tell(parent, j.chained('child.completed', child), j.chained('output.harvested', child))).toEqual(
        COMMITTED,
      )
      expect(await said(j.ownOf(parent))).toBe('of the child')
      expect(await said(j.ownOf(parent, { runs: [{ runId: parent, before: 2 }] }))).toBe(undefined)
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 1, workspace: 0 })
    })

    it('S15 are dropped where a gate stands before them and nothing is mapped back for it to judge', async () => {
      const { store, start, put, tell, said } = await opened()
      const parent = await start({ gated: [j.gate('harvest')] })
      const child = await start({ parentRunId: parent, parentNodeId: 'n1' })
      await put(child, 'dropped')
      await put(child, 'dropped', j.file())
      await tell(child, j.ended)
      expect(await tell(parent, j.chained('child.completed', child), j.ended)).toEqual(COMMITTED)
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 0, workspace: 0 })
      expect(await said({ runs: [{ runId: parent, before: 1_000 }] })).toBe(undefined)
      expect(await store.countEntries('acme', 'memory', j.SCOPE, [{ runId: parent, before: 1 }])).toBe(0)
      expect(await said(j.ownOf(child))).toBe('dropped')
    })

    it.each([
      ['whichever', null],
      ['that', 'wf'],
    ])('S15 are held by a gate before %s worker until they are harvested', async (_, workerId) => {
      const { store, start, put, tell, said } = await opened()
      const parent = await start({ gated: [j.gate('harvest', { workerId })] })
      const child = await start({ parentRunId: parent, parentNodeId: 'n1' })
      const sibling = await start({ parentRunId: parent, parentNodeId: 'n1', workflowId: 'other' })
      await put(child, 'one')
      await put(child, 'two')
      await put(child, 'three', { id: 'b' })
      await put(sibling, 'free', { id: 'free' })
      await tell(child, j.ended)
      expect(await tell(parent, j.chained('child.completed', child))).toEqual(COMMITTED)
      expect(await said()).toBe(undefined)
      expect(await said(j.ownOf(parent))).toBe(undefined)
      expect(await said(j.ownOf(child))).toBe('two')
      expect(await said({}, 'free')).toBe(workerId === null ? undefined : 'free')
      const judging = [staged('harvest', { target: child }), judged('pass', { target: child })]
      expect(await tell(parent, ...judging, harvest({ workerId: 'wf', childRunId: child }))).toEqual(COMMITTED)
      const head = workerId === null ? 0 : 1
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: head + 3, workspace: 0 })
      expect(await said()).toBe('two')
      expect(await said({ upTo: head + 1 })).toBe('one')
      expect(await said({ upTo: head + 3 }, 'b')).toBe('three')
      expect(await said({ upTo: head + 2 }, 'b')).toBe(undefined)
      expect(await said(j.ownOf(parent))).toBe('two')
    })

    it.each(['plain.agent9', 'core:Helper', `a.${'long.'.repeat(30)}`])(
      'S15 are held by a gate before the agent %s, whatever the host calls its workflow',
      async agentId => {
        const { start, put, tell, said } = await opened()
        const parent = await start({ gated: [j.gate('harvest', { workerId: agentId })] })
        const child = await start({ parentRunId: parent, parentNodeId: 'n1', workflowId: agentWorkflow(agentId).id })
        const other = await start({ parentRunId: parent, parentNodeId: 'n1', workflowId: agentWorkflow('other').id })
        await put(child, 'held')
        await put(other, 'free', { id: 'b' })
        expect([await said(), await said({}, 'b')]).toEqual([undefined, 'free'])
        const judging = [
          staged('harvest', { target: child, workerId: agentId }),
          judged('pass', { target: child }),
          harvest({ workerId: agentId, childRunId: child }),
        ]
        expect(await tell(parent, ...judging)).toEqual(COMMITTED)
        expect(await said()).toBe('held')
      },
    )

    it('S15 leave nothing to a run that is not their parent, or by a node that is not theirs', async () => {
      const { start, put, tell, said } = await opened()
      const gated = [j.gate('run')]
      const parent = await start({ gated })
      const child = await start({ parentRunId: parent, parentNodeId: 'n1' })
      const stranger = await start()
      await put(child, 'held')
      expect(await tell(stranger, j.chained('child.completed', child))).toEqual(COMMITTED)
      expect(await tell(parent, j.chained('child.completed', child, 'n2'))).toEqual(COMMITTED)
      for (const runId of [stranger, parent]) expect(await said(j.ownOf(runId))).toBe(undefined)
      expect(await said()).toBe(undefined)
    })

    it('that are isolated write where nobody above reads', async () => {
      const { store, start, put, tell, said } = await opened()
      const parent = await start()
      const child = await start({ parentRunId: parent, parentNodeId: 'n1' })
      const scope = runScope(child)
      await put(child, 'alone', { scope })
      await tell(parent, j.chained('child.completed', child))
      expect(await said(j.ownOf(parent))).toBe(undefined)
      expect(await said()).toBe(undefined)
      expect(await said({ scope })).toBe('alone')
      expect(await store.heads('acme', scope)).toEqual({ memory: 1, workspace: 0 })
    })
  })

  describe('a gate at the exit', () => {
    it('S15 holds what the run and its children write until the run completes', async () => {
      const { store, start, put, tell, said } = await opened()
      const parent = await start({ gated: [j.gate('run')] })
      const child = await start({ parentRunId: parent, parentNodeId: 'n1' })
      await put(parent, 'own')
      await put(child, 'of the child', { id: 'b' })
      await tell(child, j.ended)
      expect(await tell(parent, j.chained('child.completed', child))).toEqual(COMMITTED)
      await put(parent, 'own again')
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 0, workspace: 0 })
      expect(await said(j.ownOf(parent))).toBe('own again')
      expect(await said(j.ownOf(parent), 'b')).toBe('of the child')
      expect(await tell(parent, staged('run'), judged('pass'), merge('run'))).toEqual(COMMITTED)
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 3, workspace: 0 })
      expect(await said({ upTo: 1 })).toBe('own')
      expect(await said({ upTo: 2 }, 'b')).toBe('of the child')
      expect(await said({ upTo: 3 })).toBe('own again')
    })

    it('S15 lets what a node wrote go when the run sends it back, and publishes the rest', async () => {
      const { store, start, put, tell, said } = await opened()
      const runId = await start({ gated: [j.gate('run')] })
      const child = await start({ parentRunId: runId, parentNodeId: 'n1' })
      await put(runId, 'of n2', { nodeId: 'n2', id: 'b' })
      await put(child, 'bad')
      await tell(runId, j.chained('child.completed', child))
      await tell(runId, j.reworked('n1', 'node'))
      expect(await said(j.ownOf(runId))).toBe('bad')
      await tell(runId, j.reworked('n1'))
      expect(await said(j.ownOf(runId))).toBe(undefined)
      // A view from before still sees it.
      expect(await said(j.ownOf(runId, { runs: [{ runId, before: 5 }] }))).toBe('bad')
      await put(runId, 'good', { id: 'c' })
      expect(await tell(runId, staged('run'), judged('pass'), merge('run'))).toEqual(COMMITTED)
      expect([await said(), await said({}, 'b'), await said({}, 'c')]).toEqual([undefined, 'of n2', 'good'])
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 2, workspace: 0 })
    })

    it('S15 lets also go what nodes wrote that follow the one it is sent back to', async () => {
      const { start, put, tell, said } = await opened()
      const runId = await start({ gated: [j.gate('run')] })
      for (const [nodeId, id] of ['n0', 'n1', 'n2', 'n3'].entries())
        await put(runId, id, { nodeId: id, id: `${nodeId}` })
      await tell(runId, j.reworked('n1', 'run', ['n1', 'n2', 'n3']))
      await put(runId, 'again', { nodeId: 'n3', id: '3' })
      expect(await tell(runId, staged('run'), judged('pass'), merge('run'))).toEqual(COMMITTED)
      const left = await Promise.all(['0', '1', '2', '3'].map(id => said({}, id)))
      expect(left).toEqual(['n0', undefined, undefined, 'again'])
    })

    it('S15 of a child is not passed by what its parent says of it', async () => {
      const { start, put, tell, said } = await opened()
      const parent = await start()
      const child = await start({ parentRunId: parent, parentNodeId: 'n1', gated: [j.gate('run')] })
      await put(child, 'held')
      expect(await tell(parent, j.chained('child.completed', child))).toEqual(COMMITTED)
      expect([await said(), await said(j.ownOf(parent))]).toEqual([undefined, undefined])
      await tell(child, staged('run'), judged('pass'), merge('run'))
      expect(await tell(parent, j.chained('child.completed', child))).toEqual(COMMITTED)
      expect([await said(), await said(j.ownOf(parent))]).toEqual(['held', 'held'])
    })

    it('S15 publishes nothing while a gate further up stands', async () => {
      const { store, start, put, tell, said } = await opened()
      const root = await start({ gated: [j.gate('harvest')] })
      const middle = await start({ parentRunId: root, parentNodeId: 'n1', gated: [j.gate('run')] })
      const leaf = await start({ parentRunId: middle, parentNodeId: 'n1', gated: [j.gate('node')] })
      await put(leaf, 'deep')
      await tell(leaf, staged('node'), judged('pass'), j.completedNode(1, 'n1', 'h'), j.ended)
      await tell(middle, j.chained('child.completed', leaf), staged('run'), judged('pass'), merge('run'))
      expect(await said(j.ownOf(middle))).toBe('deep')
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 0, workspace: 0 })
      const judging = [staged('harvest', { target: middle }), judged('pass', { target: middle })]
      expect(await tell(root, ...judging, harvest({ workerId: 'wf', childRunId: middle }))).toEqual(COMMITTED)
      expect(await said()).toBe('deep')
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 1, workspace: 0 })
    })
  })

  describe('forks', () => {
    it('S15 a replay tells of writes and writes nothing, whether their content is left or not', async () => {
      const { store, hostId, start, put, keep, said } = await opened()
      const source = await start()
      await put(source, 'one')
      const replay = f.id('run')
      const origin = { sourceRunId: source, fromSeq: 2, mode: 'replay', sourceLength: 3 } as const
      const told = [j.wrote(await keep('never')), j.wrote(j.content('gone'), { id: 'b' })]
      const events = told.map((one, i) => one(2 + i))
      const stream = f.fork(replay, source, 2, events, { run: { fork: origin } })
      expect(await store.commit(f.commit(hostId, [stream]))).toEqual(COMMITTED)
      expect(await said()).toBe('one')
      expect(await said(j.ownOf(replay))).toBe(undefined)
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 1, workspace: 0 })
    })

    it('S15 a branch has what its source held at a node, and what its children left, in a scope of its own', async () => {
      const { store, hostId, start, put, tell, said } = await opened()
      const gated = [j.gate('node'), j.gate('harvest', { nodeId: 'n2' })]
      const source = await start({ gated })
      const child = await start({ parentRunId: source, parentNodeId: 'n2' })
      const alone = await start({ parentRunId: source, parentNodeId: 'n2' })
      await put(child, 'of the child', { id: 'b' })
      await put(alone, 'isolated', { id: 'c', scope: runScope(alone) })
      for (const runId of [child, alone]) await tell(runId, j.ended)
      await put(source, 'held', { since: 1 })
      await put(source, 'after the cut', { since: 1, id: 'late' })
      const branch = f.id('run')
      expect(await store.commit(f.commit(hostId, [f.fork(branch, source, 3, [], { run: { gated } })]))).toEqual(
        COMMITTED,
      )
      const second = f.id('run')
      const scope = forkScope(branch)
      expect(await tell(branch, staged('node'), judged('pass'), j.completedNode(1, 'n1', 'h'))).toEqual(COMMITTED)
      for (const runId of [child, alone]) {
        const about = { target: runId, nodeId: 'n2' }
        const taking = j.chained('output.harvested', runId, 'n2')
        expect(await tell(branch, staged('harvest', about), judged('pass', about), taking)).toEqual(COMMITTED)
      }
      expect(await store.heads('acme', scope)).toEqual({ memory: 2, workspace: 0 })
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 0, workspace: 0 })
      expect(await store.heads('acme', runScope(alone))).toEqual({ memory: 0, workspace: 0 })
      expect([await said({ scope }), await said({ scope }, 'b')]).toEqual(['held', 'of the child'])
      expect(await said({ scope }, 'late')).toBe(undefined)
      expect(await said(j.ownOf(branch, { scope }))).toBe('held')
      expect(await said(j.ownOf(branch))).toBe(undefined)
      // A branch of the branch from before either of them has them anew, from whoever holds the rows.
      await store.commit(f.commit(hostId, [f.fork(second, branch, 3, [], { run: { gated } })]))
      expect(await tell(second, staged('node'), judged('pass'), j.completedNode(1, 'n1', 'h'))).toEqual(COMMITTED)
      expect(await said({ scope: forkScope(second) })).toBe('held')
      // And the source goes on in its own scope.
      expect(await tell(source, staged('node'), judged('pass'), j.completedNode(1, 'n1', 'h'))).toEqual(COMMITTED)
      expect([await said(), await said({}, 'late')]).toEqual(['held', 'after the cut'])
    })

    it('S15 what was published of the source is published anew by a branch that harvests it', async () => {
      const { store, hostId, start, put, said } = await opened()
      const source = await start()
      const child = await start({ parentRunId: source, parentNodeId: 'n1' })
      await put(child, 'open')
      const branch = f.id('run')
      const own = [j.chained('child.completed', child)(2)]
      expect(await store.commit(f.commit(hostId, [f.fork(branch, source, 2, own)]))).toEqual(COMMITTED)
      expect(await said({ scope: forkScope(branch) })).toBe('open')
      expect(await said()).toBe('open')
      expect(await store.heads('acme', forkScope(branch))).toEqual({ memory: 1, workspace: 0 })
    })
  })
}
