import { problemsOf } from './unusable.js'

export type FileToRead<T> = { readonly file: string; readonly read: () => Promise<T> }

/**
 * Reads files one by one. One that cannot be used is a problem and stops no other; nor can one whose name, as `nameOf`
 * says it, an earlier file has. Where `before` has a good version of it, that one is kept, whole.
 */
export async function collectPacks<T>(
  files: readonly FileToRead<T>[],
  nameOf: (value: T) => string,
  before: ReadonlyMap<string, T>,
  problems: string[],
  /** Asked at the end: a file that was never meant to be one of these, so that it is no problem that it is none. */
  isOther: (file: string) => boolean = () => false,
): Promise<Map<string, T>> {
  const found = new Map<string, T>()
  const owners = new Map<string, string>()
  const faults = new Map<string, readonly string[]>()
  const take = (file: string, value: T): string | undefined => {
    const name = nameOf(value)
    const owner = owners.get(name)
    if (owner !== undefined) return `${file}: ${name} is already in ${owner}; give one of them another name`
    owners.set(name, file)
    found.set(file, value)
    return undefined
  }
  for (const { file, read } of files) {
    const wrong = await attempt(file, async () => take(file, await read()))
    if (wrong.length === 0) continue
    faults.set(file, wrong)
    const known = before.get(file)
    if (known !== undefined) take(file, known)
  }
  for (const [file, wrong] of faults) if (!isOther(file)) problems.push(...wrong)
  return found
}

async function attempt(file: string, take: () => Promise<string | undefined>): Promise<readonly string[]> {
  try {
    const problem = await take()
    return problem === undefined ? [] : [problem]
  } catch (error) {
    return problemsOf(error, file)
  }
}
