import type { ExitCode } from './terminal/exit-code.js'
import type { Terminal } from './terminal/terminal.js'

/** What a command may use: where to print, and how to say with what code the program ends (0 unless said). */
export type Cli = { readonly terminal: Terminal; readonly exit: (code: ExitCode) => void }
