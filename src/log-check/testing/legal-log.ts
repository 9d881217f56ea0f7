import type { CheckedFork, CheckInput } from '../checked.js'
import { type Choose, chance, pick } from './choice.js'
import { branchOff, breakOff, diverge, missSource } from './forking.js'
import { ASKING } from './questions.js'
import { SimulatedRun } from './simulated-run.js'
import { CutOff, type Fate, type Moment, type Origin, type World } from './simulated-state.js'
import { toChecked } from './stored.js'
import { type Shape, workflow } from './workflows.js'

/** Kinds of legal logs; each stresses one part of the contract, `mixed` any of them together. */
export const KINDS = [
  'linear',
  'parallel',
  'retry',
  'channel',
  'loop',
  'sub-workflow',
  'pause-immediate',
  'pause-drain',
  'cancel',
  'cap-executions',
  'cap-duration',
  'in-flight',
  'approval',
  'question',
  'question-cancelled',
  'question-open',
  'mirrored',
  'branch',
  'replay',
  'replay-unfinished',
  'fork-of-fork',
  'agent',
  'orchestra',
  'orchestra-stopped',
  'orchestra-bounded',
  'orchestra-open',
  'orchestra-forked',
  'live',
  'live-stopped',
  'live-open',
  'live-bounded',
  'live-orchestra',
  'live-forked',
  'mixed',
] as const

export type Kind = (typeof KINDS)[number]

const PLAIN = ['core.noop', 'core.delay', 'assay.effect']
const STATE = ['core.setVariable', 'core.channelWrite', 'core.noop']
const EVERY = [...PLAIN, ...STATE, 'core.subWorkflow']
const LIVE = ['core.agent', 'core.agent', 'core.noop']
const GATES = ['core.approvalGate', 'core.approvalGate', 'core.noop']

type Recipe = {
  readonly shape: Shape
  readonly fate: Fate
  /** Types of the child's nodes. */
  readonly child: readonly string[]
  readonly budgets: World['budgets']
  /** Modes of the runs that begin as a copy of the first, or of one of those. */
  readonly forks: readonly CheckedFork['mode'][]
}

const recipe = (shape: Partial<Shape> = {}, fate: Partial<Fate> = {}, more: Partial<Recipe> = {}): Recipe => ({
  shape: { kind: 'dag', types: PLAIN, retries: false, tolerance: false, ...shape },
  fate: { end: 'own', pause: 'none', ...fate },
  child: STATE,
  budgets: 'none',
  forks: [],
  ...more,
})

const RECIPES: { readonly [kind in Exclude<Kind, 'mixed'>]: Recipe } = {
  linear: recipe({ kind: 'line' }),
  parallel: recipe({ tolerance: true }),
  retry: recipe({ retries: true, tolerance: true }),
  channel: recipe({ types: STATE }),
  loop: recipe({ kind: 'loop', types: [...PLAIN, ...STATE], retries: true }),
  'sub-workflow': recipe({ types: ['core.subWorkflow', 'core.noop'] }),
  'pause-immediate': recipe({ types: EVERY, retries: true }, { pause: 'immediate' }),
  'pause-drain': recipe({ types: EVERY, retries: true }, { pause: 'drain' }),
  cancel: recipe({ types: EVERY }, { end: 'cancelled' }),
  'cap-executions': recipe({ kind: 'loop', types: EVERY }, { end: 'executions' }),
  'cap-duration': recipe({ types: EVERY }, { end: 'duration' }),
  'in-flight': recipe({ types: EVERY, retries: true }, { end: 'cut', pause: 'immediate' }),
  approval: recipe({ types: GATES, tolerance: true }),
  question: recipe({ kind: 'loop', types: [...ASKING, 'core.setVariable'] }, { pause: 'immediate' }),
  'question-cancelled': recipe({ types: [...ASKING, ...GATES] }, { end: 'cancelled', pause: 'drain' }),
  'question-open': recipe({ types: [...ASKING, 'core.noop'] }, { end: 'cut' }),
  mirrored: recipe({ types: ['core.subWorkflow', 'core.noop'] }, { end: 'cut' }, { child: [...ASKING, 'core.noop'] }),
  branch: recipe({ types: [...EVERY, ...ASKING] }, { end: 'cut', pause: 'immediate' }, { forks: ['branch', 'branch'] }),
  replay: recipe({ types: [...EVERY, ...ASKING] }, {}, { child: ASKING, forks: ['replay', 'replay'] }),
  'replay-unfinished': recipe({ types: [...EVERY, ...ASKING] }, { end: 'cut' }, { forks: ['replay', 'replay'] }),
  'fork-of-fork': recipe({ types: [...EVERY, ...GATES] }, {}, { forks: ['branch', 'replay', 'branch'] }),
  agent: recipe({ types: ['core.conformance.mock-agent', 'core.noop'] }, { pause: 'immediate' }),
  orchestra: recipe({ kind: 'orchestra', types: [] }),
  'orchestra-stopped': recipe({ kind: 'orchestra', types: ['core.subWorkflow'] }, { end: 'cancelled', pause: 'drain' }),
  'orchestra-bounded': recipe({ kind: 'orchestra', types: [] }, { end: 'turns', pause: 'immediate' }),
  'orchestra-open': recipe({ kind: 'orchestra', types: [] }, { end: 'cut' }, { child: [...ASKING, 'core.noop'] }),
  'orchestra-forked': recipe(
    { kind: 'orchestra', types: ['core.subWorkflow'] },
    { end: 'cut', pause: 'immediate' },
    { forks: ['branch', 'replay', 'branch'] },
  ),
  live: recipe({ types: LIVE, retries: true, tolerance: true }, { pause: 'immediate' }, { budgets: 'loose' }),
  'live-stopped': recipe({ types: LIVE, retries: true }, { end: 'cancelled', pause: 'drain' }, { budgets: 'loose' }),
  'live-open': recipe({ types: LIVE, retries: true }, { end: 'cut', pause: 'immediate' }),
  'live-bounded': recipe({ types: LIVE, retries: true, tolerance: true }, {}, { budgets: 'tight' }),
  'live-orchestra': recipe(
    { kind: 'orchestra', types: ['core.subWorkflow', 'core.agent'], live: true },
    { pause: 'immediate' },
    { child: LIVE, budgets: 'loose' },
  ),
  'live-forked': recipe(
    { types: [...LIVE, 'core.subWorkflow'], tolerance: true },
    { end: 'cut', pause: 'immediate' },
    { child: LIVE, budgets: 'loose', forks: ['branch', 'replay', 'branch'] },
  ),
}

