import type { GatedPoint } from '../../../src/engine/ports/event-log.js'
import * as g from './gate-fixtures.js'

/** A log whose last event must be refused, and would not be without that one constraint. */
export type Attack = {
  readonly constraint: string
  readonly what: string
  readonly gated: readonly GatedPoint[]
  readonly log: readonly g.Loose[]
}

const NODE = [g.gatedPoint('node')]
const HARVEST = [g.gatedPoint('harvest')]
/** Of a run of version 2 of the rules. */
const OLDER = { confirm: null } as const

const SECOND = { gateId: 'g2', resultHash: 'h2' }
/** Gate `g` has passed one result, gate `g2` another. */
const twoResults = (point: g.Point): g.Loose[] => [
  g.staged(point),
  g.judged('pass'),
  g.staged(point, SECOND),
  g.judged('pass', SECOND),
]

const hashes: Attack[] = g.POINTS.flatMap(point => {
  const attack = { constraint: 'merges_hash', gated: [g.gatedPoint(point)] }
  const passed = [g.staged(point), g.judged('pass')]
  return [
    { ...attack, what: `a ${point} that merges another result`, log: [...passed, g.merge(point, { resultHash: 'x' })] },
    { ...attack, what: `a ${point} that names no result`, log: [...passed, g.merge(point, { resultHash: null })] },
    {
      ...attack,
      what: `a ${point} past two gates, of which one has passed another result`,
      gated: [g.gatedPoint(point), g.gatedPoint(point, { gateId: 'g2', ...OLDER })],
      log: [
        g.staged(point),
        g.judged('pass'),
        g.staged(point, { gateId: 'g2' }),
        g.judged('pass', { gateId: 'g2' }),
        g.merge(point, { resultHash: 'h2' }),
      ],
    },
    {
      ...attack,
      what: `a ${point} of an older run that names another result`,
      gated: [g.gatedPoint(point, OLDER)],
      log: [...passed, g.merge(point, { resultHash: 'x' })],
    },
  ]
})

const oneHash: Attack[] = g.POINTS.map(point => ({
  constraint: 'merges_one_hash',
  what: `a ${point} whose gates have passed different results`,
  gated: [g.gatedPoint(point, OLDER), g.gatedPoint(point, { gateId: 'g2', ...OLDER })],
  log: [...twoResults(point), g.merge(point, { resultHash: null })],
}))

const coverage: Attack[] = g.POINTS.flatMap(point =>
  [
    { what: 'of which some was not judged', label: 'verified in part', confirm: 'full' as const },
    { what: 'of which is not said what was judged', label: '', confirm: 'full' as const },
    { what: 'of which a gate that asks less does not say it either', label: '', confirm: 'none' as const },
  ].map(({ what, label, confirm }) => ({
    constraint: 'merges_coverage',
    what: `a ${point} ${what}`,
    gated: [g.gatedPoint(point, { confirm })],
    log: [g.staged(point), g.judged('pass', { label }), g.merge(point)],
  })),
)

const reached = g.merge('run', { goalSatisfied: true, resultHash: null })

const goals: Attack[] = [
  { what: 'a fail', log: [g.staged('node'), g.judged('fail')] },
  { what: 'a revise', log: [g.staged('node'), g.judged('revise')] },
  { what: 'a fail after a pass', log: [g.staged('node'), g.judged('pass'), g.judged('fail')] },
  { what: 'a forced pass', log: [g.staged('node'), g.judged('pass', { label: 'forced' }), g.merge('node')] },
  { what: 'a pass in part', log: [g.staged('node'), g.judged('pass', { label: 'verified in part' })] },
  {
    what: 'a fail of one worker, which another does not make up for',
    gated: HARVEST,
    log: [
      g.staged('harvest', { workerId: 'w' }),
      g.judged('fail'),
      g.staged('harvest', { workerId: 'v', target: 'u', resultHash: 'i' }),
      g.judged('pass', { target: 'u', resultHash: 'i' }),
    ],
  },
  {
    what: 'a fail of a tool, of which no later result has passed',
    gated: [g.gatedPoint('tool')],
    log: [
      g.staged('tool', { target: 'first', resultHash: 'i' }),
      g.judged('pass', { target: 'first', resultHash: 'i' }),
      g.staged('tool'),
      g.judged('fail'),
    ],
  },
].map(({ what, gated = NODE, log }) => ({
  constraint: 'goal',
  what: `a goal reached against ${what}`,
  gated,
  log: [...log, reached],
}))

const WRITES = ['variable.changed', 'channel.written'] as const

const writes: Attack[] = WRITES.flatMap(type =>
  [
    { what: 'before anything is staged', gated: NODE, log: [] },
    { what: 'before the verdict', gated: NODE, log: [g.staged('node')] },
    { what: 'after a fail', gated: NODE, log: [g.staged('node'), g.judged('fail')] },
    { what: 'of the next result', gated: NODE, log: [g.staged('node'), g.judged('pass'), g.staged('node')] },
    { what: 'after the merge', gated: NODE, log: [g.staged('node'), g.judged('pass'), g.merge('node')] },
    {
      what: 'past the second of two gates',
      gated: [...NODE, g.gatedPoint('node', { gateId: 'g2' })],
      log: [g.staged('node'), g.judged('pass')],
    },
    { what: 'of a worker before anything is staged', gated: HARVEST, log: [] },
    { what: 'of a worker before the verdict', gated: HARVEST, log: [g.staged('harvest')] },
    { what: 'of a worker after a revise', gated: HARVEST, log: [g.staged('harvest'), g.judged('revise')] },
  ].map(({ what, gated, log }) => ({
    constraint: 'writes',
    what: `${type} ${what}`,
    gated,
    log: [...log, g.made(type)],
  })),
)

