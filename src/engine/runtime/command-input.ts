import type { ResolveInterruptCommand, RunCommand } from '../api.js'
import type { Input } from './run-writer.js'

/** What a command puts to its run; an answer to an interrupt is looked up first. */
export function inputOf(command: Exclude<RunCommand, ResolveInterruptCommand>): Input {
  switch (command.type) {
    case 'cancel':
      return { ...command, type: 'CancelRun' }
    case 'pause':
      return { ...command, type: 'PauseRun' }
    case 'resume':
      return { ...command, type: 'ResumeRun' }
    case 'retry':
      return { ...command, type: 'RetryNow' }
  }
}
