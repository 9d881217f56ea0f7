import { RE2JS } from 're2js'
import { Type } from 'typebox'
import { PATH_RULE } from '../core/journal/refusals.js'
import { own } from '../core/json.js'
import { isNamed } from '../core/names.js'
import {
  AnyNumber,
  AnyObject,
  Closed,
  Flag,
  ListOf,
  Matching,
  May,
  Milliseconds,
  OneOf,
  Text,
  TextWhere,
  Whole,
} from '../core/schema/kinds.js'
import type { Probe } from '../core/verification/gate.js'
import { PublicAddress } from './address.js'
import { type Origin, ProbeId } from './names.js'

/** A probe as its author wrote it: the host names those that have no name. */
export type ProbeWanted = Probe extends infer P
  ? P extends Probe
    ? Omit<P, 'probe_id'> & { probe_id?: string }
    : never
  : never

const MOST_BYTES = 1024 ** 4
const MOST_COMMAND_MS = 300_000

const Pointer = (description: string) =>
  Matching(/^(\/([^~\0]|~[01])*)?$/, 'a JSON pointer such as /report/title, or "" for the whole output', {
    description,
  })
const PATH = { path: May(Pointer('Where in the output to look; all of it where left out')) }

const isInside = (file: string): boolean =>
  /\S/.test(file) && file.length <= 1024 && !/^[/\\]|^[A-Za-z]:|[\\\0]/.test(file) && !file.split('/').includes('..')

const probeOf = <const T extends Probe['type'], Fields extends Parameters<typeof Closed>[0]>(type: T, fields: Fields) =>
  Closed({
    probe_id: May(ProbeId({ description: 'What the record calls it; its dimension and a number where left out' })),
    type: Type.Literal(type, { description: 'What is checked' }),
    ...fields,
  })

/** Each type knows its own fields and no others. */
export const ProbeSchema = Type.Union([
  probeOf('json-schema', { ...PATH, schema: AnyObject({ description: 'What the value must fit' }) }),
  probeOf('regex', {
    ...PATH,
    pattern: Text(1_000, { description: 'What must be found, in RE2 syntax' }),
    absent: May(Flag({ description: 'It must not be found', default: false })),
  }),
  probeOf('equals', { ...PATH, value: Type.Unknown({ description: 'What the value must be' }) }),
  probeOf('numeric', {
    ...PATH,
    min: May(AnyNumber({ description: 'The least it may be' })),
    max: May(AnyNumber({ description: 'The most it may be' })),
  }),
  probeOf('file', {
    file: TextWhere(
      'a path inside the workspace of at most 1024 characters: relative, with / and without ..',
      isInside,
      { description: 'The file, by its path there' },
    ),
    // Without a default: a gate that was stored before there was a choice has the hash that it had.
    in: May(
      OneOf(['workspace', 'project'], {
        description:
          'Where it is: in the workspace, as the run that is judged sees it, or in the folder `workspace/` of the project, which is meant where left out; gates that a tenant registered look in the workspace only',
      }),
    ),
    exists: May(Flag({ description: 'Whether it must be there', default: true })),
    sha256: May(Matching(/^[0-9a-f]{64}$/, '64 lower-case hex digits', { description: 'The digest it must have' })),
    min_bytes: May(Whole(0, MOST_BYTES, { description: 'The least it may take' })),
    max_bytes: May(Whole(0, MOST_BYTES, { description: 'The most it may take' })),
  }),
  probeOf('http', {
    url: May(PublicAddress({ description: 'The address to ask' })),
    path: May(Pointer('Where in the output addresses stand; each is asked')),
    status: May(ListOf(Whole(100, 599), 1, 20, { description: 'Answers that count', default: [200] })),
    body_pattern: May(Text(1_000, { description: 'What must be found in the answer, in RE2 syntax' })),
  }),
  probeOf('command', {
    command: ListOf(Text(4096), 1, 50, { description: 'The program and its arguments; no shell is asked' }),
    exit_code: May(Whole(0, 255, { description: 'How it must end', default: 0 })),
    timeout_ms: May(Milliseconds(1, MOST_COMMAND_MS, { description: 'How long it may take', default: 30_000 })),
  }),
  probeOf('citation', {
    ...PATH,
    sources_path: May(Pointer('Where in the output the sources stand')),
    pattern: May(Text(1_000, { description: 'How a citation is written, in RE2 syntax' })),
    sources: May(ListOf(Text(512), 1, 20, { description: "Entries of the gate's own context to look them up in" })),
  }),
])

