import { describe, expect, test } from 'vitest'
import { type Sketch, sketch } from '../../testing/workflow.js'
import type { JsonObject } from '../json.js'
import { compile, isPlan } from './compile.js'
import { configurableProblems } from './configurable.js'
import type { WorkflowEdge } from './definition.js'
import { coreNodeTypes } from './nodes/registry.js'
import { warningsOf } from './warnings.js'

const workshop = {
  nodeTypes: new Map(coreNodeTypes.map(type => [type.typeId, type])),
  capabilities: new Set(['assay.conformance']),
}

const refused = (definition: ReturnType<typeof sketch>): readonly string[] => {
  const result = compile(definition, 'digest', workshop)
  return isPlan(result) ? [] : (result.details?.problems as string[])
}

const problemsOf = (type: string, config: JsonObject, inputs: object = {}): readonly string[] =>
  refused(sketch({ nodes: { a: { type, config, inputs: inputs as never } } })).map(problem =>
    problem.replace('nodes["a"].', ''),
  )

describe('what people get wrong in the configuration of a node is told with its place, what was seen and the fix', () => {
  test.each<[string, JsonObject, string]>([
    ['core.delay', { delayMS: 100 }, 'config.delayMS is not a known field; did you mean config.delayMs?'],
    ['core.delay', { delay_ms: 100 }, 'config.delay_ms is not a known field; did you mean config.delayMs?'],
    [
      'core.delay',
      { delayMs: '30s' },
      'config.delayMs must be a number of milliseconds from 0 to 31536000000; got "30s"; write 30000',
    ],
    [
      'core.delay',
      { delayMs: '100' },
      'config.delayMs must be a number of milliseconds from 0 to 31536000000; got "100"; write 100 without quotes',
    ],
    ['core.delay', { delayMs: -1 }, 'config.delayMs must be a number of milliseconds from 0 to 31536000000; got -1'],
    [
      'core.delay',
      { durationMs: '2min' },
      'config.durationMs must be a number of milliseconds from 0 to 31536000000; got "2min"; write 120000',
    ],
    ['core.noop', { message: 'hi' }, 'config.message is not a known field; remove it: it takes none'],
    ['core.fail', { retryable: 'no' }, 'config.retryable must be true or false; got "no"; write false without quotes'],
    ['core.fail', { failures: 1.5 }, 'config.failures must be a whole number, 0 or more; got 1.5'],
    [
      'core.setVariable',
      { variable: 'x', value: 1 },
      'config.name is required: the name of the variable to set, of at most 256 characters; add it',
    ],
    ['core.setVariable', { name: 'x' }, 'config.value is missing; give the value as inputs.value or config.value'],
    [
      'core.setVariable',
      { name: 7, value: 1 },
      'config.name must be the name of the variable to set, of at most 256 characters; got 7; write "7" in quotes',
    ],
    [
      'core.getVariable',
      { name: 'x', defaultValue: 1 },
      'config.defaultValue is not a known field; remove it: the known fields are name, default',
    ],
    [
      'core.channelWrite',
      { channel: 'c', value: 1 },
      'config.channelName is required: the name of a channel, of at most 256 characters; add it',
    ],
    [
      'core.channelWrite',
      { channelName: 'c', value: 1, ttlMs: '1h' },
      'config.ttlMs must be a whole number of milliseconds from 1 to 31536000000; got "1h"; write 3600000',
    ],
    [
      'core.channelWrite',
      { channelName: 'c', value: 1, reducer: 'push' },
      'config.reducer must be the name of a reducer (^(replace|append|merge|counter|votes|feedback|message|vendor\\.[a-z][a-z0-9_-]*\\.[a-z][a-z0-9_-]*)$); got "push"',
    ],
    ['core.conditional', { condition: 'true' }, 'config.expression is required: a CEL expression; add it'],
    [
      'core.conditional',
      { expression: true },
      'config.expression must be a CEL expression; got true; write "true" in quotes',
    ],
    ['core.loop', { maxIteration: 3 }, 'config.maxIteration is not a known field; did you mean config.maxIterations?'],
    ['core.loop', { maxIterations: 0 }, 'config.maxIterations must be a whole number, 1 or more; got 0'],
    ['core.loop', {}, 'config says nothing of when to end; give config.condition, config.maxIterations or both'],
    [
      'core.subWorkflow',
      { workflow: 'child' },
      'config.workflowId is required: the id of a workflow (a-z, 0-9, _ and -, first a letter) or of an agent (with a dot), or peer:NAME/WORKFLOW; add it',
    ],
    [
      'core.subWorkflow',
      { workflowId: 'My Child' },
      'config.workflowId must be the id of a workflow (a-z, 0-9, _ and -, first a letter) or of an agent (with a dot), or peer:NAME/WORKFLOW; got "My Child"',
    ],
    [
      'core.subWorkflow',
      { workflowId: 'c', onChildFailure: 'absorbed' },
      'config.onChildFailure must be one of fail-parent, absorb; got "absorbed"; did you mean absorb?',
    ],
    [
      'core.subWorkflow',
      { workflowId: 'c', waitForCompletion: false },
      'config.waitForCompletion must be true, or left out: false is not supported; got false',
    ],
    [
      'core.subWorkflow',
      { workflowId: 'c', inputMapping: { x: 1 } },
      'config.inputMapping.x must be the name of a variable, of at most 256 characters; got 1; write "1" in quotes',
    ],
    [
      'core.subWorkflow',
      { workflowId: 'c', requireApproval: true },
      'config.requireApproval is not a known field here; it belongs at config.outputAttestation.requireApproval',
    ],
    [
      'core.agent',
      { agentId: 'a.b', resultVar: 'x' },
      'config.resultVar is not a known field; remove it: the known fields are agentId, resultVariable, timeoutMs, systemPromptRef, userPromptRef, schemaHintPromptRef, fewShotPromptRefs',
    ],
    ['core.agent', { agentID: 'a.b' }, 'config.agentID is not a known field; did you mean config.agentId?'],
    [
      'core.agent',
      { agentId: 'a.b', timeoutMs: '5m' },
      'config.timeoutMs must be a whole number of milliseconds from 0 to 31536000000; got "5m"; write 300000',
    ],
    [
      'core.agent',
      { agentId: 'a.b', systemPromptRef: 'writer' },
      'config.systemPromptRef must be prompt:ID or prompt:ID@VERSION, or an object with templateId and perhaps libraryId, version, variableOverrides; got "writer"',
    ],
    ['core.agent', {}, 'agent.agentId must name the agent that does the task'],
    ['core.approvalGate', { titl: 'Publish?' }, 'config.titl is not a known field; did you mean config.title?'],
    [
      'core.approvalGate',
      { actions: ['accept', 'deny'] },
      'config.actions[1] must be one of accept, reject, refine, edit-accept, ask; got "deny"',
    ],
    [
      'core.approvalGate',
      { actions: 'accept' },
      'config.actions must be a list of 1 to 5 items; got "accept"; write ["accept"]',
    ],
    ['core.approvalGate', { actions: ['accept', 'accept'] }, 'config.actions has "accept" twice; give each once'],
    ['core.approvalGate', { approvers: ['ann'] }, 'config.approvers is not a known field'],
    [
      'core.approvalGate',
      { approversList: ['ann'], requiredApprovals: 2 },
      'config.requiredApprovals is 2, more than approversList has names (1); lower it',
    ],
    [
      'core.approvalGate',
      { timeoutMs: '1 day' },
      'config.timeoutMs must be a whole number of milliseconds from 0 to 31536000000; got "1 day"',
    ],
    [
      'core.approvalGate',
      { audience: {} },
      'config.audience must be left out: this host knows principals only; use approversList; got an object',
    ],
    ['core.clarificationGate', { questions: ['Which?'] }, 'config.questions[0] must be an object; got "Which?"'],
    [
      'core.clarificationGate',
      { questions: [{ id: 'q', text: 'Which?' }] },
      'config.questions[0].question is required: text that is not empty; add it',
    ],
    [
      'core.clarificationGate',
      { question: 'Which?' },
      'config.questions is required: a list of at least one question; add it',
    ],
    [
      'core.interrupt',
      { kind: 'approve', data: {} },
      'config.kind must be one of approval, clarification, external-event, custom, low-confidence; got "approve"; did you mean approval?',
    ],
    [
      'core.interrupt',
      { kind: 'custom', data: {} },
      'config.data.customKind is required: text that is not empty; add it',
    ],
    ['core.interrupt', { kind: 'custom', customKind: 'x' }, 'config.customKind is not a known field'],
  ])('%s %j', (type, config, message) => {
    expect(problemsOf(type, config).join('\n')).toContain(message)
  })

  const supervisor = (config: JsonObject): readonly string[] =>
    refused(sketch({ nodes: { s: { type: 'core.orchestrator.supervisor', config } } })).map(problem =>
      problem.replace('nodes["s"].', ''),
    )

  test.each<[JsonObject, string]>([
    [{ promt: 'lead' }, 'config.promt is not a known field; did you mean config.prompt?'],
    [{ prompt: 'lead', model: 'gpt-5' }, 'config.model must be provider:model, such as openai:gpt-5-mini; got "gpt-5"'],
    [{ prompt: 'lead', tools: ['x'] }, 'config.tools is not a known field'],
    [
      { prompt: 'lead', toolAllowlist: 'mcp:a.b' },
      'config.toolAllowlist must be a list of at most 1000 items; got "mcp:a.b"; write ["mcp:a.b"]',
    ],
    [
      { rules: [{ if: 'true', decide: { kind: 'terminate' } }] },
      'config.rules[0].if is not a known field; remove it: the known fields are when, decide',
    ],
    [
      { rules: [{ decide: { kind: 'next-worker', nextWorkerId: 'a' } }] },
      'config.rules[0].decide.nextWorkerId is not a known field; did you mean config.rules[0].decide.nextWorkerIds?',
    ],
    [
      { rules: [{ decide: { kind: 'stop' } }] },
      'config.rules[0].decide.kind must be one of next-worker, terminate, clarify, escalate, ask-user; got "stop"',
    ],
    [
      { rules: [{ decide: { kind: 'terminate', confidence: 90 } }] },
      'config.rules[0].decide.confidence must be a number from 0 to 1; got 90',
    ],
    [{ rules: [{ when: 'true', decide: { kind: 'terminate' } }] }, 'config.rules[0] is the last and must have no when'],
    [{}, 'config has no source of decisions'],
  ])('core.orchestrator.supervisor %j', (config, message) => {
    const own = { ...workshop, capabilities: new Set<string>() }
    const result = compile(sketch({ nodes: { s: { type: 'core.orchestrator.supervisor', config } } }), 'd', own)
    expect(isPlan(result) ? '' : result.message).toContain(message)
    if (Object.keys(config).length > 0) expect(supervisor(config).join('\n')).toContain(message)
  })
})

