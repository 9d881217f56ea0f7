import { once } from 'node:events'
import pc from 'picocolors'
import { type Conversation, converse } from './conversation.js'

/** Where a command reads and writes. Results go to `out`; everything said about them goes to `note`. */
export type Terminal = {
  readonly out: (line: string) => void
  readonly note: (line: string) => void
  /** Writes them as they are, and resolves when there is room for more; absent where only lines are read. */
  readonly outBytes?: (bytes: Uint8Array) => Promise<void> | void
  /** Writes without a line end, for redrawing; only when `isLive`. */
  readonly draw: (text: string) => void
  /** The user sees a screen, not a pipe or file. */
  readonly isLive: boolean
  readonly columns: number
  readonly readStdin: () => Promise<string>
  /** The same as bytes; absent where only text is read. */
  readonly readStdinBytes?: () => Promise<Buffer>
  /** Begins a conversation; absent when nobody can answer. */
  readonly converse?: () => Conversation
}

async function readStdinBytes(): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export const processTerminal: Terminal = {
  out: line => void process.stdout.write(`${line}\n`),
  note: line => void process.stderr.write(`${line}\n`),
  outBytes: async bytes => {
    if (!process.stdout.write(bytes)) await once(process.stdout, 'drain')
  },
  draw: text => void process.stderr.write(text),
  isLive: process.stderr.isTTY === true && process.stdout.isTTY === true,
  // A screen that does not know its size says 0.
  columns: process.stderr.columns || 80,
  readStdin: async () => (await readStdinBytes()).toString('utf8'),
  readStdinBytes,
  ...(process.stdin.isTTY && process.stdout.isTTY && { converse: () => converse(process.stdin, process.stdout) }),
}

export const printJson = (terminal: Terminal, value: unknown): void => terminal.out(JSON.stringify(value, null, 2))

/** Columns as wide as their widest cell; the last one is left ragged. */
export function printTable(terminal: Terminal, header: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = header.map((title, i) => Math.max(title.length, ...rows.map(row => printable(row[i] ?? '').length)))
  const line = (cells: readonly string[], style = (text: string) => text) =>
    cells
      .map((cell, i) => {
        const text = printable(cell)
        const padding = i === cells.length - 1 ? '' : ' '.repeat((widths[i] ?? 0) - text.length)
        return style(text) + padding
      })
      .join('  ')
  terminal.out(line(header, pc.dim))
  for (const row of rows) terminal.out(line(row))
}

/** Text from elsewhere must not steer the terminal: control characters are shown, not sent. */
export const printable = (text: string): string =>
  [...text].map(char => (isControl(char) ? `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}` : char)).join('')

const isControl = (char: string): boolean => char < ' ' || (char >= '\u007f' && char <= '\u009f')
