import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Json } from '../../../src/core/json.js'
import type { PrepareAgentRequest } from '../../../src/engine/ports/agents.js'
import { BUNDLE, CANARY, CRITIC, SCHEMA, type VerifierRig, verifierRig } from './rig.js'

/** R-DWS-33: whatever stands near a verifier, only its bundle reaches it. */

let rig: VerifierRig
beforeAll(async () => {
  rig = await verifierRig()
})
afterAll(() => rig.close())

const LEAK = 'LEAK-5d1f'
const leak = (where: string): string => `${LEAK}-${where}`

/** Everything that an ask can carry, with a mark in each place that is not for a verifier. */
const LEAKING: Omit<PrepareAgentRequest, 'agent'> = {
  tenant: 't1',
  role: 'verifier',
  task: { ...BUNDLE, transcript: leak('bundle'), reasoning: leak('bundle') } as unknown as Json,
  prompts: {
    node: { systemPromptRef: leak('node'), userPromptRef: leak('node'), agentId: leak('node') },
    workflow: { system: leak('workflow'), user: leak('workflow'), 'few-shot': leak('workflow') },
  },
  variables: { input: leak('input'), variable: { draft: leak('variable') }, context: { runId: leak('context') } },
  ai: {},
  fixed: () => undefined,
  returnSchema: SCHEMA,
  transcript: [
    { sequence: 0, type: 'node.completed', nodeId: 'a', payload: { outputs: { outcome: leak('transcript') } } },
  ] as never,
  feedback: { gateId: leak('feedback'), attempt: 1, dimensions: [], findings: [], note: leak('feedback') },
  signal: new AbortController().signal,
}

const AGENTS: readonly [string, PrepareAgentRequest['agent']][] = [
  ['the host’s own', { agentId: 'assay.verifier', inline: { systemPrompt: 'Mind the commas.' } }],
  [
    'one that was described with tools',
    {
      agentId: 'assay.verifier',
      inline: { systemPrompt: 'Mind the commas.', toolAllowlist: ['assay:artifact.create', 'assay:http.get'] },
    },
  ],
  ['one of the catalogue', { agentId: CRITIC }],
]

describe.each(AGENTS)('a verifier, %s,', (_which, agent) => {
  const brief = async (more: Partial<PrepareAgentRequest> = {}) => {
    const answer = await rig.house.agents.prepare({ ...LEAKING, agent, ...more })
    if (!answer.ok) throw new Error(`${answer.code}: ${answer.message}`)
    return answer
  }

  test('R-DWS-7 R-DWS-8 R-DWS-9 R-DWS-11: is shown its bundle, and nothing of any run', async () => {
    const { told, contents } = await brief()
    expect(JSON.stringify({ told, contents })).not.toContain(LEAK)
    for (const shown of ['Cats purr.', 'Tell of cats', 'Say nothing of dogs', 'They purr.', 'pass_threshold'])
      expect(contents.user).toContain(shown)
    expect(contents.system).toContain('Mind the commas.')
    // The marks are worth something only if the mutated ask would have shown them to somebody else.
    const worker = await rig.house.agents.prepare({
      ...LEAKING,
      agent,
      role: 'worker',
      prompts: { node: {}, workflow: {} },
    })
    expect(JSON.stringify(worker)).toContain(leak('transcript'))
    expect(JSON.stringify(worker)).toContain(leak('feedback'))
  })

  test('R-DWS-10 R-DWS-4 R-DWS-12: has no tools and no memory, and is held to the gate’s schema alone', async () => {
    const { told, contents } = await brief()
    expect(told).toMatchObject({ tools: [], memoryBound: false, checksResult: true })
    expect(told).not.toHaveProperty('taskProblem')
    expect(contents).toMatchObject({ tools: [], wrapped: true, returnSchema: SCHEMA, canary: CANARY })
    expect(contents.system).toContain(JSON.stringify(SCHEMA))
    // Nothing that redaction could take for a credential, and so out of the text.
    expect(contents.canary).toMatch(/^[0-9a-f]{32}$/)
    expect(contents.user).toContain(contents.canary)
  })

  test('R-DWS-21: each time has marks of its own, so that no answer of before can stand in for a new one', async () => {
    const asks = await Promise.all([brief(), brief()])
    const keys = asks.map(({ told: { provider, model }, contents }) =>
      rig.house.agents.keyOf({
        tenant: 't1',
        id: 'e',
        traceparent: 't',
        provider,
        model,
        brief: contents,
        rounds: [],
        maxOutputTokens: 1,
        verbosity: 'off',
        signal: LEAKING.signal,
      }),
    )
    expect(new Set(keys).size).toBe(2)
  })
})

test('R-DWS-12: an agent that is not there is not replaced by another', async () => {
  const answer = await rig.house.agents.prepare({ ...LEAKING, agent: { agentId: 'local.judges.nobody' } })
  expect(answer).toMatchObject({ ok: false, code: 'unknown_agent', retryable: false })
})