describe('settings', () => {
  const ofNode = (settings: object) =>
    refused(sketch({ nodes: { a: { type: 'core.noop', settings: settings as never } } })).join('\n')
  const ofWorkflow = (settings: object) =>
    refused(sketch({ nodes: { a: 'core.noop' }, settings: settings as never })).join('\n')

  test.each<[object, string]>([
    [{ timeout: 100 }, 'nodes["a"].settings.timeout is not a known field; did you mean settings.timeoutMs?'],
    [{ retries: 3 }, ''],
    [{ maxRetris: 3 }, 'settings.maxRetris is not a known field; did you mean settings.maxRetries?'],
    [
      { timeoutMs: '10s' },
      'settings.timeoutMs must be a whole number of milliseconds from 0 to 31622400000; got "10s"; write 10000',
    ],
    [{ maxRetries: -1 }, 'settings.maxRetries must be a whole number from 0 to 1000; got -1'],
    [
      { retryDelayMs: 0.5 },
      'settings.retryDelayMs must be a whole number of milliseconds from 0 to 31622400000; got 0.5',
    ],
    [
      { retryBackoffFactor: '2' },
      'settings.retryBackoffFactor must be a number from 1 to 100; got "2"; write 2 without quotes',
    ],
  ])('of a node: %j', (settings, message) => {
    if (message === '') expect(ofNode(settings)).toBe('')
    else expect(ofNode(settings)).toContain(message)
  })

  test.each<[object, string]>([
    [{ timeoutMs: 100 }, 'settings.timeoutMs is not a known field; did you mean settings.timeout?'],
    [{ timeout: '1h' }, 'settings.timeout must be a whole number, 0 or more; got "1h"; write 3600000'],
    [{ maxRetries: '3' }, 'settings.maxRetries must be a whole number, 0 or more; got "3"; write 3 without quotes'],
    [{ loglevel: 'debug' }, 'settings.loglevel is not a known field; did you mean settings.logLevel?'],
    [{ logLevel: 'warning' }, 'settings.logLevel must be one of debug, info, warn, error; got "warning"'],
    [{ maxLoopbackIterations: 0 }, 'settings.maxLoopbackIterations must be a whole number, 1 or more; got 0'],
  ])('of a workflow: %j', (settings, message) => {
    expect(ofWorkflow(settings)).toContain(message)
  })
})

