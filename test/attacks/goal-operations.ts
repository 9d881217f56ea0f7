import type { Ask } from './live-host.js'
import type { Good, Pool } from './operations.js'

/** Requests about goals that ought to succeed, under both of their paths. */

const GOAL = {
  objective: 'Somebody is greeted.',
  completion: { check: 'host' },
  bounds: { maxLoopIterations: 1_000 },
  assay: {
    run: { workflowId: 'waits' },
    judge: { escalateAfterSame: 0, probes: [{ type: 'equals', path: '/nothing', value: 1 }] },
  },
}
const post = (body: object): Ask => ({ method: 'POST', body })

/** One that is active; another is made where there is none. */
async function active({ live }: Pool): Promise<string> {
  const { json } = await live.call('alice', '/v1/goals?state=active&limit=1')
  return json.goals[0]?.id ?? fresh(live)
}

/** One whose log has ended: whoever follows it is not kept. */
async function ended({ live }: Pool): Promise<string> {
  const { json } = await live.call('alice', '/v1/goals?state=bound-exceeded&limit=1')
  const nothing = { ...GOAL, bounds: { maxCostUsd: 0 } }
  return json.goals[0]?.id ?? (await live.call('alice', '/v1/goals', post(nothing))).json.id
}

const fresh = async (live: Pool['live']): Promise<string> => (await live.call('alice', '/v1/goals', post(GOAL))).json.id

const under = (root: string, suffix: string): { readonly [operation: string]: (pool: Pool) => Promise<Good> } => ({
  [`createGoal${suffix}`]: async ({ live, next }) => {
    // Of many that are made, few stay.
    if (next() % 2 === 0) await live.call('alice', `/v1/goals/${await fresh(live)}/abandon`, post({}))
    return { url: root, ask: post(GOAL) }
  },
  [`listGoals${suffix}`]: async () => ({ url: `${root}?state=active&limit=2` }),
  [`getGoal${suffix}`]: async p => ({ url: `${root}/${await active(p)}` }),
  [`editGoal${suffix}`]: async p => ({
    url: `${root}/${await fresh(p.live)}`,
    ask: { method: 'PATCH', body: { objective: `Somebody is greeted ${p.next()} times.` } },
  }),
  [`editGoalByPost${suffix}`]: async p => ({
    url: `${root}/${await fresh(p.live)}`,
    ask: post({ objective: 'Greet.' }),
  }),
  [`pauseGoal${suffix}`]: async p => ({ url: `${root}/${await active(p)}/pause`, ask: post({}) }),
  [`resumeGoal${suffix}`]: async p => ({ url: `${root}/${await fresh(p.live)}/resume`, ask: post({}) }),
  [`abandonGoal${suffix}`]: async p => ({ url: `${root}/${await fresh(p.live)}/abandon`, ask: post({}) }),
  [`runGoal${suffix}`]: async ({ live }) => ({ url: `${root}/${await fresh(live)}/run`, ask: post({}) }),
  [`streamGoalEvents${suffix}`]: async p => ({
    url: `${root}/${await ended(p)}/events`,
    ask: { headers: { accept: 'application/json' } },
  }),
  [`pollGoalEvents${suffix}`]: async p => ({ url: `${root}/${await ended(p)}/events/poll?timeout=1` }),
})

export const GOAL_OPERATIONS: { readonly [operation: string]: (pool: Pool) => Promise<Good> } = {
  ...under('/v1/goals', ''),
  ...under('/v1/host/sample/goals', 'Sample'),
  getGoalCertificate: async p => ({ url: `/v1/goals/${await ended(p)}/certificate` }),
  getGoalDetails: async p => ({ url: `/v1/host/assay/goals/${await active(p)}` }),
}
