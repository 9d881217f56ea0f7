import { printable, type Terminal } from '../../terminal/terminal.js'
import { UsageError } from '../../terminal/usage-error.js'

export const AT_HELP = 'as a run saw it before that event of its log; RUN:end: after all there is of it'

/** Which scope, or which moment of a run, was asked for. */
export function whereOf({ scope, at }: { readonly scope?: string; readonly at?: string }) {
  if (at !== undefined && !/^[\w-]{1,128}(?::(?:\d{1,15}|end))$/.test(at))
    throw new UsageError(
      `--at ${JSON.stringify(at)} is not understood; use RUN:SEQ, such as 3f2a:12, where SEQ is the number of an event (\`assay runs events RUN\`), or RUN:end`,
    )
  return { ...(scope !== undefined && { scope }), ...(at !== undefined && { at }) }
}

/** Content as it is, into a file or a pipe; on a screen nothing of it steers the terminal. */
export function wordsShown(terminal: Terminal, bytes: Buffer): void {
  if (terminal.outBytes && !terminal.isLive) void terminal.outBytes(bytes)
  else for (const line of bytes.toString('utf8').replace(/\n$/, '').split('\n')) terminal.out(shown(line))
}

const shown = (line: string): string => line.split('\t').map(printable).join('\t')
