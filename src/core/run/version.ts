/** Version of the rules in this folder, as runs record it. Raised when an old log would fold or continue differently. */
export const ENGINE_VERSION = '6'

/** Whether a run began under a version of the rules or a later one; what began before goes on as it began. */
export const isSinceVersion = ({ engineVersion }: { readonly engineVersion: string }, version: number): boolean =>
  Number(engineVersion) >= version
