/** What people write by hand is short and few; what a program wrote gets no advice, and costs nothing. */
const LONGEST = 48
const MOST = 200
const MOST_LISTED = 20

/** The known name that a misspelt one was probably meant to be. */
export function closestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST) return undefined
  const written = plain(name)
  const comparable = known.slice(0, MOST).filter(({ length }) => Math.abs(length - name.length) <= LONGEST / 4)
  const ranked = comparable.map(other => ({ other, edits: editDistance(written, plain(other)) }))
  const best = ranked.sort((a, b) => a.edits - b.edits)[0]
  if (best !== undefined && best.edits <= Math.max(1, Math.min(3, Math.floor(written.length / 3)))) return best.other
  return comparable.find(other => haveSameBeginning(written, plain(other)))
}

/** Case and the marks between words are the commonest slips of all. */
const plain = (text: string): string => text.toLowerCase().replace(/[-_]/g, '')

/** `maxRetry` for `maxRetries`, `maxCost` for `maxCostUsd`. */
function haveSameBeginning(a: string, b: string): boolean {
  let same = 0
  while (same < a.length && a[same] === b[same]) same += 1
  return same >= 4 && same * 3 >= Math.max(a.length, b.length) * 2
}

/** The same as the end of a sentence; all the known names where none is close. */
export function suggestion(name: string, known: readonly string[], what: string): string {
  const close = closestName(name, known)
  if (close !== undefined) return `; did you mean ${close}?`
  if (known.length === 0) return `; there are no ${what}`
  const more = known.length > MOST_LISTED ? ` and ${known.length - MOST_LISTED} more` : ''
  return `; the ${what} are ${known.slice(0, MOST_LISTED).join(', ')}${more}`
}

/** Letters put in, left out or changed, and neighbours that changed places. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const turned = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? swap) + 1 : swap
      next.push(Math.min(swap, turned, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    before = row
    row = next
  }
  return row[b.length] as number
}
