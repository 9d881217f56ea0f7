import readline from 'node:readline/promises'

/** Questions put to a person, one at a time. */
export type Conversation = {
  /** What was typed; undefined once the person has left (Ctrl-D, Ctrl-C, end of input). */
  readonly ask: (question: string) => Promise<string | undefined>
  readonly end: () => void
}

export function conversation(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Conversation {
  const prompt = readline.createInterface({ input, output })
  // Lines that are typed ahead of their question are kept for it.
  const lines = prompt[Symbol.asyncIterator]()
  return {
    ask: async question => {
      prompt.setPrompt(question)
      prompt.prompt()
      const { value, done } = await lines.next()
      return done ? undefined : value
    },
    end: () => prompt.close(),
  }
}
