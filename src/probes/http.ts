import type { EgressAnswer, EgressCode } from '../egress/egress.js'
import { createSemaphore } from '../timing/semaphore.js'
import { stringsIn, valueAt } from './pointer.js'
import {
  evidence,
  found,
  MAX_EVIDENCE,
  type Means,
  nothingAt,
  type ProbeFinding,
  type ProbeOf,
  type ProbeSubject,
  probeUnavailable,
  refOf,
} from './probe.js'
import { urlsIn } from './urls.js'

const MAX_URLS = MAX_EVIDENCE
const AT_A_TIME = 4
const TIMEOUT_MS = 10_000
const MAX_BYTES = 1024 * 1024

/** Asks for pages and tells whether they are what they should be. A redirect is an answer; nobody follows it. */
export async function probeHttp(probe: ProbeOf<'http'>, subject: ProbeSubject, means: Means): Promise<ProbeFinding> {
  const { body_pattern: pattern } = probe
  // Whatever a pattern is searched in, a text without a character is long enough to find out whether it is one.
  if (pattern !== undefined && (await search(pattern, '', subject, means)) === 'unavailable') {
    return probeUnavailable(probe.probe_id, 'the pattern of this probe cannot be read')
  }
  const ref = refOf(probe)
  const urls = urlsOf(probe, subject)
  if (urls === undefined) return nothingAt(ref, subject.output)
  if (urls.length === 0) return says('failed', ref, 'has no address of a web page')
  if (urls.length > MAX_URLS) return says('failed', ref, `has ${urls.length} addresses; at most ${MAX_URLS} are asked`)
  const slots = createSemaphore(AT_A_TIME)
  return allOf(await Promise.all(urls.map(url => slots(() => ask(url, probe, pattern, subject, means)))))
}

function urlsOf({ url, path }: ProbeOf<'http'>, { output }: ProbeSubject): readonly string[] | undefined {
  if (url !== undefined) return [url]
  const value = valueAt(output, path)
  return value === undefined ? undefined : [...new Set(stringsIn(value).flatMap(urlsIn))]
}

async function ask(
  url: string,
  { status }: ProbeOf<'http'>,
  pattern: string | undefined,
  subject: ProbeSubject,
  means: Means,
): Promise<ProbeFinding> {
  const answer = await means.egress.send({
    method: 'GET',
    // The part after `#` is for whoever reads the page, and is never sent.
    url: url.replace(/#.*$/s, ''),
    // Nothing is decompressed, so that a small answer cannot become a large one.
    headers: {
      accept: '*/*',
      'accept-encoding': 'identity',
      ...(subject.traceparent !== undefined && { traceparent: subject.traceparent }),
    },
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_BYTES,
    signal: subject.signal,
  })
  const ref = shown(url)
  if (!answer.ok) return says(FAILURES[answer.code], ref, answer.message)
  if (!status.includes(answer.status)) {
    const outcome = isOwnTrouble(answer.status) ? 'unavailable' : 'failed'
    return says(outcome, ref, `answers ${answer.status}; it must answer ${status.join(' or ')}`)
  }
  if (pattern === undefined) return says('held', ref, `answers ${answer.status}`)
  return searchBody(ref, answer, text => search(pattern, text, subject, means))
}

/** Where long searches are done, as if the text were what a worker has brought. */
async function search(pattern: string, output: string, { tenant, signal }: ProbeSubject, { pure }: Means) {
  const probe = { probe_id: 'body_pattern', type: 'regex', pattern, absent: false } as const
  return (await pure.run(probe, { tenant, output, knowledge: [], signal })).outcome
}

async function searchBody(
  ref: string,
  answer: Extract<EgressAnswer, { ok: true }>,
  find: (text: string) => Promise<ProbeFinding['outcome']>,
): Promise<ProbeFinding> {
  const encoding = answer.headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') return says('unavailable', ref, 'answers in a compressed form')
  const found = await find(answer.body.toString())
  if (found === 'unavailable') return says('unavailable', ref, 'its page is too long for the pattern')
  const answers = `answers ${answer.status}`
  if (found === 'held') return says('held', ref, `${answers}, and the pattern is in its page`)
  if (answer.truncated)
    return says('unavailable', ref, `${answers}; the pattern is not in its first ${MAX_BYTES} bytes`)
  return says('failed', ref, `${answers}, and the pattern is not in its page`)
}

/** The server's own trouble, or that it has been asked too often, says nothing of whether the page is there. */
const isOwnTrouble = (status: number): boolean => status >= 500 || status === 429

/** What there is no page at, failed; what could not be asked, is not known. */
const FAILURES: { readonly [Code in EgressCode]: 'failed' | 'unavailable' } = {
  'malformed-url': 'failed',
  unresolvable: 'failed',
  'connect-failed': 'failed',
  'tls-failed': 'failed',
  'bad-response': 'failed',
  'refused-url': 'unavailable',
  'blocked-address': 'unavailable',
  timeout: 'unavailable',
  aborted: 'unavailable',
  'connection-lost': 'unavailable',
  'too-large': 'unavailable',
}

/** One page that is not as it should be is enough; else one that nobody could look at. */
function allOf(pages: readonly ProbeFinding[]): ProbeFinding {
  const worst = (['failed', 'unavailable'] as const).find(one => pages.some(({ outcome }) => outcome === one)) ?? 'held'
  return found(worst, ...pages.filter(({ outcome }) => outcome === worst).flatMap(page => page.evidence))
}

const says = (outcome: ProbeFinding['outcome'], ref: string, detail: string): ProbeFinding =>
  found(outcome, evidence('artifact_reference', ref, detail))

/** Without a user name and password. */
function shown(url: string): string {
  if (!URL.canParse(url)) return url
  const page = new URL(url)
  page.username = ''
  page.password = ''
  return page.href
}