describe('the options of a run', () => {
  test.each<[JsonObject, string]>([
    [{ recursionLimit: 0 }, 'configurable.recursionLimit must be a whole number, 1 or more; got 0'],
    [
      { recursionLimit: '50' },
      'configurable.recursionLimit must be a whole number, 1 or more; got "50"; write 50 without quotes',
    ],
    [
      { runTimeoutMs: '5m' },
      'configurable.runTimeoutMs must be a whole number of milliseconds, 1 or more; got "5m"; write 300000',
    ],
    [{ runTimeoutMs: 1.5 }, 'configurable.runTimeoutMs must be a whole number of milliseconds, 1 or more; got 1.5'],
    [{ maxLoopIterations: null }, 'configurable.maxLoopIterations must be a whole number, 1 or more; got null'],
    [{ maxTokens: -1 }, 'configurable.maxTokens must be a whole number, 1 or more; got -1'],
    [{ temperature: 3 }, 'configurable.temperature must be a number from 0 to 2; got 3'],
    [{ escalationThreshold: 70 }, 'configurable.escalationThreshold must be a number from 0 to 1; got 70'],
    [
      { reasoningVerbosity: 'sumary' },
      'configurable.reasoningVerbosity must be one of summary, full, off; got "sumary"; did you mean summary?',
    ],
    [{ ai: 'gpt-5' }, 'configurable.ai must be an object; got "gpt-5"'],
    [{ ai: { modl: 'gpt-5' } }, 'configurable.ai.modl is not a known field; did you mean configurable.ai.model?'],
    [
      { ai: { maxTokens: 5 } },
      'configurable.ai.maxTokens is not a known field here; it belongs at configurable.budget.maxTokens',
    ],
    [
      { ai: { temperature: '0.5' } },
      'configurable.ai.temperature must be a number from 0 to 2; got "0.5"; write 0.5 without quotes',
    ],
    [{ ai: { maxOutputTokens: 0 } }, 'configurable.ai.maxOutputTokens must be a whole number, 1 or more; got 0'],
    [{ budget: 5 }, 'configurable.budget must be an object; got 5'],
    [
      { budget: { maxCostUSD: 1 } },
      'configurable.budget.maxCostUSD is not a known field; did you mean configurable.budget.maxCostUsd?',
    ],
    [{ budget: { maxCostUsd: '$5' } }, 'configurable.budget.maxCostUsd must be a number from 0 to 1000000; got "$5"'],
    [{ budget: { maxTokens: 0 } }, 'configurable.budget.maxTokens must be a whole number, 1 or more; got 0'],
    [
      { budget: { modelAllow: 'gpt-*' } },
      'configurable.budget.modelAllow must be a list of at most 100 model names, in which * stands for any text; got "gpt-*"; write ["gpt-*"]',
    ],
    [
      { budget: { thresholdPercent: 120 } },
      'configurable.budget.thresholdPercent must be a number from 0 to 100; got 120',
    ],
    [
      { budget: { onExhaustion: 'ask' } },
      'configurable.budget.onExhaustion must be "fail": the run fails, or "interrupt": it asks a person to let it spend more; got "ask"',
    ],
    [
      { budget: { runTimeoutMs: 5 } },
      'configurable.budget.runTimeoutMs is not a known field here; it belongs at configurable.runTimeoutMs',
    ],
  ])('core §10: %j', (configurable, message) => {
    expect(configurableProblems(configurable)).toEqual([message])
  })

  test('core §10: what the host does not understand is for the workflow', () => {
    expect(configurableProblems({ recursionlimit: 'mine', model: 'x', own: { any: [1] } })).toEqual([])
  })
})

