import fs from 'node:fs/promises'
import path from 'node:path'
import { readIfPresent } from './local-key.js'

/** Where the server of a data folder listens, as it said itself. */
export type LocalServer = { readonly url: string; readonly pid: number }

const serverFile = (data: string): string => path.join(data, 'server.json')

/** Tells clients on this machine where the server listens. Returns the function that takes it back on exit. */
export async function announceServer(data: string, url: string): Promise<() => Promise<void>> {
  await fs.mkdir(data, { recursive: true, mode: 0o700 })
  const draft = `${serverFile(data)}.${process.pid}`
  await fs.writeFile(draft, `${JSON.stringify({ url, pid: process.pid })}\n`, { mode: 0o600 })
  await fs.rename(draft, serverFile(data))
  return async () => {
    // A successor may have announced itself already; its word stays.
    if ((await readServer(data))?.pid === process.pid) await fs.rm(serverFile(data), { force: true })
  }
}

/** The server that was announced, unless its process is gone. */
export async function findServer(data: string): Promise<LocalServer | undefined> {
  const server = await readServer(data)
  return server !== undefined && isAlive(server.pid) ? server : undefined
}

async function readServer(data: string): Promise<LocalServer | undefined> {
  const text = await readIfPresent(serverFile(data))
  if (text === undefined) return undefined
  const { url, pid } = parseAnnouncement(text)
  return typeof url === 'string' && typeof pid === 'number' ? { url, pid } : undefined
}

/** A file that is not what a server writes announces nothing. */
function parseAnnouncement(text: string): { url?: unknown; pid?: unknown } {
  try {
    return Object(JSON.parse(text))
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw error
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
