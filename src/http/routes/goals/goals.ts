import { type GoalChanges, editsOf, readGoal, readGoalEdit } from '../../../core/goal/goal-document.js'
import { GoalEditSchema, GoalSchema } from '../../../core/goal/goal-schema.js'
import type { Goal } from '../../../core/goal/state.js'
import { isObject } from '../../../core/json.js'
import { type ProblemCode, type Refusal, refuse } from '../../../core/problem.js'
import type { BegunByHand } from '../../../engine/api.js'
import { ReceiptAnswer } from '../../../wire/audit.js'
import { GoalAnswer, ListGoalsAnswer, ListGoalsQuery, renderGoal } from '../../../wire/standing/goal.js'
import { GoalDetailsAnswer, renderGoalDetails } from '../../../wire/standing/goal-details.js'
import { readCursor, writeCursor } from '../../cursor.js'
import type { Edge } from '../../deps.js'
import { type HttpAnswer, json, problem } from '../../http-answer.js'
import { type Call, type Route, route } from '../../route.js'
import { switchedOff } from '../journal/moment.js'
import { capacityRefusal } from '../runs/create-run.js'
import { goalEventRoutes } from './goal-events.js'

/** Where the protocol has goals, and where they are going to be. */
const ROOTS = [
  { root: '/v1/goals', suffix: '' },
  { root: '/v1/host/sample/goals', suffix: 'Sample' },
] as const
type Root = (typeof ROOTS)[number]

/** Standing goals (contract agents §21, docs/design/goal.md). R-GOAL-1: where they are switched off there are none. */
export const goalRoutes = (edge: Edge): Route[] => {
  const rows = [
    ...ROOTS.flatMap(root => [
      createGoal(edge, root),
      listGoals(edge, root),
      getGoal(edge, root),
      editGoal(edge, root, 'PATCH'),
      editGoal(edge, root, 'POST'),
      commandGoal(edge, root, 'pause', 'Let it start nothing until it is resumed; nothing is reset'),
      commandGoal(edge, root, 'resume', 'Let it go on, also after what it was escalated for is resolved'),
      commandGoal(edge, root, 'abandon', 'Close it for good; what is open of it is told to stop'),
      runGoal(edge, root),
      ...goalEventRoutes(edge, root.root, root.suffix),
    ]),
    getDetails(edge),
    getCertificate(edge),
  ]
  return edge.config.goals.enabled ? rows : rows.map(row => ({ ...row, ...ABSENT, handle: () => OFF }))
}

const OFF = switchedOff('goals.enabled', 'goals')
/** Before anything is looked at. */
const ABSENT = { lateBody: true, lateQuery: true } as const
const OPTIONAL = 'capability_not_provided'
const NO_GOAL = refuse('not_found', 'No such goal, or not visible to this key; GET /v1/goals lists those there are.')
const ONE = { 200: { description: 'The goal as it is now', schema: GoalAnswer } }

const named = (operation: string, { suffix }: Root): string => `${operation}${suffix}`
/** The same operation under both roots: an Idempotency-Key means the same there. */
const endpoint = (operation: string): string => `goals ${operation}`

const createGoal = (edge: Edge, root: Root): Route =>
  route({
    method: 'POST',
    path: root.root,
    operation: named('createGoal', root),
    summary: 'Make a goal: it goes on until its judge is satisfied or a bound is reached',
    access: 'goals:write',
    alsoNeeds: 'runs:create',
    body: GoalSchema,
    lateBody: true,
    idempotency: 'commit',
    endpoint: endpoint('create'),
    responses: { 200: { description: 'The goal is durable', schema: GoalAnswer } },
    refusals: ['validation_error', 'goal_invalid', 'goal_without_work', 'schedule_horizon_exceeded', OPTIONAL],
    async handle({ caller, keyed, body }) {
      const raw: unknown = body
      if (!isObject(raw)) return problem(NO_OBJECT)
      const document = readGoal(raw, edge.readProbes)
      if ('code' in document) return problem(document)
      const { tenant, principal } = caller
      const owner = { tenant, principal, scopes: [...caller.scopes].sort() }
      return edge.idempotency.commit<Goal>(
        keyed,
        response => edge.goals.create({ owner, ...document }, response),
        shown,
      )
    },
  })

