import type { Expression, ExpressionScope } from '../expression.js'
import { isObject, type JsonObject } from '../json.js'
import { present } from '../present.js'
import type { Orchestrator } from '../supervisor/state.js'
import { unresolved } from '../verification/attempt.js'
import type { WorkflowNode } from '../workflow/definition.js'
import type { NodeContext } from '../workflow/node-type.js'
import type { Plan, PlanNode } from '../workflow/plan.js'
import type { DecisionContext } from './decision-context.js'
import { leaves } from './graph.js'
import { runInputs, scopeOf } from './inputs.js'
import { type Active, nodeAt } from './state.js'

/** What a node sees of its run when it starts or settles. Made for every node of every run: each fact when it is asked for. */
export class NodeInRun implements NodeContext {
  readonly node: WorkflowNode
  readonly #context: DecisionContext
  readonly #planNode: PlanNode
  readonly #plan: Plan
  readonly #state: Active

  constructor(
    context: DecisionContext,
    planNode: PlanNode,
    readonly inputs: JsonObject,
    readonly attempt: number,
    readonly failures: number,
  ) {
    this.node = planNode.node
    this.#context = context
    this.#planNode = planNode
    this.#plan = context.plan
    this.#state = context.active
  }

  get config(): JsonObject {
    return this.node.config
  }

  get scopes(): readonly string[] {
    return this.#state.started.principalScope ?? []
  }

  get iteration(): number {
    return this.#state.passes[this.#planNode.index] ?? 0
  }

  get ordinal(): number {
    const { index } = this.#planNode
    const counted = this.attempt > 0 || nodeAt(this.#state, index).is === 'waiting'
    return (this.#state.starts[index] ?? 0) - (counted ? 1 : 0)
  }

  get variables(): JsonObject {
    return this.#state.variables
  }

  get shownVariables(): JsonObject {
    const { variables, hidden } = this.#state
    return Object.fromEntries(Object.entries(variables).filter(([name]) => !hidden.variables.includes(name)))
  }

  get channels(): JsonObject {
    return this.#state.channels
  }

  get runInputs(): JsonObject {
    return runInputs(this.#state)
  }

  get withheld(): JsonObject {
    return this.#state.withheld ?? {}
  }

  get configurable(): JsonObject {
    const { configurable } = this.#state.started
    return isObject(configurable) ? configurable : {}
  }

  get inbound(): JsonObject {
    const sources: [string, JsonObject][] = []
    for (const edge of this.#planNode.inbound) {
      const source = nodeAt(this.#state, edge.source)
      if (source.is === 'completed') sources.push([edge.edge.sourceNodeId, source.outputs])
    }
    return Object.fromEntries(sources)
  }

  get namesPeers(): boolean {
    return this.#plan.nodes.some(({ node: { config } }) => JSON.stringify(config).includes('peer:'))
  }

  get maxLoopbackIterations(): number {
    return this.#plan.definition.settings.maxLoopbackIterations ?? 5
  }

  get supervised(): boolean {
    return this.#planNode.supervised
  }

  get orchestrator(): Orchestrator | undefined {
    return this.#state.orchestrator
  }

  get confidence(): NodeContext['confidence'] {
    return this.#context.limits.confidence
  }

  get unverified(): NodeContext['unverified'] {
    return unresolved(this.#state)
  }

  get gaveUp(): boolean {
    return this.#state.gaveUp.length > 0
  }

  get transcript(): NodeContext['transcript'] {
    const { next } = this.#state
    return { from: Math.max(0, next - this.#context.limits.transcriptWindow), to: next }
  }

  get scope(): ExpressionScope {
    return this.scopeWith({ iteration: this.iteration })
  }

  scopeWith(more: { readonly [name: string]: unknown }): ExpressionScope {
    return scopeOf(this.#plan, this.#state, more)
  }

  wired(port: string): boolean {
    return leaves(this.#planNode.outbound, port)
  }

  channelSchema(channel: string): JsonObject | undefined {
    return this.#plan.channels.get(channel)?.schema
  }

  expression(name: string): Expression {
    const expression = this.#planNode.expressions.get(`config.${name}`)
    const found = present(expression, `expression config.${name} of node "${this.node.id}"`)
    return { source: found.source, evaluate: scope => this.#context.evaluate(found, scope) }
  }
}
