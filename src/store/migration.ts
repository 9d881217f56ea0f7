/** One numbered, immutable step of a schema. */
export type Migration = { readonly version: number; readonly name: string; readonly sql: string }

/** The steps a database still needs. Refuses a database that a newer Assay has changed: this one would misread it. */
export function stepsFrom(applied: number, known: readonly Migration[], database: string): readonly Migration[] {
  const newest = known.at(-1)?.version ?? 0
  if (applied > newest) {
    throw new Error(
      `${database} has schema version ${applied}, but this version of Assay knows only up to ${newest}. ` +
        'Start the version of Assay that wrote it, or a newer one.',
    )
  }
  return known.filter(step => step.version > applied)
}
