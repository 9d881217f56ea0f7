import { RE2JS } from 're2js'
import { isObject, type Json, own } from '../core/json.js'
import type { Probe } from '../core/verification/gate.js'
import { type Origin, probeId } from './names.js'
import {
  anyNumber,
  anyObject,
  anything,
  flag,
  list,
  matching,
  may,
  must,
  object,
  oneOf,
  orElse,
  type Read,
  refined,
  text,
  webAddress,
  whole,
} from './reader.js'

/** A probe as its author wrote it: the host names those that have no name. */
export type ProbeWanted = Probe extends infer P
  ? P extends Probe
    ? Omit<P, 'probe_id'> & { probe_id?: string }
    : never
  : never

const MOST_BYTES = 1024 ** 4
const DEFAULT_COMMAND_MS = 30_000
const MOST_COMMAND_MS = 300_000

const pointer = matching(/^(\/([^~\0]|~[01])*)?$/, 'a JSON pointer such as /report/title, or "" for the whole output')

/** Patterns run on a linear-time engine, so it is that engine which must be able to read them. */
const pattern: Read<string> = refined(text(1_000), (source, field, problems) => {
  try {
    RE2JS.compile(source)
    return source
  } catch (error) {
    problems.push(`${field} cannot be read as a pattern (RE2 syntax): ${String(error).split('\n', 1)[0]}`)
    return undefined
  }
})

const relativePath: Read<string> = refined(text(1024), (file, field, problems) => {
  const isInside = !/^[/\\]|^[A-Za-z]:|[\\\0]/.test(file) && !file.split('/').includes('..')
  if (!isInside)
    problems.push(
      `${field} ${JSON.stringify(file)} must be a path inside the workspace: relative, with / and without ..`,
    )
  return file
})

const named = { probe_id: may(probeId) }
const bytes = whole(0, MOST_BYTES)

/** One reader per type; each knows its own fields and no others. */
const PROBES = {
  'json-schema': object({
    ...named,
    type: must(oneOf('json-schema')),
    path: may(pointer),
    schema: must(anyObject),
  }),
  regex: object({
    ...named,
    type: must(oneOf('regex')),
    path: may(pointer),
    pattern: must(pattern),
    absent: orElse(flag, false),
  }),
  equals: object({ ...named, type: must(oneOf('equals')), path: may(pointer), value: must(anything) }),
  numeric: refined(
    object({
      ...named,
      type: must(oneOf('numeric')),
      path: may(pointer),
      min: may(anyNumber),
      max: may(anyNumber),
    }),
    (probe, field, problems) => {
      if (probe.min === undefined && probe.max === undefined)
        problems.push(`${field} must have a min, a max or both; add one`)
      problems.push(...disordered(probe, 'min', 'max', field))
      return probe
    },
  ),
  file: refined(
    object({
      ...named,
      type: must(oneOf('file')),
      file: must(relativePath),
      exists: orElse(flag, true),
      sha256: may(matching(/^[0-9a-f]{64}$/, '64 lower-case hex digits')),
      min_bytes: may(bytes),
      max_bytes: may(bytes),
    }),
    (probe, field, problems) => {
      const { exists, sha256, min_bytes, max_bytes } = probe
      if (!exists && [sha256, min_bytes, max_bytes].some(rule => rule !== undefined))
        problems.push(`${field} says that the file must not exist; remove sha256, min_bytes and max_bytes`)
      problems.push(...disordered(probe, 'min_bytes', 'max_bytes', field))
      return probe
    },
  ),
  http: refined(
    object({
      ...named,
      type: must(oneOf('http')),
      url: may(webAddress),
      path: may(pointer),
      status: orElse(list(whole(100, 599), 1, 20), [200]),
      body_pattern: may(pattern),
    }),
    (probe, field, problems) => {
      if ((probe.url === undefined) === (probe.path === undefined))
        problems.push(`${field} must have either a url or a path to where addresses stand in the output`)
      return probe
    },
  ),
  command: object({
    ...named,
    type: must(oneOf('command')),
    command: must(list(text(4096), 1, 50)),
    exit_code: orElse(whole(0, 255), 0),
    timeout_ms: orElse(whole(1, MOST_COMMAND_MS), DEFAULT_COMMAND_MS),
  }),
  citation: object({
    ...named,
    type: must(oneOf('citation')),
    path: may(pointer),
    sources_path: may(pointer),
    pattern: may(pattern),
    sources: may(list(text(512), 1, 20)),
  }),
} satisfies { readonly [Type in Probe['type']]: Read<Extract<ProbeWanted, { readonly type: Type }>> }

const TYPES = Object.keys(PROBES)

/** Probes that reach what belongs to all tenants, and why. */
const OPERATORS_ONLY: { readonly [type: string]: string } = {
  command: 'runs a program on the host',
  file: 'looks at files that all tenants share',
}

export const probe =
  (origin: Origin): Read<ProbeWanted> =>
  (raw, field, problems) => {
    const type = isObject(raw) ? raw.type : undefined
    const read = typeof type === 'string' ? own<Read<ProbeWanted>>(PROBES, type) : undefined
    if (read === undefined) return noProbe(raw, field, problems)
    const reason = origin === 'project' ? undefined : own(OPERATORS_ONLY, String(type))
    if (reason === undefined) return read(raw, field, problems)
    problems.push(
      `${field}.type "${type}" ${reason}, so it is taken from the project folder only; put the gate into gates/ there`,
    )
    return undefined
  }

function noProbe(raw: Json, field: string, problems: string[]): undefined {
  if (isObject(raw)) oneOf(...TYPES)(raw.type ?? null, `${field}.type`, problems)
  else anyObject(raw, field, problems)
  return undefined
}

function disordered(probe: { readonly [name: string]: unknown }, low: string, high: string, field: string): string[] {
  const [least, most] = [probe[low], probe[high]]
  const isSo = typeof least === 'number' && typeof most === 'number' && least > most
  return isSo ? [`${field}.${low} ${least} is above ${field}.${high} ${most}; swap them`] : []
}
