import fs from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.js'
import { converse } from '../../src/cli/terminal/conversation.js'
import { type Server, startAssay, startServer, temporaryFolder } from './assay-process.js'

let folder: string
let server: Server

beforeAll(async () => {
  folder = temporaryFolder()
  server = await startServer(path.join(folder, 'data'))
  for (const [name, text] of Object.entries(WORKFLOWS)) {
    fs.writeFileSync(path.join(folder, `${name}.yaml`), text)
    expect(await server.assay('workflows', 'put', path.join(folder, `${name}.yaml`))).toMatchObject({ code: 0 })
  }
})

afterAll(async () => {
  await server.stop()
  fs.rmSync(folder, { recursive: true })
})

const REVIEW = `
nodes:
  - id: ask
    typeId: core.clarificationGate
    config:
      questions:
        - { id: who, question: Who is it for? }
        - { id: copies, question: How many copies?, schema: { type: integer, minimum: 1 } }
  - id: approve
    typeId: core.approvalGate
    config: { title: Publish the letter, actions: [accept, reject, refine], timeoutMs: 86400000 }
    inputs:
      artifactData: { type: connection, nodeId: ask, outputKey: answers }
  - id: end
    typeId: core.end
    inputs:
      letter: { type: connection, nodeId: approve, outputKey: artifact }
edges:
  - { sourceNodeId: ask, targetNodeId: approve }
  - { sourceNodeId: approve, targetNodeId: end }
`
const TWO = `
nodes:
  - { id: left, typeId: core.approvalGate, config: { title: Left } }
  - { id: right, typeId: core.approvalGate, config: { title: Right } }
`
const BUSY = `
nodes:
  - { id: gate, typeId: core.approvalGate, config: { title: Meanwhile, timeoutMs: 86400000 } }
  - { id: wait, typeId: core.delay, config: { delayMs: 600000 } }
`
const QUORUM = `
nodes:
  - { id: board, typeId: core.approvalGate, config: { title: Spend it, requiredApprovals: 2 } }
`
const PARENT = `
nodes:
  - { id: sub, typeId: core.subWorkflow, config: { workflowId: quorum } }
`
const EVENT = `
nodes:
  - id: paid
    typeId: core.interrupt
    config: { kind: external-event, data: { eventType: payment, correlation: { order: 7 } } }
`

const WORKFLOWS = { review: REVIEW, two: TWO, busy: BUSY, quorum: QUORUM, parent: PARENT, event: EVENT }

const start = async (workflow: string) => String((await server.json('run', workflow)).value.runId)
const atApproval = async () => {
  const id = await start('review')
  await server.assay('interrupts', 'resolve', id, '--answer', 'who=Ada', '--answer', 'copies=3')
  return id
}

