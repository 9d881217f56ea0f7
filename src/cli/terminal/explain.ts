import pc from 'picocolors'
import { AssayError } from '../../client/assay-error.js'
import { ConfigError } from '../../config.js'
import { DocumentError } from '../../project/document.js'
import { ProjectError } from '../../project/load-project.js'
import { EXIT, type ExitCode } from './exit-code.js'
import { printable } from './terminal.js'
import { UsageError } from './usage-error.js'

/** The host would not start: its data folder is in use, its database is too new or out of reach, … */
export class StartRefused extends Error {
  override readonly name = 'StartRefused'
}

/** What went wrong, and what to do about it; undefined for what only a bug can explain. */
export function explainError(error: unknown): { lines: readonly string[]; exitCode: ExitCode } | undefined {
  if (error instanceof AssayError) return { lines: explainRefusal(error), exitCode: EXIT.refused }
  if (error instanceof ConfigError || error instanceof ProjectError) {
    return { lines: error.problems.map(problem), exitCode: EXIT.refused }
  }
  if (error instanceof UsageError || error instanceof DocumentError || error instanceof StartRefused) {
    return { lines: [problem(error.message)], exitCode: EXIT.refused }
  }
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  if (typeof code === 'string' && /^E[A-Z]+$/.test(code)) {
    return { lines: [problem((error as Error).message)], exitCode: EXIT.refused }
  }
  return undefined
}

const problem = (message: string): string => `${pc.red('error:')} ${printable(message)}`
const next = (advice: string): string => `${pc.dim('next:')}  ${advice}`

function explainRefusal(error: AssayError): string[] {
  const shown = Object.entries(error.details).filter(([name]) => name !== 'retryAfter' && name !== 'retryAfterMs')
  return [
    `${problem(error.message)} ${pc.dim(`[${printable(error.code)}]`)}`,
    ...shown.map(([name, value]) => `       ${printable(name)}: ${printable(JSON.stringify(value))}`),
    ...advice(error).map(next),
  ]
}

function advice(error: AssayError): string[] {
  switch (error.code) {
    case 'unreachable':
      return ['start the server with `npm start` (or `assay serve`), or name another with --url']
    case 'unauthenticated':
    case 'key_expired':
    case 'key_revoked':
      return ['give a valid key with --key or ASSAY_API_KEY; on the server’s own machine, use the same --data folder']
    case 'forbidden':
      if (error.details.field === 'approversList')
        return ['answer with the key of an approver; `assay interrupts show` lists them']
      return ['use a key with the scope this needs; `assay keys list` shows the scopes of each']
    case 'not_found':
      return [
        'check the id; `assay workflows list`, `assay gates list`, `assay agents list`, `assay runs list`, `assay memory scopes` and `assay workspace ls` show what this key can see',
      ]
    case 'interrupt_changed':
      return ['look again with `assay interrupts show`, then answer what it shows now']
    case 'interrupt_already_resolved':
    case 'interrupt_expired':
    case 'interrupt_gone':
    case 'interrupt_cancelled':
      return ['`assay runs events` shows how it ended; `assay interrupts list` what still waits']
    case 'interrupt_not_found':
      return ['`assay interrupts list` shows what waits for an answer']
    case 'run_paused':
      return ['`assay runs resume` lets the run go on']
    case 'workspace_conflict':
      return [
        '`assay workspace diff` shows what changed; then write again with --if-match and the version that is there now',
      ]
    case 'replay_memory_snapshot_unavailable':
      return ['give a later event of the run, or leave --at out to see what there is now']
    case 'invalid_from_seq':
      return ['`assay runs events` shows the sequences of a run']
    case 'subscription_not_found':
      return ['`assay webhooks list` shows the subscriptions']
    case 'rate_limited':
    case 'service_unavailable':
      return [`try again${error.retryAfterMs === undefined ? '' : ` in ${Math.ceil(error.retryAfterMs / 1000)} s`}`]
    case 'quota_exceeded':
      return ['wait for some of it to end, or ask whoever operates the host for more (docs/guides/quotas.md)']
    case 'internal_error':
      return ['the server’s log has the details under the correlation id']
    default:
      return []
  }
}
