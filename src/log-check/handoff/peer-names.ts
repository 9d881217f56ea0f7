/** How Assay names what is on another host: workers `peer:NAME/WORKFLOW`, and their runs `peer:NAME/RUN`. */
export const isPeerRun = (childRunId: unknown): boolean =>
  typeof childRunId === 'string' && /^peer:[a-z][a-z0-9-]{0,31}\/[A-Za-z0-9_-]{1,128}$/.test(childRunId)

/** The peer that a worker or a run is of; undefined for one of this host. */
export const peerOf = (name: unknown): string | undefined =>
  typeof name === 'string' ? /^peer:([^/]*)\//.exec(name)?.[1] : undefined