export function legalLog(kind: Kind, choose: Choose): CheckInput {
  const { shape, fate, child: childTypes, forks, budgets } = kind === 'mixed' ? mixed(choose) : RECIPES[kind]
  const world: World = {
    choose,
    runs: [],
    tenant: pick(choose, ['t1', 'acme']),
    ids: 1,
    forks: forks.length > 0,
    older: pick(choose, [0, 0, 4]),
    floor: pick(choose, [0.5, 0.8]),
    floorKind: pick(choose, ['approval', 'approval', 'clarification', 'custom']),
    budgets: budgets === 'loose' && chance(choose, 3) ? 'none' : budgets,
  }
  const child = workflow('child', { kind: 'line', types: childTypes, retries: true, tolerance: false }, choose)
  const root = new SimulatedRun(world, workflow('main', shape, choose), fate, child)
  live(root)
  for (const mode of forks) forkOff(world, mode)
  return { complete: true, runs: world.runs.map(toChecked) }
}

function live(run: SimulatedRun): void {
  try {
    run.finish()
  } catch (error) {
    if (!(error instanceof CutOff)) throw error
  }
}

/** A fork of a run that is nobody's child. */
function forkOff(world: World, mode: CheckedFork['mode']): void {
  const { choose } = world
  // To tell a difference again is to differ anew.
  const fits = (run: SimulatedRun) => mode === 'branch' || !run.events.some(event => event.type === 'replay.diverged')
  const source = pick(
    choose,
    world.runs.filter(run => run.parent === undefined && fits(run)),
  )
  const cut = { sourceRunId: source.runId, mode, sourceLength: source.events.length }
  if (mode === 'branch') branch(world, source, cut)
  else replay(world, source, cut)
}

type Cut = Omit<CheckedFork, 'fromSeq'>

function branch(world: World, source: SimulatedRun, cut: Cut): void {
  const { choose } = world
  const fate: Fate = { end: pick(choose, ['own', 'cancelled', 'cut']), pause: 'none' }
  const fork = (fromSeq: number): Origin => ({ source, fork: { ...cut, fromSeq } })
  if (chance(choose, 5))
    return live(new SimulatedRun(world, source.workflow, fate, source.childWorkflow, undefined, fork(0)))
  const told = pick(choose, source.moments)
  const origin = { ...fork(told.length), told }
  const run = new SimulatedRun(world, source.workflow, fate, source.childWorkflow, undefined, origin)
  branchOff(run, origin.fork)
  live(run)
}

function replay(world: World, source: SimulatedRun, cut: Cut): void {
  const { choose } = world
  const fate: Fate = { end: 'own', pause: 'none' }
  const told = pick(choose, [source.moments.at(-1) as Moment, pick(choose, source.moments)])
  const fork = { ...cut, fromSeq: choose(told.length + 1) }
  const run = new SimulatedRun(world, source.workflow, fate, source.childWorkflow, undefined, { source, fork, told })
  const original = source.events[told.length]
  if (told.standing.mode !== 'running') return
  if (original === undefined) return missSource(run)
  const fates = [() => undefined, () => breakOff(run), () => diverge(run, original, source.runId)]
  pick(choose, fates)()
}

const mixed = (choose: Choose): Recipe =>
  recipe(
    {
      kind: pick(choose, ['dag', 'loop', 'line', 'orchestra']),
      types: [...EVERY, ...ASKING, 'core.conformance.mock-agent', 'core.agent'],
      retries: true,
      live: choose(2) === 1,
      tolerance: choose(2) === 1,
    },
    {
      end: pick(choose, ['own', 'own', 'cancelled', 'executions', 'duration', 'turns', 'cut']),
      pause: pick(choose, ['none', 'immediate', 'drain']),
    },
    {
      child: [...STATE, ...ASKING, 'core.agent'],
      budgets: pick(choose, ['none', 'loose']),
      forks: pick(choose, [[], ['branch'], ['replay', 'branch']]),
    },
  )