describe('expressions', () => {
  const nodes = {
    write: { type: 'core.identity', inputs: { payload: { type: 'static', value: 1 } } },
    'check-it': 'core.noop',
  }
  const said = (expression: string, over: Partial<Sketch> = {}) =>
    refused(
      sketch({
        nodes: {
          ...nodes,
          a: { type: 'core.identity', inputs: { payload: { type: 'expression', expression } } },
        } as never,
        ...over,
      }),
    )

  test.each<[string, string]>([
    ['inputz.name', 'reads "inputz", which is nothing; did you mean inputs?'],
    ['variable.name', 'reads "variable", which is nothing; did you mean variables?'],
    [
      'vars.name',
      'reads "vars", which is nothing; it can read inputs, input, variables, channels, configurable, nodes, as in inputs.vars or variables.vars',
    ],
    ['node.write.payload', 'reads "node", which is nothing; did you mean nodes?'],
    ['name == "Ada"', 'reads "name", which is nothing; it can read'],
    ['write.payload', 'reads "write", which is nothing; did you mean nodes.write?'],
    ['nodes.writ.payload', 'reads nodes.writ, and there is no such node; did you mean nodes.write?'],
    ['nodes["check_it"].x', 'reads nodes.check_it, and there is no such node; did you mean nodes["check-it"]?'],
    ['nodes.entirely.x', 'reads nodes.entirely, and there is no such node; the nodes are write, check-it, a'],
    ['has(nodes.writr.payload) ? 1 : 2', 'reads nodes.writr, and there is no such node; did you mean nodes.write?'],
    ['[1].map(x, y)', 'reads "y", which is nothing'],
    ['[1].filter(x, x > limit)', 'reads "limit", which is nothing'],
    ['cel.bind(x, 1, x + z)', 'reads "z", which is nothing'],
    ['{"a": b}', 'reads "b", which is nothing'],
    ['size(input_list)', 'reads "input_list", which is nothing'],
    ['output.x', 'reads "output", which is nothing'],
    ['iteration > 1', 'reads "iteration", which is nothing'],
    ['config.x', 'reads "config", which is nothing'],
    ['inputs[key]', 'reads "key", which is nothing'],
    ['"x" in node', 'reads "node", which is nothing; did you mean nodes?'],
  ])('%s is refused', (expression, message) => {
    expect(said(expression)).toEqual([expect.stringContaining(`nodes["a"].inputs.payload ${message}`)])
  })

  test.each([
    'inputs.name + variables.x + channels.c',
    'input.name == configurable.name',
    'nodes.write.payload > 1 && nodes["check-it"] != null',
    '[1, 2].map(x, x * 2).filter(y, y > 2)',
    '[[1]].exists(a, a.all(b, b == 1))',
    '[1].map(x, x > 0, x + 1)',
    'cel.bind(sum, 1 + 2, sum * sum)',
    'type(inputs.x) == int ? 1 : 2',
    'nodes[inputs.which].payload',
    'has(inputs.name) ? inputs.name : "nobody"',
    'timestamp("2026-01-01T00:00:00Z") > timestamp(inputs.at)',
  ])('%s is taken', expression => {
    expect(said(expression)).toEqual([])
  })

  const edge = (condition: WorkflowEdge['condition']) =>
    refused(sketch({ nodes: nodes as never, edges: [{ path: 'write > check-it', condition: condition as never }] }))

  test.each<[NonNullable<WorkflowEdge['condition']>, string]>([
    [
      { expression: 'outputs.ok' },
      'edges["e0"].condition.expression reads "outputs", which is nothing; did you mean output?',
    ],
    [{ expression: 'ok == true' }, 'edges["e0"].condition.expression reads "ok", which is nothing'],
    [
      { expression: 'nodes.wrote.x' },
      'edges["e0"].condition.expression reads nodes.wrote, and there is no such node; did you mean nodes.write?',
    ],
    [
      { type: 'equals', left: 'nodes.wrote.x', right: 1 },
      'edges["e0"].condition.left reads nodes.wrote, and there is no such node; did you mean nodes.write?',
    ],
    [{ type: 'equals', right: 1 }, 'edges["e0"].condition needs an expression, or a type with left and right'],
  ])('a condition %j is refused', (condition, message) => {
    expect(edge(condition)).toEqual([expect.stringContaining(message)])
  })

  test('what a supervisor and a loop can read is theirs alone', () => {
    const loop = (condition: string) =>
      refused(
        sketch({
          nodes: { l: { type: 'core.loop', config: { condition } }, b: 'core.noop' },
          edges: ['l.body > b', 'b > l'],
        }),
      )
    expect(loop('iteration < 3')).toEqual([])
    expect(loop('workers.size() < 3')).toEqual([expect.stringContaining('config.condition reads "workers"')])
  })

  test('a stored definition is not judged again', () => {
    const definition = sketch({
      nodes: {
        a: {
          type: 'core.delay',
          config: { delayMS: 1 },
          inputs: { delayMs: { type: 'expression', expression: 'nothing' } },
        },
      },
    })
    const old = { ...definition, triggers: [{ id: 't', type: 'schedule' }] }
    expect(isPlan(compile(old, 'digest', { ...workshop, accepted: true }))).toBe(true)
    expect(refused(old)).toHaveLength(3)
  })
})

