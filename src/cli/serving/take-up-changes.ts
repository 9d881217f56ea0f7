import pc from 'picocolors'
import { watchFolders } from '../../agents/catalog/folder-watch.js'
import type { Config } from '../../config.js'
import type { Log } from '../../engine/ports/log.js'
import { WATCHED_NAMES } from '../../project/fingerprint.js'
import type { Reloaded } from '../../reload.js'
import { systemClock } from '../../system.js'
import { printable, type Terminal } from '../terminal/terminal.js'

/** Who can be told to look at the project again. */
type Reloading = { reload(): Promise<Reloaded> }

/** Has the host look again whenever a file of the project has changed, and says what came of it. */
export async function takeUpChanges({ project }: Config, host: Reloading, { note }: Terminal) {
  if (project === undefined) return undefined
  let again = false
  let reloading: Promise<void> | undefined
  const lookAgain = async () => {
    while (again) {
      again = false
      await watching.refresh()
      for (const line of told(await host.reload())) note(line)
    }
    reloading = undefined
  }
  const changed = () => {
    again = true
    reloading ??= lookAgain().catch(error => {
      reloading = undefined
      note(`${pc.red('error:')} the project could not be looked at: ${printable(String(error))}`)
    })
  }
  const log: Log = { info: () => undefined, warn: (_fields, said) => note(said), error: (_fields, said) => note(said) }
  const watching = watchFolders({ project, names: WATCHED_NAMES, clock: systemClock, log, changed })
  await watching.refresh()
  note(pc.dim(`  changes in ${project} are taken up as they are made`))
  return {
    async stop() {
      watching.close()
      await reloading
    },
  }
}

/** A line for each file, or for each reason why all is as it was. */
function told({ takenUp, left, problems }: Reloaded): string[] {
  if (problems.length > 0)
    return [
      ...problems.map(problem => `${pc.red('error:')} ${printable(problem)}`),
      pc.yellow('nothing is taken up: the host goes on with what it had'),
    ]
  return [
    ...takenUp.map(({ file, became }) => `${pc.green('taken up:')} ${printable(file)} ${became}`),
    ...left.map(({ file, became, why }) => `${pc.yellow('not taken up:')} ${printable(file)} ${became}; ${why}`),
  ]
}
