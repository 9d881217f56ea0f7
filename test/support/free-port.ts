import { createServer } from 'node:net'

const LOWEST = 10_000
const HIGHEST = 30_000

/**
 * A port of 127.0.0.1 that was free a moment ago, below the range from which the system picks client ports: a server
 * that is down there cannot be met by a connection to itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST))
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
