import type { RunLog } from './checked.js'

/** A rule that was changed holds for runs that began under it; what began before goes on being legal as it was. */
export const isSinceVersion = ({ started }: RunLog, version: number): boolean =>
  Number(started.engineVersion) >= version
