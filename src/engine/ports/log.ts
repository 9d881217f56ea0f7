/** Takes what the host has to say about itself: facts as fields, and one sentence. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
