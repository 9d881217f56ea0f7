import { type Choose, pick } from './choice.js'
import { CHANNELS } from './workflows.js'

/** Writes to some channel, by a second reading of core §9.4 that owes nothing to the checker's fold. */
export function writeChannel(
  channels: Record<string, unknown>,
  choose: Choose,
  at: number,
): { channel: string; value: unknown; reducer: string } {
  const channel = pick(choose, Object.keys(CHANNELS))
  const value = VALUES[channel]?.(choose)
  channels[channel] = AFTER[channel]?.(channels[channel], value, at)
  return { channel, value, reducer: String(CHANNELS[channel]?.reducer) }
}

const VALUES: { readonly [channel: string]: (choose: Choose) => unknown } = {
  lines: choose => `line ${choose(9)}`,
  recent: choose => choose(9),
  total: choose => choose(9) - 4,
  merged: choose => ({ [pick(choose, ['a', 'b'])]: choose(9) }),
  ballot: choose => ({ userId: pick(choose, ['ann', 'bob']), vote: choose(2) === 1 }),
  chat: choose => ({ messageId: `m${choose(3)}`, text: `text ${choose(9)}` }),
  latest: choose => pick(choose, [null, 1, 'x', [1]]),
  notes: choose => ({ author: 'ann', text: `note ${choose(9)}` }),
}

type Entry = { readonly [key: string]: unknown }
const all = (before: unknown): Entry[] => (before === undefined ? [] : (before as Entry[]))

const AFTER: { readonly [channel: string]: (before: unknown, value: unknown, at: number) => unknown } = {
  lines: (before, value) => [...all(before), value].slice(-3),
  recent: (before, value, at) => [...all(before).filter(entry => Number(entry._ts) >= at - 50), { value, _ts: at }],
  total: (before, value) => Number(before) + Number(value),
  merged: (before, value) => Object.assign({}, before, value),
  ballot: (before, value) => [...all(before).filter(entry => entry.userId !== (value as Entry).userId), value],
  chat: (before, value) =>
    all(before).some(entry => entry.messageId === (value as Entry).messageId) ? before : [...all(before), value],
  latest: (_before, value) => value,
  notes: (before, value) => [...all(before), value],
}
