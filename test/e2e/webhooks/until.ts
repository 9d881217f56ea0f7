/** Waits for a condition; throws when it has not come true in time. */
export async function until(condition: () => boolean | Promise<boolean>, ms = 10_000): Promise<void> {
  const end = Date.now() + ms
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not true within ${ms} ms: ${condition}`)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}