describe('interrupts', () => {
  test('list and show say what is asked; resolve answers it', async () => {
    const id = await start('review')
    const listed = (await server.assay('interrupts', 'list')).stdout
    expect(listed).toMatch(/^RUN +NODE +KIND +WAITING +EXPIRES +QUESTION\n/)
    expect(listed).toMatch(new RegExp(`^${id} +ask +clarification +.* Who is it for\\? \\(and 1 more\\)$`, 'm'))
    const { value } = await server.json('interrupts', 'list')
    expect(value.interrupts.map((one: { runId: string }) => one.runId)).toContain(id)

    expect((await server.assay('interrupts', 'show', id)).stdout).toContain('copies: How many copies?')
    const answered = await server.assay('interrupts', 'resolve', id, '--answer', 'who=Ada', '--answer', 'copies=3')
    expect(answered).toMatchObject({ code: 0, stdout: `${id} waiting-approval\n` })
    expect(answered.stderr).toContain(`next:  assay interrupts show ${id}`)

    const shown = (await server.assay('interrupts', 'show', id, 'approve')).stdout
    expect(shown).toContain('artifactData: {"who":"Ada","copies":3}')
    expect(shown).toMatch(/expires .*, in 23 h/)
    expect(shown).toContain(`assay interrupts resolve ${id} approve --accept`)
    const got = (await server.assay('runs', 'get', id)).stdout
    expect(got).toMatch(/waits for +approval: Publish the letter\n/)
    const accepted = await server.assay('interrupts', 'resolve', id, '--accept', '--feedback', 'fine')
    expect(accepted).toMatchObject({ code: 0, stdout: `${id} completed\n`, stderr: '' })
    const { events } = (await server.json('runs', 'events', id)).value
    expect(events.find((event: { type: string }) => event.type === 'approval.received').payload).toMatchObject({
      action: 'accept',
      feedback: 'fine',
      decidedBy: 'local',
    })
  })

  test('what cannot be an answer is refused, says what can, and leaves the run waiting', async () => {
    const id = await atApproval()
    const refused = async (...args: string[]) => {
      const { code, stdout, stderr } = await server.assay('interrupts', 'resolve', id, ...args)
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      return stderr
    }
    expect(await refused('--edit', '{}')).toContain('must be one of accept, reject, refine, not "edit-accept"')
    expect(await refused('--answer', 'who=me')).toContain('waits for approval; use assay interrupts resolve')
    expect(await refused()).toContain('say one answer, such as')
    expect(await refused('nowhere', '--accept')).toContain('waits for nothing; these do: approve')
    expect(await refused('--accept', '--shown', 'sha256:0')).toMatch(/\[interrupt_changed\][\s\S]*interrupts show/)
    expect((await server.json('runs', 'get', id)).value.status).toBe('waiting-approval')
    expect((await server.assay('interrupts', 'resolve', id, '--reject')).stdout).toBe(`${id} failed\n`)
    expect(await refused('--accept')).toContain('waits for no answer, it is failed')
  })

  test('with several open, the node must be named', async () => {
    const id = await start('two')
    const { code, stderr } = await server.assay('interrupts', 'resolve', id, '--accept')
    expect(code).toBe(2)
    expect(stderr).toContain('several nodes wait for an answer; name one: left, right')
    expect((await server.assay('interrupts', 'resolve', id, 'right', '--accept')).stdout).toBe(
      `${id} waiting-approval\n`,
    )
    expect((await server.assay('interrupts', 'resolve', id, '--accept')).stdout).toBe(`${id} completed\n`)
  })

  test('a paused run shows what it asks, and is answered once it is resumed', async () => {
    const id = await start('busy')
    await server.assay('runs', 'pause', id, '--drain', 'immediate')
    const shown = (await server.assay('interrupts', 'show', id)).stdout
    expect(shown).toMatch(/expires .*, in 23 h[\s\S]*\nMeanwhile\n[\s\S]*resolve \S+ gate --accept/)
    const refused = await server.assay('interrupts', 'resolve', id, '--accept')
    expect(refused.stderr).toMatch(/\[run_paused\][\s\S]*assay runs resume/)
    await server.assay('runs', 'resume', id)
    expect((await server.assay('interrupts', 'resolve', id, '--accept')).stdout).toBe(`${id} running\n`)
    await server.assay('runs', 'cancel', id)
  })

  test('a vote of a quorum is counted, and the interrupt shows it', async () => {
    const id = await start('quorum')
    const first = await server.assay('interrupts', 'resolve', id, '--accept')
    expect(first).toMatchObject({ code: 0, stdout: `${id} waiting-approval\n` })
    expect(first.stderr).toContain('heard; board waits for further answers')
    expect((await server.assay('interrupts', 'show', id)).stdout).toMatch(/votes +local accept; 2 must accept/)
    const vote = ['--value', '{"action":"accept","voter":"bob"}']
    expect((await server.assay('interrupts', 'resolve', id, ...vote)).stdout).toBe(`${id} completed\n`)
  })

  test('an outside event is given as a value', async () => {
    const id = await start('event')
    const wrong = await server.assay('interrupts', 'resolve', id, '--value', '{"order": 8}')
    expect(wrong.stderr).toContain('[correlation_mismatch]')
    expect((await server.assay('interrupts', 'resolve', id, '--value', '{"order": 7}')).stdout).toBe(
      `${id} completed\n`,
    )
  })

  test('a link lets its holder answer without a key', async () => {
    const id = await atApproval()
    const { stdout, stderr } = await server.assay('interrupts', 'link', id, '--expires', '2h', '--for', 'bob')
    expect(stderr).toMatch(/whoever has it can answer until 20/)
    const url = stdout.trim()
    expect((await (await fetch(url)).json()) as object).toMatchObject({ kind: 'approval', intent: 'resolve' })
    const look = (await server.json('interrupts', 'link', id, '--inspect')).value
    const answer = (to: string) =>
      fetch(to, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ resumeValue: { action: 'accept' } }),
      })
    expect((await answer(look.url)).status).toBe(403)
    expect(await (await answer(url)).json()).toMatchObject({ runId: id, status: 'completed' })
    const { events } = (await server.json('runs', 'events', id)).value
    expect(events.find((event: { type: string }) => event.type === 'approval.received').payload.decidedBy).toBe(
      'link:bob',
    )
    expect(await server.assay('interrupts', 'link', id, '--expires', 'soon')).toMatchObject({ code: 2 })
  })
})

