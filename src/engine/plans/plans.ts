import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { isAgentId, isWorkflowId } from '../../core/names.js'
import { type Refusal, refuse } from '../../core/problem.js'
import { compile, isPlan, type Workshop } from '../../core/workflow/compile.js'
import type { WorkflowDefinition } from '../../core/workflow/definition.js'
import type { Plan } from '../../core/workflow/plan.js'
import { sha256 } from '../../digest.js'
import { Lru } from '../../lru.js'
import type { Clock } from '../ports/clock.js'
import type { SchemaChecker } from '../ports/schema-checker.js'
import type { Store } from '../ports/store.js'
import type { WorkflowRecord } from '../ports/workflows.js'
import { agentWorkflow } from './agent-workflow.js'
import { hostWorkflow } from './host-workflows.js'

/** How long a workflow registered through another host may go unnoticed here; twice that for a child's. */
const FRESH_MS = 1_000
const KEPT_PLANS = 500
/** No workflow can be called so; what is kept under it belongs to its tenant, and goes with it. */
const NAMELESS = '~'

/** What a tenant's new definitions may not ask for, though the host could do it. */
export type OffFor = (tenant: string) => ReadonlySet<string>

/** Compiled workflows: by name for new runs, by digest for runs under way. Both are caches of the store. */
export class Plans {
  readonly #byDigest = new Lru<Plan>(KEPT_PLANS)
  readonly #byName = new Lru<{ plan: Plan; record: WorkflowRecord; readAt: number }>(KEPT_PLANS)
  /** Runs of one agent, stored before the first of them is made. */
  readonly #byAgent = new Lru<Plan>(KEPT_PLANS)
  /** The host's own, stored likewise. */
  readonly #own = new Map<string, Plan>()
  /** Names that the store is being asked about in passing. */
  readonly #asking = new Set<string>()

  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
    private readonly schemas: SchemaChecker,
    private readonly workshop: Workshop & { readonly offFor?: OffFor | undefined },
    /** Checks the shape of what is about to be a definition. */
    private readonly shape: (value: unknown) => Refusal | undefined,
    private readonly isAgent: (agentId: string) => boolean = () => false,
  ) {}

  /** What a new run of this workflow, or agent, would be made of; nothing for a text that can be the id of neither. */
  async named(tenant: string, workflowId: string): Promise<Plan | undefined> {
    if (isAgentId(workflowId)) return this.#agentPlan(workflowId)
    if (!isWorkflowId(workflowId)) return undefined
    const own = hostWorkflow(workflowId)
    if (own) return this.#ownPlan(own)
    const name = `${tenant}\0${workflowId}`
    const known = this.#byName.get(name)
    const now = this.clock.monotonic()
    if (known && now - known.readAt < FRESH_MS) return known.plan
    const record = await this.store.getWorkflow(tenant, workflowId)
    const plan = record && this.#compiled(record.digest, record.definition)
    // What a store found under this name counts only if it has this name.
    if (!plan || record.workflowId !== workflowId || plan.definition.id !== workflowId) {
      this.#byName.delete(name)
      return undefined
    }
    this.#byName.set(name, { plan, record, readAt: now })
    return plan
  }

  async #agentPlan(agentId: string): Promise<Plan | undefined> {
    if (!this.isAgent(agentId)) return undefined
    const known = this.#byAgent.get(agentId)
    if (known) return known
    const checked = await this.check(agentWorkflow(agentId), null)
    if (!('plan' in checked)) throw new Error(`the workflow of agent ${agentId} is not one: ${checked.message}`)
    await this.put(null, checked)
    this.#byAgent.set(agentId, checked.plan)
    return checked.plan
  }

  /** Not checked as others are: no check would let its node pass (see core/workflow/nodes/verify.ts). */
  async #ownPlan(definition: WorkflowDefinition): Promise<Plan> {
    const known = this.#own.get(definition.id)
    if (known) return known
    const text = JSON.stringify(definition)
    const plan = this.#compiled(sha256(text), text)
    await this.put(null, { plan, text })
    this.#own.set(definition.id, plan)
    return plan
  }

  /** The same without waiting for the store, which is asked meanwhile if that was long ago. */
  known(tenant: string, workflowId: string): Plan | undefined {
    if (isAgentId(workflowId)) return this.isAgent(workflowId) ? this.#byAgent.get(workflowId) : undefined
    if (hostWorkflow(workflowId)) return this.#own.get(workflowId)
    const name = `${tenant}\0${workflowId}`
    const known = this.#byName.get(name)
    const age = known ? this.clock.monotonic() - known.readAt : Number.POSITIVE_INFINITY
    if (known === undefined || age >= 2 * FRESH_MS) return undefined
    if (age >= FRESH_MS && !this.#asking.has(name)) {
      this.#asking.add(name)
      // After a failure whoever needs it next asks the store itself, and sees what is wrong with it.
      void this.named(tenant, workflowId)
        .catch(() => this.#byName.delete(name))
        .finally(() => this.#asking.delete(name))
    }
    return known.plan
  }

  /** What a run that is under way was started with. */
  async pinned(digest: string): Promise<Plan> {
    const known = this.#byDigest.get(digest)
    if (known) return known
    const definition = await this.store.getDefinition(digest)
    if (definition === undefined) throw new Error(`definition ${digest} is missing from the store`)
    return this.#compiled(digest, definition)
  }

  /** Everything that is checked before a definition is accepted. Without a tenant it is the project's. */
  async check(value: unknown, tenant: string | null): Promise<{ plan: Plan; text: string } | Refusal> {
    const misshapen = this.shape(value)
    if (misshapen) return misshapen
    const definition = value as WorkflowDefinition
    const text = JSON.stringify(definition)
    const plan = compile(definition, sha256(text), this.#registering(tenant))
    if (!isPlan(plan)) return plan
    for (const [field, schema] of schemasOf(definition)) {
      const problem = await this.schemas.inspect(schema, tenant)
      if (problem !== undefined)
        return refuse('validation_error', `workflow "${definition.id}": ${field} ${problem}`, { field })
    }
    return { plan, text }
  }

  async put(tenant: string | null, { plan, text }: { plan: Plan; text: string }): Promise<WorkflowRecord> {
    const workflowId = plan.definition.id
    const record = { tenant, workflowId, digest: plan.digest, definition: text, updatedAt: this.clock.now() }
    await this.store.putWorkflow(record)
    for (const name of this.#byName.keys()) if (name.endsWith(`\0${workflowId}`)) this.#byName.delete(name)
    this.#byDigest.set(plan.digest, plan)
    return record
  }

  /** Keeps what a branch has changed: a definition of the tenant's that no new run can be started by. */
  async keep(tenant: string, { plan, text }: { plan: Plan; text: string }): Promise<void> {
    const workflowId = `${NAMELESS}${plan.digest}`
    const record = { tenant, workflowId, digest: plan.digest, definition: text, updatedAt: this.clock.now() }
    await this.store.putWorkflow(record)
    this.#byDigest.set(plan.digest, plan)
  }

  /** Those that have a name, which others can be looked up by. */
  async list(tenant: string): Promise<WorkflowRecord[]> {
    return (await this.store.listWorkflows(tenant)).filter(({ workflowId }) => !workflowId.startsWith(NAMELESS))
  }

  #registering(tenant: string | null): Workshop {
    const switchedOff = this.workshop.offFor?.(tenant ?? '')
    return { ...this.workshop, ...(switchedOff && { switchedOff }), ...(tenant === null && { ofProject: true }) }
  }

  #compiled(digest: string, text: string): Plan {
    const known = this.#byDigest.get(digest)
    if (known) return known
    // What a store holds under a digest counts only if that is its digest.
    if (sha256(text) !== digest) throw new Error(`the definition stored under ${digest} is another one`)
    const plan = compile(JSON.parse(text) as WorkflowDefinition, digest, { ...this.workshop, accepted: true })
    if (!isPlan(plan)) throw new Error(`stored definition ${digest} no longer compiles: ${plan.message}`)
    this.#byDigest.set(digest, plan)
    return plan
  }
}

function* schemasOf(definition: WorkflowDefinition): Generator<[string, JsonObject]> {
  if (definition.configurableSchema) yield ['configurableSchema', definition.configurableSchema]
  for (const [name, channel] of Object.entries(definition.channels ?? {}))
    if (channel.schema) yield [`channels["${name}"].schema`, channel.schema]
  for (const { id, config } of definition.nodes) {
    if (isObject(config.resumeSchema)) yield [`nodes["${id}"].config.resumeSchema`, config.resumeSchema]
    for (const [field, questions] of [
      ['questions', config.questions],
      ['data.questions', questionsIn(config.data)],
      ...decisionsIn(config).map(([field, decision]) => [`${field}.questions`, questionsIn(decision)] as const),
    ] as const)
      if (Array.isArray(questions))
        for (const [i, question] of questions.entries())
          if (isObject(question) && isObject(question.schema))
            yield [`nodes["${id}"].config.${field}[${i}].schema`, question.schema]
  }
}

/** The decisions that a supervisor's configuration holds. */
function decisionsIn({ rules, mockDispatchPlan, mockDecisions, mockPendingDecision }: JsonObject): [string, Json][] {
  const listed = (name: string, list: Json | undefined) =>
    Array.isArray(list) ? list.map((item: Json, i): [string, Json] => [`${name}[${i}]`, item]) : []
  const ruled = listed('rules', rules).map(([field, rule]): [string, Json] => [
    `${field}.decide`,
    isObject(rule) ? (rule.decide ?? null) : null,
  ])
  return [
    ...ruled,
    ...listed('mockDispatchPlan', mockDispatchPlan),
    ...listed('mockDecisions', mockDecisions),
    ['mockPendingDecision', mockPendingDecision ?? null],
  ]
}

const questionsIn = (data: Json | undefined): Json | undefined => (isObject(data) ? data.questions : undefined)
