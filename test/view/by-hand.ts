import type { ModelSaid } from '../../src/core/agent/brief.js'
import { given, Scenario, rulesFor } from '../../src/testing/given-when-then.js'
import { agentFlow, answered, atWork, reasons, says } from '../../src/testing/invocations.js'
import { answer, loopOf, next } from '../../src/testing/orchestration.js'

/** Stories of what random ones seldom come to. */

const SECRET = { name: 'pin', type: 'string' as const, sensitive: true, defaultValue: 'tell-nobody' }

/** A loop that is left because it has gone round too often. */
export const tooManyPasses = (): Scenario =>
  given({
    nodes: { loop: { type: 'core.loop', config: { condition: 'true', maxIterations: 2 } }, body: 'core.noop' },
    edges: ['loop.body > body', 'body > loop'],
  }).start()

/** An agent that thinks aloud, and whose answer had to be mended. */
export const thinkingAloud = (): Scenario =>
  says(reasons(atWork(given(agentFlow())), 0), { ...answered(), recovery: 'jsonrepair' } as ModelSaid)

/** A person puts something that must not be seen in the place of a decision. */
export function editedDecision(): Scenario {
  const doubted = { ...next('w'), confidence: 0.1 }
  const workflow = loopOf({ mockDispatchPlan: [doubted] }, { variables: [SECRET], agentId: 'local.test.chief' })
  const { nodes } = workflow
  const chief = { agentId: 'local.test.chief', name: 'The chief', version: '1.0' }
  const sup = { ...Object(nodes.sup), agent: chief }
  const rules = rulesFor({ ...workflow, nodes: { ...nodes, sup } }, ['assay.conformance'], {
    confidence: { floor: 0.5, interruptKind: 'escalate' },
  })
  const edited = { kind: 'terminate', reason: 'tell-nobody', successCriteria: [{ key: 'tell-nobody', met: true }] }
  return new Scenario(rules).start().when(answer('sup', { action: 'edit-accept', editedArtifactData: edited }))
}

/** Channels that keep what was written before, and one that does not. */
export const channels = (): Scenario => {
  const write = (channel: string, value: string) => ({
    type: 'core.channelWrite',
    config: { channelName: channel },
    inputs: { value: { type: 'static' as const, value } },
  })
  return given({
    nodes: { a: write('list', 'one'), b: write('list', 'two'), c: write('word', 'three'), d: write('pin', 'four') },
    edges: ['a > b', 'b > c', 'c > d'],
    channels: {
      list: { reducer: 'append', default: ['zero'], maxSize: 2 },
      word: { reducer: 'replace' },
      pin: { reducer: 'append', sensitive: true },
    },
  }).start()
}

/** Several ask at once, the first of them last, and are answered by votes and with a question. */
export const severalQuestions = (): Scenario => {
  const artifact = { artifactId: 'x', artifactType: 'text', title: 'Publish?', actions: ['accept', 'reject', 'ask'] }
  const run = given({
    nodes: {
      late: {
        type: 'core.approvalGate',
        config: { ...artifact, requiredApprovals: 2 },
        settings: { timeoutMs: 60_000 },
      },
      early: { type: 'core.clarificationGate', config: { questions: [{ id: 'q', question: 'Which?' }] } },
      wait: { type: 'core.delay', config: { delayMs: 50 } },
    },
    edges: ['wait > late'],
  }).start()
  return run
    .after(100)
    .when(answer('late', { action: 'ask', question: 'Why?' }))
    .when(answer('late', { action: 'accept' }))
    .when({ type: 'PauseRun', drainPolicy: 'immediate' })
    .when({ type: 'ResumeRun' })
    .when(answer('late', { action: 'accept' }, 'bob'))
    .when(answer('early', { answers: { q: 'this' } }))
}
