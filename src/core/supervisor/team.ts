import { termsFor } from '../handoff/mapping.js'
import { isObject, type Json, type JsonObject, utf8Length } from '../json.js'
import type { Plan } from '../workflow/plan.js'
import { shortened } from './recap-text.js'

/** Somebody whom a supervisor may name, as it is told of them. */
export type TeamMember = {
  readonly worker: string
  /** What it is for, where its author says so. */
  readonly about?: string
  /** Variables of this run that it is given, and those that take what it brings back. */
  readonly given: readonly string[]
  readonly brings: readonly string[]
  /** Fields of what it works on and of what it makes, where it declares them itself. */
  readonly takes?: readonly string[]
  readonly makes?: readonly string[]
}

/** How many are told of, and how much of each. */
export const MOST_MEMBERS = 40
const MOST_FIELDS = 20
const ABOUT_CHARACTERS = 200
const NAME_CHARACTERS = 64

/** No list of workers has more bytes. */
export const TEAM_BYTES = 6_000

/** Whom the dispatch of the loop has terms for: the workers that its author had in mind. None where it names nobody. */
export function workersNamedIn({ nodes }: Pick<Plan, 'nodes'>): readonly string[] {
  const named = nodes
    .filter(({ type }) => type.role === 'dispatch')
    .flatMap(({ node: { config } }) => [
      ...keysOf(config.perWorkerInputMappings),
      ...keysOf(config.perWorkerOutputMappings),
    ])
  return [...new Set(named)]
}

const keysOf = (map: Json | undefined): string[] => (isObject(map) ? Object.keys(map) : [])

/** What the dispatch of the loop gives a worker and takes from it. */
export function termsOfWorker({ nodes }: Pick<Plan, 'nodes'>, worker: string): Pick<TeamMember, 'given' | 'brings'> {
  const dispatch = nodes.find(({ type }) => type.role === 'dispatch')
  const { inputs, outputs } = termsFor(dispatch?.node.config ?? {}, worker)
  return { given: inputs.map(([, parent]) => parent), brings: outputs.map(([parent]) => parent) }
}

/**
 * A line of JSON for each member, in their order. Where there is not room for all in full, all are told by name alone as
 * far as these fit, and a last line says how many are left out. Names are whole: a decision must repeat them.
 */
export function teamText(team: readonly TeamMember[]): string {
  const inFull = team.map(memberDoc)
  const shown = inFull.slice(0, MOST_MEMBERS)
  const docs = bytesOf(shown) + LEFT_OUT_BYTES <= TEAM_BYTES ? shown : team.map(({ worker }) => ({ worker }))
  const told: JsonObject[] = []
  let room = TEAM_BYTES - LEFT_OUT_BYTES
  for (const doc of docs) {
    room -= bytesOf([doc])
    if (room < 0) break
    told.push(doc)
  }
  const left = team.length - told.length
  return [...told, ...(left > 0 ? [{ workersLeftOut: left }] : [])].map(doc => JSON.stringify(doc)).join('\n')
}

const LEFT_OUT_BYTES = 50

const bytesOf = (docs: readonly JsonObject[]): number =>
  docs.reduce((sum, doc) => sum + utf8Length(JSON.stringify(doc)) + 1, 0)

function memberDoc({ worker, about, given, brings, takes, makes }: TeamMember): JsonObject {
  const names = (name: string, all: readonly string[] | undefined) =>
    all === undefined || all.length === 0
      ? {}
      : {
          [name]: all.slice(0, MOST_FIELDS).map(one => shortened(one, NAME_CHARACTERS)),
          ...(all.length > MOST_FIELDS && { [`${name}LeftOut`]: all.length - MOST_FIELDS }),
        }
  return {
    worker,
    ...(about === undefined || about === '' ? {} : { about: shortened(about, ABOUT_CHARACTERS) }),
    ...names('given', given),
    ...names('brings', brings),
    ...names('takes', takes),
    ...names('makes', makes),
  }
}

/** Names of the fields that a schema of an object declares. */
export const fieldsOf = (schema: Json | undefined): readonly string[] =>
  isObject(schema) && isObject(schema.properties) ? Object.keys(schema.properties) : []
