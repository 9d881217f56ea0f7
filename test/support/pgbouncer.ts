import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.js'
import { until } from './host-process.js'
import { postgresAccount } from './postgres-binaries.js'

/** PgBouncer itself, in transaction mode, where there is one: as an operator would run it, with few connections. */
export class PgBouncer {
  readonly handovers = undefined

  private constructor(
    private readonly child: ChildProcess,
    private readonly port: number,
    private readonly folder: string,
  ) {}

  /** `url` is that of any database of the server. */
  static async start(program: string, url: string, { poolSize = 4 } = {}): Promise<PgBouncer> {
    const { hostname, port: upstream, username, password } = new URL(url)
    const port = await freePort()
    const folder = mkdtempSync(join(tmpdir(), 'assay-pgbouncer-'))
    chmodSync(folder, 0o755)
    const settings = [
      '[databases]',
      `* = host=${hostname} port=${upstream} user=${username} password=${password}`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any`,
      `pool_mode = transaction\ndefault_pool_size = ${poolSize}\nmax_client_conn = 500\nserver_round_robin = 1`,
    ]
    writeFileSync(join(folder, 'pgbouncer.ini'), `${settings.join('\n')}\n`)
    // It refuses to run as root, as PostgreSQL does.
    const child = spawn(program, ['-q', join(folder, 'pgbouncer.ini')], {
      ...postgresAccount(),
      cwd: '/',
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const bouncer = new PgBouncer(child, port, folder)
    await until('PgBouncer to take connections', () => bouncer.#answers(url))
    return bouncer
  }

  /** The way to a database through here. */
  through(url: string): string {
    return Object.assign(new URL(url), { port: String(this.port) }).href
  }

  async close(): Promise<void> {
    const exit = once(this.child, 'exit')
    this.child.kill('SIGKILL')
    await exit
    rmSync(this.folder, { recursive: true })
  }

  async #answers(url: string): Promise<boolean> {
    const client = new pg.Client(this.through(url))
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.end()
      return true
    } catch {
      if (this.child.exitCode !== null) throw new Error('PgBouncer does not start')
      return false
    }
  }
}
