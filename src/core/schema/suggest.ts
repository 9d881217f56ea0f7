/** The known name that a misspelt one was probably meant to be. */
export function closestName(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/[-_]/g, '')
  const ranked = known.map(other => ({ other, edits: editDistance(plain(name), plain(other)) }))
  const best = ranked.sort((a, b) => a.edits - b.edits)[0]
  const most = name.length < 4 ? 1 : Math.max(2, Math.min(4, Math.floor(name.length / 3)))
  return best !== undefined && best.edits <= most ? best.other : undefined
}

/** The same as the end of a sentence; all the known names where none is close. */
export function suggestion(name: string, known: readonly string[], what: string): string {
  const close = closestName(name, known)
  if (close !== undefined) return `; did you mean ${close}?`
  return known.length === 0 ? `; there are no ${what}` : `; the ${what} are ${known.join(', ')}`
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
