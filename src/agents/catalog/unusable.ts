import { DocumentError } from '../../project/document.js'

/** A file cannot be used as it is; each problem names the file and what to change. */
export class Unusable extends Error {
  override readonly name = 'Unusable'
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'))
  }
}

export const refuseManifest = (file: string, problem: string): never => {
  throw new Unusable([`${file}: ${problem}`])
}

export const refuseIf = (file: string, problems: readonly string[]): void => {
  if (problems.length > 0) throw new Unusable(problems.map(problem => `${file}: ${problem}`))
}

/** What a person is told of an error met while reading `file`. Rethrows what is nobody's mistake but ours. */
export function problemsOf(error: unknown, file: string): readonly string[] {
  if (error instanceof Unusable) return error.problems
  if (error instanceof DocumentError) return [error.message]
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code !== undefined && syscall !== undefined) return [`${file}: cannot be read (${code}); check its permissions`]
  throw error
}
