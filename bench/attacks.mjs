// What one tenant does to exhaust a resource, and which bound is there for it.
const members = n => Object.fromEntries(Array.from({ length: n }, (_, i) => [`key${i}`, `value${i}`]))
const numbers = n => Array.from({ length: n }, (_, i) => i)

/** Letters in no order that an automaton could remember. */
function letters(n) {
  let seed = 12_345
  return Array.from({ length: n }, () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return 'ab'[(seed >>> 16) & 1]
  }).join('')
}

export const workflow = (id, nodes, edges = [], variables = []) => ({
  id,
  name: id,
  version: '1.0',
  nodes: Object.entries(nodes).map(([nodeId, { type, config = {}, inputs = {} }], i) => ({
    id: nodeId,
    typeId: type,
    name: nodeId,
    position: { x: i * 100, y: 0 },
    config,
    inputs,
  })),
  edges: edges.map(([from, to, sourceOutput], i) => ({
    id: `e${i}`,
    sourceNodeId: from,
    targetNodeId: to,
    ...(sourceOutput ? { sourceOutput } : {}),
  })),
  triggers: [],
  variables,
  metadata: {},
  settings: {},
})

const expression = source => ({ type: 'expression', expression: source })

export const loop = (id, condition, value, passes) =>
  workflow(
    id,
    {
      loop: { type: 'core.loop', config: { ...(condition ? { condition } : {}), maxIterations: passes } },
      body: { type: 'core.setVariable', config: { name: 'x' }, inputs: { value: expression(value) } },
    },
    [
      ['loop', 'body', 'body'],
      ['body', 'loop'],
    ],
  )
const one = (id, source) => workflow(id, { a: { type: 'core.identity', inputs: { v: expression(source) } } })

/** A run that tells a few events every millisecond, one of them with all of its text. */
const ticking = workflow(
  'attack',
  {
    loop: { type: 'core.loop', config: { maxIterations: 100_000 } },
    body: { type: 'core.setVariable', config: { name: 'x' }, inputs: { value: expression('inputs.t') } },
    pause: { type: 'core.delay', config: { delayMs: 1 } },
  },
  [
    ['loop', 'body', 'body'],
    ['body', 'pause'],
    ['pause', 'loop'],
  ],
)

// Each state of it leads to two others: the engine cannot keep them, and goes through all parts for each character.
const PATTERN = '[ab]*a[ab]{600}[yz]$'

/** A gate whose one question is answered by a search. */
const gate = {
  gate_id: 'searched',
  name: 'Searched',
  position: { workflow_id: 'attack', phase_id: 'a', placement: 'workflow_exit' },
  intent_refs: ['true'],
  evaluation_criteria: [
    {
      dimension: 'form',
      scale: { min: 0, max: 1, type: 'integer' },
      pass_threshold: 1,
      probes: numbers(10).map(i => ({ type: 'regex', path: '/variables/x', pattern: PATTERN.replace('600', 600 - i) })),
    },
  ],
  verifier_requirements: {},
  gate_behaviour: { on_fail: 'reject', max_attempts: 1 },
  exit_values: ['variables.x'],
}
const intent = { intent_id: 'true', type: 'operational', title: 'True', statement: 'It is what it should be.' }

/**
 * `unbounded` (a part of `createHost`) or `settings` take the bound away. The attack is runs of `workflow`, again and again
 * by `callers` at once, or `runs` of them and no more; or `readers` of one run's log; or `strangers` without a valid key. `measure`
 * says what the bound is there for, if not for the time that others wait.
 */
export const ATTACKS = {
  'regular expressions': {
    unbounded: { decisions: true },
    workflow: one('attack', 'inputs.t.matches(inputs.p)'),
    inputs: { t: letters(100_000), p: PATTERN },
  },
  loops: {
    unbounded: { decisions: true },
    workflow: loop('attack', 'inputs.a == inputs.b', 'inputs.a == inputs.b', 400),
    inputs: { a: members(8_000), b: members(8_000) },
  },
  'deep JSON': {
    unbounded: { decisions: true },
    workflow: one('attack', 'inputs.l.map(x, inputs.m).size() == 0 ? [] : inputs.l.map(x, inputs.m)'),
    inputs: { l: numbers(400), m: members(2_000) },
  },
  'long texts': {
    unbounded: { decisions: true },
    workflow: one('attack', 'inputs.l.all(x, inputs.t.size() > 0)'),
    inputs: { l: numbers(500), t: 'x'.repeat(800_000) },
  },
  'huge outputs': {
    unbounded: { decisions: true },
    workflow: loop('attack', undefined, 'inputs.t', 60),
    inputs: { t: 'x'.repeat(900_000) },
  },
  recursion: {
    unbounded: { decisions: true },
    also: [one('worker', `[${numbers(40)}].all(x, inputs.a == inputs.b)`)],
    workflow: workflow(
      'attack',
      Object.fromEntries(
        numbers(40).map(i => [
          `child${i}`,
          {
            type: 'core.subWorkflow',
            config: { workflowId: 'worker', inputMapping: { a: 'a', b: 'b' } },
          },
        ]),
      ),
      [],
      ['a', 'b'].map(name => ({ name, type: 'object' })),
    ),
    inputs: { a: members(4_000), b: members(4_000) },
  },
  probes: {
    unbounded: { probes: true },
    standards: [
      ['intents', intent],
      ['gates', gate],
    ],
    workflow: workflow(
      'attack',
      { a: { type: 'core.setVariable', config: { name: 'x' }, inputs: { value: expression('inputs.t') } } },
      [],
      [{ name: 'x', type: 'string' }],
    ),
    inputs: { t: letters(20_000) },
  },
  'effects at once': {
    settings: { 'quotas.effectsAtOnce': 64 },
    isTimedToEnd: true,
    runs: 80,
    workflow: workflow('attack', { a: { type: 'core.conformance.side-effect', config: { ms: 8_000 } } }),
    inputs: {},
  },
  streams: { unbounded: { streams: true }, workflow: ticking, readers: 990, reads: true, text: 25_000 },
  histories: { unbounded: { streams: true }, readers: 250, reads: true, text: 6_000 },
  'slow readers': {
    unbounded: { streams: true, buffers: true },
    readers: 25,
    reads: false,
    text: 16_000,
    measure: 'memory',
  },
  'wrong keys': { unbounded: { strangers: true }, strangers: 100, measure: 'guesses' },
}
