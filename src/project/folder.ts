import fs from 'node:fs/promises'

export async function isFolder(place: string): Promise<boolean> {
  try {
    return (await fs.stat(place)).isDirectory()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

/** Names of the files that match, in order; none where there is no such folder. */
export async function filesIn(folder: string, pattern: RegExp): Promise<string[]> {
  if (!(await isFolder(folder))) return []
  return (await fs.readdir(folder)).filter(name => pattern.test(name)).sort()
}
