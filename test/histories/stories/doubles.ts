import type { Performer } from '../../../src/engine/ports/performer.js'
import { type Sketch, sketch } from '../../../src/testing/workflow.js'
import { decider } from '../../support/decider.mjs'
import type { World } from '../world.js'

/** The same to everybody, whenever they ask: a host that goes on from any moment meets the world it had left. */
export const performers = (): ReadonlyMap<string, Performer> =>
  new Map<string, Performer>([
    ['conformance.side-effect', { perform: async () => ({ ok: true, output: 1 }) }],
    ['decider', decider],
  ])

export async function register({ engine, tenant }: World, ...workflows: readonly Sketch[]): Promise<void> {
  for (const workflow of workflows) {
    const answer = await engine.putWorkflow(tenant, sketch(workflow))
    if (!answer.ok) throw new Error(JSON.stringify(answer))
  }
}
