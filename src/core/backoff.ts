/** Waits that grow with every failure in a row, up to `mostMs`. */
export type Backoff = { readonly firstMs: number; readonly factor?: number; readonly mostMs?: number }

/**
 * How long to wait after so many failures in a row. `draw`, from 0 to 1, spreads the wait from half to one and a half
 * times itself, so that those who failed together do not come back together; without one it is exactly itself, as it
 * must be where waits are recorded.
 */
export function backoff(
  { firstMs, factor = 2, mostMs = Number.POSITIVE_INFINITY }: Backoff,
  failures: number,
  draw = 0.5,
): number {
  // Not to infinity, of which no share can be taken.
  const grown = firstMs * factor ** Math.min(failures - 1, 100)
  return Math.min(Math.round(grown), mostMs) * (0.5 + draw)
}