const artifacts: Attack[] = [
  { what: 'before the verdict', log: [g.staged('node')] },
  { what: 'before the merge', log: [g.staged('node'), g.judged('pass')] },
].map(({ what, log }) => ({
  constraint: 'artifacts',
  what: `an artifact ${what}`,
  gated: NODE,
  log: [...log, g.made('artifact.created')],
}))

const TOOL = [g.gatedPoint('tool')]

/** Words of a tool that reach the agent without having been before its gate. */
const tools: Attack[] = [
  { what: 'before anything is staged', log: [] },
  { what: 'after another of its results has passed', log: [g.staged('tool'), g.judged('pass'), g.merge('tool')] },
].map(({ what, log }) => ({
  constraint: 'tools',
  what: `what a tool brings ${what}`,
  gated: TOOL,
  log: [...log, g.returned()],
}))

export const MERGE_ATTACKS: readonly Attack[] = [
  ...hashes,
  ...oneHash,
  ...coverage,
  ...goals,
  ...writes,
  ...artifacts,
  ...tools,
]

/** Logs that look like an attack and are none. */
export const LEGAL_MERGES: Record<string, { readonly gated: readonly GatedPoint[]; readonly log: readonly g.Loose[] }> =
  {
    'a pass in part, where the gate asks no more': {
      gated: [g.gatedPoint('node', { confirm: 'none' })],
      log: [g.staged('node'), g.judged('pass', { label: 'verified in part' }), g.merge('node')],
    },
    'a forced pass': { gated: NODE, log: [g.staged('node'), g.judged('pass', { label: 'forced' }), g.merge('node')] },
    'an older run that names nothing': {
      gated: [g.gatedPoint('node', OLDER)],
      log: [
        g.made('variable.changed'),
        g.staged('node'),
        g.judged('pass', { label: '' }),
        g.merge('node', { resultHash: null }),
      ],
    },
    'an older run that goes on and names what it merges': {
      gated: [g.gatedPoint('node', OLDER)],
      log: [g.staged('node'), g.judged('pass', { label: '' }), g.merge('node')],
    },
    'an older run that says more of its goal': {
      gated: [g.gatedPoint('node', OLDER)],
      log: [g.staged('node'), g.judged('fail'), reached],
    },
    'a goal reached after a pass over the work that was done again': {
      gated: NODE,
      log: [
        g.staged('node'),
        g.judged('revise'),
        g.staged('node', { target: 't2', resultHash: 'h2' }),
        g.judged('pass', { target: 't2', resultHash: 'h2' }),
        g.merge('node', { resultHash: 'h2' }),
        reached,
      ],
    },
    'a goal reached by the same worker the second time': {
      gated: HARVEST,
      log: [
        g.staged('harvest', { workerId: 'w', target: 'first' }),
        g.judged('fail', { target: 'first' }),
        g.staged('harvest', { workerId: 'w' }),
        g.judged('pass'),
        g.merge('harvest'),
        reached,
      ],
    },
    'a goal not reached against a fail': {
      gated: NODE,
      log: [g.staged('node'), g.judged('fail'), g.merge('run', { goalSatisfied: false })],
    },
    'an end that says nothing of the goal': {
      gated: NODE,
      log: [g.staged('node'), g.judged('fail'), g.merge('run')],
    },
    'what a node writes between the pass and its end, and makes after it': {
      gated: NODE,
      log: [
        g.made('artifact.created'),
        g.staged('node'),
        g.made('artifact.created', 'n1', 'dws.verification-result'),
        g.judged('pass'),
        g.made('variable.changed'),
        g.merge('node'),
        g.made('artifact.created'),
      ],
    },
    'what an agent makes when its work was sent back': {
      gated: NODE,
      log: [g.staged('node'), g.judged('revise'), g.made('artifact.created')],
    },
    'what a worker has brought, written before its harvest is told and after': {
      gated: HARVEST,
      log: [
        g.staged('harvest'),
        g.judged('pass'),
        g.made('variable.changed'),
        g.merge('harvest'),
        g.made('variable.changed'),
      ],
    },
    'what another worker has brought past a gate for one': {
      gated: [g.gatedPoint('harvest', { workerId: 'w' })],
      log: [g.made('variable.changed'), g.staged('harvest'), g.judged('fail'), g.made('variable.changed')],
    },
    'what a tool brings to its gate, and what another tool or another agent is brought': {
      gated: TOOL,
      log: [
        g.returned({ contents: 'c', gated: true }),
        g.staged('tool'),
        g.judged('fail'),
        g.made('artifact.created'),
        g.returned({ contents: 'c', code: 'tool_failed', withheld: { gateId: 'g', failed: [] } }),
        g.returned({ code: 'forbidden' }),
        g.returned({ contents: 'c' }, 'mcp:other'),
        g.returned({ contents: 'c' }, 'mcp:search', 'n2'),
        g.made('variable.changed'),
        g.merge('node', { resultHash: null }),
      ],
    },
    'a goal reached after another result of the tool has passed': {
      gated: TOOL,
      log: [
        g.staged('tool', { target: 'first' }),
        g.judged('fail', { target: 'first' }),
        g.staged('tool'),
        g.judged('pass'),
        g.merge('tool'),
        reached,
      ],
    },
    'what other nodes write': {
      gated: [...NODE, g.gatedPoint('run', { gateId: 'g2' })],
      log: [g.staged('node'), ...WRITES.map(type => g.made(type, 'n2')), g.made('artifact.created', 'n2')],
    },
  }
