import type { CheckInput } from '../checked.js'
import { type Choose, pick } from './choice.js'
import { CutOff, type Fate, SimulatedRun, type World } from './simulated-run.js'
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
  'mixed',
] as const

export type Kind = (typeof KINDS)[number]

const PLAIN = ['core.noop', 'core.delay', 'assay.effect']
const STATE = ['core.setVariable', 'core.channelWrite', 'core.noop']
const EVERY = [...PLAIN, ...STATE, 'core.subWorkflow']

type Recipe = { readonly shape: Shape; readonly fate: Fate }

const recipe = (shape: Partial<Shape> = {}, fate: Partial<Fate> = {}): Recipe => ({
  shape: { kind: 'dag', types: PLAIN, retries: false, tolerance: false, ...shape },
  fate: { end: 'own', pause: 'none', ...fate },
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
}

export function legalLog(kind: Kind, choose: Choose): CheckInput {
  const { shape, fate } = kind === 'mixed' ? mixed(choose) : RECIPES[kind]
  const world: World = { choose, runs: [], tenant: pick(choose, ['t1', 'acme']), ids: 1 }
  const child = workflow('child', { kind: 'line', types: STATE, retries: true, tolerance: false }, choose)
  const root = new SimulatedRun(world, workflow('main', shape, choose), fate, child)
  try {
    root.finish()
  } catch (error) {
    if (!(error instanceof CutOff)) throw error
  }
  return { complete: true, runs: world.runs.map(run => run.toChecked()) }
}

const mixed = (choose: Choose): Recipe =>
  recipe(
    { kind: pick(choose, ['dag', 'loop', 'line']), types: EVERY, retries: true, tolerance: choose(2) === 1 },
    {
      end: pick(choose, ['own', 'own', 'cancelled', 'executions', 'duration', 'cut']),
      pause: pick(choose, ['none', 'immediate', 'drain']),
    },
  )
