/** How many of these, from the first on, come to no more than `most` together; one, if the first is more by itself. */
export function countWithin(sizes: readonly number[], most: number): number {
  let total = 0
  for (const [i, size] of sizes.entries()) {
    total += size
    if (total > most) return Math.max(1, i)
  }
  return sizes.length
}
