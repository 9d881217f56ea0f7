/** What a message takes besides its text, at most. */
const PER_MESSAGE = 16

/** No tokenizer makes more tokens of a text than it has bytes, so a bound on bytes is one on tokens. */
export const tokenBound = (...texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Buffer.byteLength(text) + PER_MESSAGE, 0)
