import { isObject, type Json } from '../core/json.js'
import { readPattern, type Ticking } from './pattern.js'
import { stringsIn, valueAt } from './pointer.js'
import {
  evidence,
  found,
  MAX_EVIDENCE,
  nothingAt,
  type ProbeFinding,
  type ProbeOf,
  type ProbeSubject,
  probeUnavailable,
  refOf,
  unchanging,
} from './probe.js'
import { isUrl, pageOf, urlsIn } from './urls.js'

/** Whether everything that a text cites is there: among what the gate knows, the sources of the run, or those of the output. */
export function probeCitation(
  probe: ProbeOf<'citation'>,
  subject: ProbeSubject,
  { clock }: { readonly clock: Ticking },
): ProbeFinding {
  const text = valueAt(subject.output, probe.path)
  const ref = refOf(probe)
  if (text === undefined) return nothingAt(ref, subject.output)
  const listed = probe.sources_path === undefined ? [] : valueAt(subject.output, probe.sources_path)
  if (listed === undefined) return nothingAt(probe.sources_path ?? '', subject.output)
  const given = contextNamed(probe, subject)
  if (typeof given === 'string')
    return unchanging(given, 'the source could not be had, so nothing can be looked up in it')
  const cited = citedIn(stringsIn(text), probe.pattern, clock)
  if (typeof cited === 'string') return probeUnavailable(ref, cited)
  if (cited.size === 0) return found('failed', evidence('artifact_reference', ref, 'nothing is cited'))
  const named = namesInTexts(given, probe.pattern, clock)
  if (typeof named === 'string') return probeUnavailable(ref, named)
  const sources = new Set([...subject.knowledge.flatMap(namesOf), ...sourcesIn(listed), ...named].map(nameOf))
  const dead = [...cited].filter(name => !sources.has(name))
  return dead.length === 0
    ? found(
        'held',
        evidence('artifact_reference', ref, `${cited.size} cited, all among ${sources.size} names of sources`),
      )
    : found('failed', ...deadEvidence(dead, ref))
}

/** The values of those entries of the gate's context that the probe names; the name of one that is not there. */
function contextNamed({ sources = [] }: ProbeOf<'citation'>, { context = [] }: ProbeSubject): readonly Json[] | string {
  const lost = sources.find(ref => context.every(entry => entry.ref !== ref))
  return lost ?? context.filter(({ ref }) => sources.includes(ref)).map(({ value }) => value)
}

/** In a source of the run everything may be cited that the pattern finds there, or that stands there as a word. */
function namesInTexts(
  values: readonly Json[],
  pattern: string | undefined,
  clock: Ticking,
): readonly string[] | string {
  const texts = values.flatMap(stringsIn)
  if (texts.length === 0) return []
  const found = pattern === undefined ? new Set<string>() : citedIn(texts, pattern, clock)
  if (typeof found === 'string') return found
  const words = texts.flatMap(text => text.split(/[\s,;()[\]{}"'`<>]+/))
  return [...values.flatMap(sourcesIn), ...found, ...words, ...words.map(word => word.replace(/[.:!?]+$/, ''))]
}

function deadEvidence(dead: readonly string[], ref: string) {
  const isTooMany = dead.length > MAX_EVIDENCE
  const listed = dead.slice(0, isTooMany ? MAX_EVIDENCE - 1 : MAX_EVIDENCE)
  const each = listed.map(name => evidence('artifact_reference', name, 'is cited and is not among the sources'))
  const rest = `${dead.length - listed.length} more are cited and are not among the sources`
  return isTooMany ? [...each, evidence('artifact_reference', ref, rest)] : each
}

/** Addresses, and the ids of markers, or of the gate's own pattern; a text says why it cannot be known. */
function citedIn(texts: readonly string[], source: string | undefined, clock: Ticking): ReadonlySet<string> | string {
  const cited = new Set<string>()
  const pattern = source === undefined ? undefined : readPattern(source)
  if (source !== undefined && pattern === undefined) return 'the pattern of this probe cannot be read'
  for (const text of texts) {
    const ids = pattern === undefined ? markedIn(text) : pattern.all(text, clock)
    if (ids === undefined) return 'the text is too long for this pattern'
    for (const name of [...urlsIn(text), ...ids]) cited.add(nameOf(name))
  }
  // A pattern may find an empty text, which cites nothing.
  cited.delete('')
  return cited
}

/** `[id]`, `[@id]` and `[@one; @two]`, but not `[label](address)`. Words with a space between them are a remark. */
function markedIn(text: string): readonly string[] {
  return [...text.matchAll(/\[([^[\]\n]{1,500})\](?!\()/g)].flatMap(([, inside = '']) => {
    const ids = inside.split(/[;,]/).map(id => ID.exec(id)?.[1])
    return ids.every(id => id !== undefined) ? ids.filter(id => !isUrl(id)) : []
  })
}

const ID = /^ *@?([\p{L}\p{N}][\p{L}\p{N}._:/#+-]*) *$/u

/** The output's own list: each source is a text, or an object with an `id`, an `entry_id` or a `url`. */
function sourcesIn(listed: Json): readonly string[] {
  if (typeof listed === 'string') return [listed]
  if (Array.isArray(listed)) return listed.flatMap(sourcesIn)
  return isObject(listed) ? namesOf(listed) : []
}

const namesOf = (source: { readonly [name: string]: Json | undefined }): readonly string[] =>
  [source.id, source.entry_id, source.url].filter(name => typeof name === 'string')

const nameOf = (name: string): string => (isUrl(name) ? pageOf(name) : name.trim())
