import { createServer } from 'node:net'
import { CLOSED_PORTS } from '../../src/egress/target.js'

const LOWEST = 10_000
const HIGHEST = 30_000
/**
 * Each process has a stretch of its own and goes through it in turn: on a busy machine it takes a while until a server
 * takes the port that it was promised, and meanwhile nobody else is promised the same.
 */
const STRETCH = 200
const first = LOWEST + (process.pid % ((HIGHEST - LOWEST) / STRETCH)) * STRETCH
let promised = 0

/**
 * A port of 127.0.0.1 that was free a moment ago, below the range from which the system picks client ports: a server
 * that is down there cannot be met by a connection to itself. Nor is it one that the egress guard refuses for its
 * number alone.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + (promised % STRETCH)
    promised += 1
    if (!CLOSED_PORTS.has(port) && (await isFree(port))) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