const NO_OBJECT = refuse('validation_error', 'body must be an object.', { field: 'body', rule: 'type' })

const shown = (goal: Goal): HttpAnswer => json(200, renderGoal(goal))

/** Its bounds hold at worst, and so it says. */
const getCertificate = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/goals/{goalId}/certificate',
    operation: 'getGoalCertificate',
    summary: 'What is still possible for it at worst, and what was used, signed: anyone with the public key checks it',
    access: 'goals:read',
    responses: { 200: { description: 'The certificate; every byte of it counts', schema: ReceiptAnswer } },
    refusals: ['not_found', 'receipt_refused', OPTIONAL],
    async handle({ caller, params }) {
      const issued = await edge.certificates.issue(caller.tenant, params.goalId)
      if (issued === undefined) return problem(NO_GOAL)
      if (!issued.ok) return problem(issued.refusal)
      const headers = { 'cache-control': 'private, no-store', 'x-content-type-options': 'nosniff' }
      return { status: 200, body: issued.value, headers }
    },
  })

const listGoals = (edge: Edge, root: Root): Route =>
  route({
    method: 'GET',
    path: root.root,
    operation: named('listGoals', root),
    summary: "The tenant's goals, newest first, after those of the project",
    access: 'goals:read',
    query: ListGoalsQuery,
    responses: { 200: { description: 'One page of goals', schema: ListGoalsAnswer } },
    refusals: ['validation_error', OPTIONAL],
    async handle({ caller, query: { state, cursor, limit = 50 } }) {
      const before = cursor === undefined ? undefined : readCursor(caller.tenant, cursor)
      if (cursor !== undefined && before === undefined) {
        const message = 'query.cursor is not one this list gave out; start again without it.'
        return problem(refuse('validation_error', message, { field: 'query.cursor' }))
      }
      // R-GOAL-12. One more than asked for tells whether there is a next page.
      const goals = await edge.goals.list({
        tenant: caller.tenant,
        limit: limit + 1,
        ...(state === undefined ? undefined : { state }),
        ...(before === undefined ? undefined : { before }),
      })
      const page = goals.slice(0, limit)
      const last = goals.length > limit ? page.at(-1) : undefined
      const nextCursor = last === undefined ? null : writeCursor(caller.tenant, last.goalId)
      return json(200, { goals: page.map(renderGoal), nextCursor })
    },
  })

const getGoal = (edge: Edge, root: Root): Route =>
  route({
    method: 'GET',
    path: `${root.root}/{goalId}`,
    operation: named('getGoal', root),
    summary: 'A goal as it is now, with its progress and its latest verdict',
    access: 'goals:read',
    responses: ONE,
    refusals: ['not_found', OPTIONAL],
    async handle({ caller, params }) {
      const goal = await edge.goals.find(caller.tenant, params.goalId)
      return goal ? shown(goal) : problem(NO_GOAL)
    },
  })

const getDetails = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/host/assay/goals/{goalId}',
    operation: 'getGoalDetails',
    summary:
      'What else there is to know of a goal: what is reserved, granted and left, its next tick, why it escalated',
    access: 'goals:read',
    responses: { 200: { description: 'The goal as it is now', schema: GoalDetailsAnswer } },
    refusals: ['not_found', OPTIONAL],
    async handle({ caller, params }) {
      const goal = await edge.goals.find(caller.tenant, params.goalId)
      return goal ? json(200, renderGoalDetails(goal)) : problem(NO_GOAL)
    },
  })

