import readline from 'node:readline/promises'

/** Questions put to a person, one at a time. */
export type Conversation = {
  /** What was typed; undefined once the person has left (Ctrl-D, Ctrl-C, end of input). */
  readonly ask: (question: string) => Promise<string | undefined>
  readonly end: () => void
}

export function converse(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Conversation {
  const prompt = readline.createInterface({ input, output })
  // Lines that are typed ahead of their question are kept for it.
  const lines = prompt[Symbol.asyncIterator]()
  let hasLeft = false
  return {
    ask: async question => {
      if (hasLeft) return undefined
      prompt.setPrompt(question)
      prompt.prompt()
      const { value, done } = await lines.next()
      if (!done) return value
      hasLeft = true
      output.write('\n')
      return undefined
    },
    end: () => prompt.close(),
  }
}