/** Probes that reach what belongs to all tenants, and why. */
const OPERATORS_ONLY: { readonly [type: string]: string } = {
  command: 'runs a program on the host',
}

/** What the probe is written in, and the folder of the project for that. */
type Home = { readonly what: string; readonly folder: string }

const GATE: Home = { what: 'gate', folder: 'gates/' }

/** What is wrong with where a file is looked for, and with its path there. */
function filePlaceProblems(
  { file, in: place }: ProbeOf<'file'>,
  field: string,
  origin: Origin,
  { what, folder }: Home,
): string[] {
  if (place !== 'workspace')
    return origin === 'project'
      ? []
      : [
          `${field}.in is project${place === undefined ? ', where left out' : ''}: all tenants share those files, so only ${what}s of the project folder look at them; say in: workspace, or put the ${what} into ${folder} there`,
        ]
  return isNamed('filePath', file)
    ? []
    : [`${field}.file must be a path of the workspace: ${PATH_RULE}; got ${JSON.stringify(file.slice(0, 64))}`]
}

type ProbeOf<T extends Probe['type']> = Extract<Probe, { readonly type: T }>

/** What no schema can say of a probe. */
export function probeProblems(probe: Probe, field: string, origin: Origin, home = GATE): string[] {
  const reason = origin === 'project' ? undefined : own(OPERATORS_ONLY, probe.type)
  if (reason !== undefined)
    return [
      `${field}.type "${probe.type}" ${reason}, so it is taken from the project folder only; put the ${home.what} into ${home.folder} there`,
    ]
  switch (probe.type) {
    case 'regex':
    case 'citation':
      return patternProblems(probe.pattern, `${field}.pattern`)
    case 'numeric':
      return [
        ...(probe.min === undefined && probe.max === undefined
          ? [`${field} must have a min, a max or both; add one`]
          : []),
        ...disordered(probe, 'min', 'max', field),
      ]
    case 'file':
      return [
        ...filePlaceProblems(probe, field, origin, home),
        ...(!probe.exists && [probe.sha256, probe.min_bytes, probe.max_bytes].some(rule => rule !== undefined)
          ? [`${field} says that the file must not exist; remove sha256, min_bytes and max_bytes`]
          : []),
        ...disordered(probe, 'min_bytes', 'max_bytes', field),
      ]
    case 'http':
      return [
        ...((probe.url === undefined) === (probe.path === undefined)
          ? [`${field} must have either a url or a path to where addresses stand in the output`]
          : []),
        ...patternProblems(probe.body_pattern, `${field}.body_pattern`),
      ]
    default:
      return []
  }
}

/** Patterns run on a linear-time engine, so it is that engine which must be able to read them. */
function patternProblems(source: string | undefined, field: string): string[] {
  if (source === undefined) return []
  try {
    RE2JS.compile(source)
    return []
  } catch (error) {
    return [`${field} cannot be read as a pattern (RE2 syntax): ${String(error).split('\n', 1)[0]}`]
  }
}

function disordered(probe: object, low: string, high: string, field: string): string[] {
  const { [low]: least, [high]: most } = probe as { readonly [name: string]: unknown }
  const isSo = typeof least === 'number' && typeof most === 'number' && least > most
  return isSo ? [`${field}.${low} ${least} is above ${field}.${high} ${most}; swap them`] : []
}
