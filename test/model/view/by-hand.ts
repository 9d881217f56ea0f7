import type { ModelSaid } from '../../../src/core/invocation/brief.js'
import { branchOff } from '../../../src/core/replay/fork.js'
import type { RunStatus } from '../../../src/core/run/events.js'
import { compile, isPlan } from '../../../src/core/workflow/compile.js'
import { JUDGE_WORKFLOW } from '../../../src/core/workflow/nodes/judge.js'
import { coreNodeTypes } from '../../../src/core/workflow/nodes/registry.js'
import { hostWorkflow } from '../../../src/engine/plans/host-workflows.js'
import { gateAt, judged, poor, subFlow } from '../../../src/testing/gate-stories.js'
import { given, rulesFor, Scenario } from '../../../src/testing/given-when-then.js'
import {
  agentFlow,
  answered,
  atWork,
  breaks,
  briefs,
  reasons,
  returns,
  says,
  tool,
  wants,
} from '../../../src/testing/invocations.js'
import { LIMITS } from '../../../src/testing/limits.js'
import { answer, begins, ends, loopOf, next } from '../../../src/testing/orchestration.js'

/** Stories of what random ones seldom come to. */

const SECRET = { name: 'pin', type: 'string' as const, sensitive: true, defaultValue: 'tell-nobody' }

/** A loop that is left because it has gone round too often. */
export const tooManyPasses = (): Scenario =>
  given({
    nodes: { loop: { type: 'core.loop', config: { condition: 'true', maxIterations: 2 } }, body: 'core.noop' },
    edges: ['loop.body > body', 'body > loop'],
  }).start()

/** A node that reads memory, and one that writes into it, are stopped before either has come to it, and begin anew. */
export const stoppedAtMemory = (): Scenario =>
  given({
    nodes: {
      look: { type: 'core.memoryGet', config: { memoryRef: 'notes' } },
      note: { type: 'core.memoryPut', config: { memoryRef: 'notes', content: 'x' } },
    },
  })
    .start()
    .when({ type: 'PauseRun', drainPolicy: 'immediate' })
    .when({ type: 'ResumeRun' })

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

/** Two children wait for different people, and the first of them goes on. */
export function waitingChildren(): Scenario {
  const plan = [next('w', 'v'), { kind: 'terminate' }]
  const workflow = loopOf({ mockDispatchPlan: plan }, { dispatch: { fanOutPolicy: 'parallel' } })
  const run = given(workflow, ['assay.conformance']).start()
  begins(begins(run, 'c-0'), 'c-1', { worker: 1 })
  const waits = (childRunId: string, status: RunStatus) =>
    run.when({ type: 'ChildWaits', nodeId: 'dispatch', childRunId, status })
  waits('c-1', 'waiting-approval')
  waits('c-0', 'waiting-input')
  waits('c-0', 'running')
  return ends(ends(run, 'c-0'), 'c-1')
}

/** A result that is put to a gate only to learn what the gate says. */
export function trial(): Scenario {
  const nodeTypes = new Map(coreNodeTypes.map(type => [type.typeId, type]))
  const capabilities = new Set<string>()
  const plan = compile(hostWorkflow(JUDGE_WORKFLOW)!, 'digest', { nodeTypes, capabilities, accepted: true })
  if (!isPlan(plan)) throw new Error(plan.message)
  const run = new Scenario({ plan, limits: LIMITS, capabilities })
  return judged(run.start({ gateId: 'g1', output: { text: 'x' } }, undefined, [gateAt('judge', 'checkpoint')]), poor())
}

/** An agent that fails after it has used a tool: the next attempt does not pay for it again. */
export function paidToolCall(): Scenario {
  const run = atWork(given(agentFlow({ settings: { maxRetries: 1, retryDelayMs: 10 } })), {
    tools: [tool('mcp:x.look')],
  })
  returns(says(run, wants('mcp:x.look')))
  breaks(run, { retryable: true })
  briefs(run.after(100), { tools: [tool('mcp:x.look')] })
  return returns(says(run, wants('mcp:x.look')))
}

/** A run that is cancelled while its worker is at work, on a part of the budget. */
export function workerLetGo(): Scenario {
  const run = given(subFlow({ propagateCancellation: false })).start({}, { budget: { maxTokens: 1_000 } })
  return begins(run, 'c-0', { nodeId: 'a' }).when({ type: 'CancelRun', by: 'ann' })
}

/** A branch that may spend less than its source. */
export function thriftyBranch() {
  const { rules, log, now } = atWork(given(agentFlow()), {}, { budget: { maxTokens: 50_000 } })
  const fork = { sourceRunId: 'run-0', fromSeq: log.length, mode: 'branch', sourceLength: log.length } as const
  const overlay = { configurable: { budget: { maxTokens: 20_000 } }, tags: ['again'], metadata: { why: 'cheaper' } }
  const branch = branchOff(rules, { phase: 'absent', fork }, 'run-1', log, overlay, now + 5_000)
  if (!branch.ok) throw new Error(branch.refusal.message)
  return { rules, log: [...log, ...branch.events], fork }
}
