/** The command line cannot be understood or acted on; the message says what to change. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
