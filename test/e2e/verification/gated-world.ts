import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { ServerReply, ServerRequest } from '../../support/openai-server.js'
import { type Making, makeWorld, type World } from '../agents/world.js'

/** What work is held to, by id. */
export type Held = {
  readonly gates: { readonly [id: string]: object }
  readonly intents: { readonly [id: string]: object }
  readonly knowledge: { readonly [id: string]: object }
}

/** A host with a provider around it, and gates in its project folder. */
export async function makeGatedWorld(making: Making, held: Held): Promise<World> {
  const world = await makeWorld(making)
  for (const [folder, documents] of Object.entries(held)) {
    const at = path.join(making.folder, 'project', folder)
    mkdirSync(at, { recursive: true })
    for (const [id, document] of Object.entries(documents))
      writeFileSync(path.join(at, `${id}.json`), JSON.stringify(document))
  }
  return world
}

/** One criterion for verifiers, one for probes, and three tries that wait for nothing. */
export const gate = (
  position: object,
  { probes = [], behaviour = {}, ...more }: { probes?: readonly object[]; behaviour?: object } & object = {},
) => ({
  name: 'A gate',
  position: { placement: 'phase_exit', ...position },
  intent_refs: ['purpose'],
  knowledge_refs: ['source'],
  evaluation_criteria: [
    {
      dimension: 'grounded',
      description: 'Is it so?',
      scale: { min: 1, max: 5, type: 'integer' },
      pass_threshold: 4,
      probes,
      settled_by_probes: false,
    },
  ],
  verifier_requirements: {},
  gate_behaviour: { max_attempts: 3, retries: 0, retry_delay_ms: 1, ...behaviour },
  ...more,
})

/** What a worker says with one result. */
export const says = (result: object, more: object = {}): ServerReply => ({
  kind: 'text',
  text: JSON.stringify({ result, confidence: 0.9 }),
  ...more,
})

export const PASSES = says({ scores: { grounded: 5 }, findings: [] })

export const finds = (finding: {
  readonly description: string
  readonly detail: string
  readonly recommendation: string
}): ServerReply => {
  const { description, detail, recommendation } = finding
  const evidence = [{ evidence_type: 'comparison', ref: '/text', detail }]
  const found = { dimension: 'grounded', classification: 'blocking', description, evidence, recommendation }
  return says({ scores: { grounded: 1 }, findings: [found] })
}

/** By their own prompts: who asks, in a plan or in the server's journal. */
export const VERIFIER = 'You are a verifier.'
export const WORKER = 'You write for the test.'

export const askedBy = (requests: readonly ServerRequest[], who: string): readonly ServerRequest[] =>
  requests.filter(({ body }) => body.messages.some(({ content }) => content?.includes(who)))

/** All that one request said, with JSON inside of JSON read as what it says. */
export const saidIn = ({ body }: ServerRequest): Buffer =>
  Buffer.from(
    [JSON.stringify(body), ...body.messages.map(({ content }) => content ?? '')].join('\n').replaceAll('\\"', '"'),
  )

/** JSON inside of JSON is read as what it says. */
export const bytesOf = (things: readonly unknown[]): Buffer =>
  Buffer.from(things.map(thing => JSON.stringify(thing).replaceAll('\\"', '"').replaceAll('\\\\', '\\')).join('\n'))
