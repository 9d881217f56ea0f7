import type { End } from './model.js'

/** What all worlds came to at least, so that nothing is silently not looked at. */
export const FLOORS = {
  worlds: 1_200,
  stories: 33_872,
  merged: 20_512,
  'not merged': 13_360,
  verified: 3_264,
  conditional: 864,
  accepted: 9_680,
  'verified in part': 288,
  forced: 1_664,
  unverified: 4_752,
  satisfied: 8_612,
  'not satisfied': 8_320,
  'nobody said': 6_016,
  'runs failed': 10_924,
  'attempts: 1': 11_360,
  'attempts: 2': 10_720,
  'attempts: 3': 11_792,
  'against: fail': 2_832,
  'against: revise': 384,
  'against: forced': 1_580,
  'against: part': 288,
  'against: gave-up': 2_092,
}

export type Counts = { [Each in keyof typeof FLOORS]: number }

export const counts = (): Counts =>
  Object.fromEntries(Object.keys(FLOORS).map(what => [what, 0])) as { [Each in keyof typeof FLOORS]: number }

export function count(seen: Counts, end: End): void {
  seen.stories += 1
  seen[end.merged === undefined ? 'not merged' : 'merged'] += 1
  if (end.label !== undefined) seen[end.label] += 1
  seen[`attempts: ${end.attempts as 1 | 2 | 3}`] += 1
  for (const what of end.against) seen[`against: ${what}`] += 1
  if (end.run === 'failed') seen['runs failed'] += 1
  else if (end.goalSatisfied === undefined) seen['nobody said'] += 1
  else seen[end.goalSatisfied ? 'satisfied' : 'not satisfied'] += 1
}
