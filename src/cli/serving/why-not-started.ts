import { type Config, type Database, isLoopback } from '../../config.js'

/** Why a host did not start, naming the setting and what to do; undefined where the error says it by itself. */
export function whyNotStarted(error: unknown, { host, port, database }: Config): string | undefined {
  const { code = '', syscall, message, hostname } = first(error)
  if (syscall === 'listen' || (syscall === 'getaddrinfo' && hostname === host)) return listenText(code, host, port)
  if (database.kind === 'postgres' && code !== '') return `database: ${databaseText(code, message, database)}`
  if (database.kind === 'sqlite' && /^(EACCES|EROFS|ENOSPC|ENOTDIR|ENOENT|EISDIR|SQLITE_\w+)$/.test(code))
    return `database: ${database.file} cannot be used: ${message}; see that its folder can be written, or choose another with --database`
  return undefined
}

type Trouble = NodeJS.ErrnoException & { readonly hostname?: string }

/** Of a name that stands for several addresses, none of which answers, each is told of. */
const first = (error: unknown): Trouble =>
  error instanceof AggregateError && error.errors.length > 0 ? error.errors[0] : Object(error)

function listenText(code: string, host: string, port: number): string {
  switch (code) {
    case 'EADDRINUSE':
      return `port: ${port} of ${host} is in use by another program; stop that one, or choose another with --port (0 takes any free one)`
    case 'EACCES':
      return `port: ${port} is not for this user; choose one above 1023 with --port`
    default:
      return `host: ${host} is no address of this machine (${code}); choose another with --host${isLoopback(host) ? '' : ', such as 127.0.0.1'}`
  }
}

/** By code of the system, or by SQLSTATE. Never the whole URL: there may be a password in it. */
function databaseText(code: string, message: string, { url }: Extract<Database, { kind: 'postgres' }>): string {
  const { host, pathname } = URL.canParse(url) ? new URL(url) : { host: '', pathname: '' }
  const place = host === '' ? 'PostgreSQL' : `PostgreSQL at ${host}`
  if (code.startsWith('28'))
    return `${place} does not let this user in (${message}); correct user and password of the URL`
  if (code === '3D000') return `${place} has no database ${pathname.slice(1)}; make it, or correct the URL`
  if (/^E[A-Z]+$/.test(code))
    return `${place} does not answer (${code}); start it, or correct --database or ASSAY_DATABASE`
  return `${place} refuses: ${message}`
}
