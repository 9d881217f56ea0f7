/** More than anybody mends in one go. */
export const MOST_TOLD = 20

/** What is wrong with the items, until there is as much as is told: nobody can have the host look at more. */
export function firstFew<Item>(
  items: Iterable<Item>,
  problemsIn: (item: Item, index: number) => readonly string[],
  most: number = MOST_TOLD,
): string[] {
  const problems: string[] = []
  let index = 0
  for (const item of items) {
    if (problems.length >= most) break
    problems.push(...problemsIn(item, index))
    index += 1
  }
  return problems
}