describe('a run that is watched', () => {
  test('without a terminal exits 3 and says how to answer, also for what a child asks', async () => {
    const waiting = startAssay(['--data', server.data, 'run', 'review', '--wait'])
    const { code, stdout, stderr } = await waiting.done
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toMatch(/run (\S+) is waiting-input\nnext: {2}assay interrupts resolve \1 ask --answer who=…/)
    const parent = await server.assay('run', 'parent', '--wait')
    expect(parent.code).toBe(3)
    const [, runId, child] =
      /run (\S+) is waiting-approval\nnext: {2}assay interrupts resolve (\S+) board --accept/.exec(parent.stderr)!
    expect(child).not.toBe(runId)
    const none = await server.assay('interrupts', 'show', runId!)
    expect(none.stderr).toContain(`its child ${child} does`)
    expect((await server.assay('runs', 'get', runId!)).stdout).toContain(`assay interrupts show ${child}`)
  })

  /** The same program, with a person who types all of `lines` and then leaves. */
  const atTerminal = async (args: readonly string[], lines: string) => {
    const said: string[] = []
    const out: string[] = []
    const shown = new PassThrough()
    const input = new PassThrough()
    input.end(lines)
    const talk = converse(input, shown)
    const code = await main(['--data', server.data, ...args], {
      out: line => void out.push(line),
      note: line => void said.push(line),
      draw: () => undefined,
      isLive: false,
      columns: 80,
      readStdin: async () => '',
      // One person for the whole command: what is typed ahead is for the next question.
      converse: () => ({ ...talk, end: () => undefined }),
    })
    talk.end()
    return { code, out: out.join('\n'), said: said.join('\n'), shown: String(shown.read() ?? '') }
  }

  test('at a terminal asks the person, again after a refusal, and goes on', async () => {
    const { code, out, said, shown } = await atTerminal(['run', 'review', '--wait'], 'Ada\nmany\nAda\n3\na fine\n')
    expect({ code, out: JSON.parse(out) }).toEqual({ code: 0, out: { letter: { who: 'Ada', copies: 3 } } })
    expect(said).toContain('[validation_error]')
    expect(shown.match(/Who is it for\?/g)).toHaveLength(2)
    expect(shown).toContain('Approve "Publish the letter"? [a]ccept / [r]eject / re[f]ine / [s]how / [l]ater')
  })

  test('left for later it waits, and is taken up with `runs follow`', async () => {
    const { code, said } = await atTerminal(['run', 'two', '--wait'], 'a\nl\n')
    expect(code).toBe(3)
    const [, runId] = /next: {2}assay interrupts resolve (\S+) right --accept/.exec(said)!
    const followed = await atTerminal(['runs', 'follow', runId!], 'a\n')
    expect(followed.code).toBe(0)
  })

  test('a vote that is counted is not asked for again', async () => {
    const { code, said, shown } = await atTerminal(['run', 'parent', '--wait'], 'a\na\n')
    expect({ code, said }).toEqual({ code: 3, said: expect.stringContaining('board --accept') })
    expect(shown.match(/Approve "Spend it"/g)).toHaveLength(1)
  })

  test('runs follow without a terminal shows the log', async () => {
    const id = await start('hello')
    const { code, stdout, stderr } = await startAssay(['--data', server.data, 'runs', 'follow', id]).done
    expect({ code, outputs: JSON.parse(stdout) }).toEqual({ code: 0, outputs: { greeting: 'Hello, world!' } })
    expect(stderr).toContain('run.completed')
  })
})