describe('triggers', () => {
  const said = (trigger: JsonObject) =>
    refused({ ...sketch({ nodes: { a: 'core.noop' } }), triggers: [{ id: 't', ...trigger }] })

  test.each(['webhook', 'event', 'artifact', 'canvas', 'envelope', 'command', 'chat-message', 'channel-write'])(
    'nothing serves %s, so it is refused',
    type => {
      expect(said({ type })).toEqual([
        expect.stringMatching(
          new RegExp(
            `^triggers\\["t"\\]\\.type is "${type}", .* this host serves manual, schedule; remove it, and .*POST /v1/runs`,
          ),
        ),
      ])
      expect(said({ type, enabled: false })).toEqual([])
    },
  )

  test('one that a person pulls is served', () => {
    expect(said({ type: 'manual', enabled: true })).toEqual([])
  })
})

describe('what is taken, and told to be doubtful', () => {
  const warned = (workflow: Sketch): readonly string[] => {
    const plan = compile(sketch(workflow), 'digest', workshop)
    if (!isPlan(plan)) throw new Error(plan.message)
    return warningsOf(plan)
  }
  const reading = (expression: string, more: Partial<Sketch> = {}): Sketch => ({
    nodes: { a: { type: 'core.identity', inputs: { payload: { type: 'expression', expression } } } },
    variables: [{ name: 'topic', type: 'string' }],
    ...more,
  })

  test.each<[string, Sketch, string[]]>([
    [
      'a misspelt input',
      reading('inputs.topik'),
      ['nodes["a"].inputs.payload reads inputs.topik, which the workflow does not declare; did you mean inputs.topic?'],
    ],
    [
      'a misspelt variable',
      reading('variables.topc'),
      [
        'nodes["a"].inputs.payload reads variables.topc, which the workflow does not declare; did you mean variables.topic?',
      ],
    ],
    [
      'an undeclared input',
      reading('inputs.length_of_it'),
      [
        'nodes["a"].inputs.payload reads inputs.length_of_it, which the workflow does not declare; declare "length_of_it" under variables',
      ],
    ],
    ['a declared one', reading('inputs.topic + variables.topic'), []],
    ['feedback, which the host gives', reading('variables.verificationFeedback'), []],
    [
      'a port',
      {
        nodes: { a: { type: 'core.identity', inputs: { payload: { type: 'variable', variableName: 'topik' } } } },
        variables: [{ name: 'topic', type: 'string' }],
      },
      [
        'nodes["a"].inputs.payload reads variables.topik, which the workflow does not declare; did you mean variables.topic?',
      ],
    ],
    [
      'a setting of others',
      { nodes: { a: { type: 'core.noop', settings: { concurrency: 3 } as never } } },
      [expect.stringContaining('nodes["a"].settings.concurrency is read by nothing here') as never],
    ],
    [
      'a variable that a node sets',
      {
        nodes: {
          s: { type: 'core.setVariable', config: { name: 'sum', value: 1 } },
          ...reading('variables.sum').nodes,
        },
      },
      [],
    ],
  ])('%s', (_what, workflow, messages) => {
    expect(warned(workflow)).toEqual(messages)
  })
})