const editGoal = (edge: Edge, root: Root, method: 'PATCH' | 'POST'): Route =>
  route({
    method,
    path: `${root.root}/{goalId}`,
    operation: named(method === 'PATCH' ? 'editGoal' : 'editGoalByPost', root),
    summary: 'Change what an active goal is after, who judges it, or how it goes on; never its bounds or its state',
    access: 'goals:write',
    alsoNeeds: 'runs:create',
    body: GoalEditSchema,
    lateBody: true,
    idempotency: 'commit',
    endpoint: endpoint('edit'),
    responses: ONE,
    refusals: [
      'validation_error',
      'not_found',
      'goal_not_active',
      'goal_invalid',
      'goal_without_work',
      'schedule_horizon_exceeded',
      OPTIONAL,
    ],
    async handle({ caller, params, keyed, body }) {
      const raw: unknown = body
      if ((await edge.goals.find(caller.tenant, params.goalId)) === undefined) return problem(NO_GOAL)
      if (!isObject(raw)) return problem(NO_OBJECT)
      const changes = readGoalEdit(raw)
      if ('code' in changes) return problem(changes)
      const edits = (goal: Goal) => overreach(caller, goal, changes) ?? editsOf(goal, changes)
      return edge.idempotency.commit<Goal>(
        keyed,
        async response => (await edge.goals.edit(caller.tenant, params.goalId, edits, response)) ?? GONE,
        shown,
      )
    },
  })

/** Runs of a goal may do what the key of its owner could: only who may do as much says what they are. */
function overreach({ scopes }: Call['caller'], { owner }: Goal, { work }: GoalChanges): Refusal | undefined {
  const lacking = work && owner.scopes?.find(scope => !scopes.has(scope))
  if (lacking === undefined) return undefined
  const message = `assay.run is run with what the owner of the goal may do, and this key lacks ${lacking} of it; ask for a key that has it.`
  return refuse('forbidden', message, { scopeRequired: lacking, field: 'assay.run' })
}

const GONE = { ok: false, refusal: NO_GOAL } as const

const OBSTACLES = {
  pause: ['goal_not_active'],
  resume: ['goal_not_active', 'goal_closed'],
  abandon: ['goal_closed'],
} as const satisfies { readonly [command: string]: readonly ProblemCode[] }

const commandGoal = (edge: Edge, root: Root, command: keyof typeof OBSTACLES, summary: string): Route =>
  route({
    method: 'POST',
    path: `${root.root}/{goalId}/${command}`,
    operation: named(`${command}Goal`, root),
    summary,
    access: 'goals:write',
    idempotency: 'commit',
    endpoint: endpoint(command),
    responses: ONE,
    refusals: ['not_found', ...OBSTACLES[command], OPTIONAL],
    handle({ caller, params, keyed }) {
      return edge.idempotency.commit<Goal>(
        keyed,
        async response => (await edge.goals.command(caller.tenant, params.goalId, command, response)) ?? GONE,
        shown,
      )
    },
  })

const runGoal = (edge: Edge, root: Root): Route =>
  route({
    method: 'POST',
    path: `${root.root}/{goalId}/run`,
    operation: named('runGoal', root),
    summary: 'Start one contributing run now; its iteration is reserved with it',
    access: 'goals:write',
    alsoNeeds: 'runs:create',
    idempotency: 'commit',
    endpoint: endpoint('run'),
    responses: { 200: { description: 'The goal as it is now; Location names the run', schema: GoalAnswer } },
    refusals: [
      'not_found',
      'goal_not_active',
      'goal_closed',
      'goal_busy',
      'goal_without_work',
      'unknown_workflow',
      OPTIONAL,
    ],
    handle({ caller, params, keyed }) {
      const full = capacityRefusal(edge)
      if (full !== undefined) return problem(full)
      return edge.idempotency.commit<BegunByHand>(
        keyed,
        async response => (await edge.goals.run(caller.tenant, params.goalId, response)) ?? GONE,
        ({ goal, runId }) => ({ ...shown(goal), headers: { location: `/v1/runs/${runId}` } }),
      )
    },
  })
