/** The known name that a misspelt one was probably meant to be, as the end of a sentence; else all of them. */
export function suggestion(name: string, known: readonly string[], what: string): string {
  const ranked = known.map(other => ({ other, edits: editDistance(name.toLowerCase(), other.toLowerCase()) }))
  const best = ranked.sort((a, b) => a.edits - b.edits)[0]
  if (best !== undefined && best.edits <= Math.max(2, name.length / 3)) return `; did you mean ${best.other}?`
  return `; the ${what} are ${known.join(', ')}`
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(swap, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
