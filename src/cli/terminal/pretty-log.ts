import pc from 'picocolors'
import type { LogLevel } from '../../config.js'
import type { Clock } from '../../engine/ports/clock.js'
import type { Log } from '../../engine/ports/log.js'
import { printable } from './terminal.js'

const LEVELS: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
const MARKS = { info: pc.dim('info '), warn: pc.yellow('warn '), error: pc.red('error') } as const

/** What the host has to say, for people: one line each, the sentence first. Programs read JSON. */
export function prettyLog(note: (line: string) => void, least: LogLevel, clock: Pick<Clock, 'now'>): Log {
  const at = (level: keyof typeof MARKS) => (fields: object, message: string) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return
    const time = new Date(clock.now()).toTimeString().slice(0, 8)
    const facts = Object.entries(fields).map(([name, value]) => `${name}=${factText(value)}`)
    note(`${pc.dim(time)} ${MARKS[level]} ${printable(message)}${pc.dim(printable([''].concat(facts).join('  ')))}`)
  }
  return { info: at('info'), warn: at('warn'), error: at('error') }
}

const factText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'none'))
