/**
 * Reads the log of one commitment and reports every place where it breaks what docs/design/arm.md promises. It knows the page
 * and stored events, and shares nothing with the engine.
 */

export type CommitmentLogEvent = {
  readonly sequence: number
  readonly type: string
  readonly at: number
  readonly payload: { readonly [field: string]: unknown }
}

export type CommitmentFinding = { readonly rule: CommitmentRuleId; readonly sequence: number; readonly message: string }

/** What each rule says, by its id. */
export const COMMITMENT_RULES = {
  Y1: 'A commitment begins with assay.commitment.made; sequences are dense, times never fall, and nothing follows its end',
  Y2: 'It fires once at most: one run begins, for a tick that has come, and that it has fired is told of that run, at that moment',
  Y3: 'It ends when it has fired or was dropped, and not both; and with nothing else',
  Y4: 'Payloads are free of content: ids, numbers and words of closed lists',
} as const

export type CommitmentRuleId = keyof typeof COMMITMENT_RULES

type Say = (rule: CommitmentRuleId, message: string) => void

type Account = {
  owed: string | undefined
  run: string | undefined
  over: 'fired' | 'dropped' | undefined
  ended: boolean
}

export function checkCommitment(events: readonly CommitmentLogEvent[]): CommitmentFinding[] {
  const found: CommitmentFinding[] = []
  const account: Account = { owed: undefined, run: undefined, over: undefined, ended: false }
  let before = Number.NEGATIVE_INFINITY
  events.forEach((event, index) => {
    const say: Say = (rule, message) => found.push({ rule, sequence: event.sequence, message })
    if (event.sequence !== index) say('Y1', `sequence ${event.sequence} in the place of ${index}`)
    if (event.at < before) say('Y1', `time falls from ${before} to ${event.at}`)
    if ((index === 0) !== (event.type === 'assay.commitment.made')) say('Y1', `${event.type} as event ${index}`)
    if (account.ended) say('Y1', `${event.type} after the end`)
    before = event.at
    checkContent(event, say)
    walk(account, event, events[index - 1], say)
  })
  return found
}

function walk(
  account: Account,
  { type, at, payload }: CommitmentLogEvent,
  before: CommitmentLogEvent | undefined,
  say: Say,
): void {
  switch (type) {
    case 'assay.arm.ticked': {
      const [tick, ...more] = payload.ticks as number[]
      if (account.owed !== undefined || more.length > 0 || tick === undefined || tick > at) say('Y2', `ticks at ${at}`)
      account.owed = new Date(tick ?? 0).toISOString()
      return
    }
    case 'assay.stream.run.began':
      if (account.run !== undefined || payload.ordinal !== 1 || payload.role !== 'work') say('Y2', 'another run begins')
      if (account.owed === undefined || account.owed !== payload.tick) say('Y2', `a run for ${String(payload.tick)}`)
      account.run = String(payload.runId)
      return
    case 'commitment.fired':
      if (before?.type !== 'assay.stream.run.began' || before.at !== at || payload.enqueuedRunId !== account.run)
        say('Y2', 'fires without the run that it names')
      if (account.over !== undefined) say('Y3', `fires, and was ${account.over}`)
      account.over = 'fired'
      return
    case 'assay.commitment.dropped':
      if (account.over !== undefined) say('Y3', `is dropped, and was ${account.over}`)
      account.over = 'dropped'
      return
    case 'assay.stream.ended':
      if (account.over === undefined) say('Y3', 'ends, and neither fired nor was dropped')
      account.ended = true
  }
}

/** Names are their authors' own; everything else in a payload is an id, a number or a word of a closed list. */
const NAMES: ReadonlySet<string> = new Set(['memoryRef', 'memoryId'])
const WORDS = /^[A-Za-z0-9._:-]{1,200}$/

function checkContent({ type, payload }: CommitmentLogEvent, say: Say): void {
  const isFree = (value: unknown): boolean => {
    if (typeof value === 'string') return WORDS.test(value)
    if (typeof value === 'object' && value !== null) return Object.values(value).every(isFree)
    return true
  }
  const said = Object.entries(payload).filter(([name]) => !NAMES.has(name))
  if (!said.every(([, value]) => isFree(value))) say('Y4', `${type} says more than ids and numbers`)
}
