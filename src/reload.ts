import { type Config, ConfigError } from './config.js'
import { type Change, changesBetween, type Fingerprint, fingerprintOf, isConfigFile } from './project/fingerprint.js'
import { ProjectError } from './project/load-project.js'

/** What came of taking up a project again. */
export type Reloaded = {
  /** Files that are other than what the host went by, and are what it goes by now. */
  readonly takenUp: readonly Change[]
  /** Those that changed and make no difference to this host, each with the reason. */
  readonly left: readonly (Change & { readonly why: string })[]
  /** Why nothing was taken up; empty when everything was. */
  readonly problems: readonly string[]
}

export type Reload = {
  /** Remembers what the project has when it is first taken up. */
  begin(): Promise<void>
  again(): Promise<Reloaded>
}

const NOTHING: Reloaded = { takenUp: [], left: [], problems: [] }

/**
 * Takes up a project again, all of it or nothing: it is first registered with a host that is made for that alone
 * (`checkProject`), and only what that one takes is taken up here. What runs already keeps the definitions, gates and
 * briefs that it has pinned. One at a time.
 */
export function createReload(config: Config, takeUp: () => Promise<void>): Reload {
  const { project } = config
  let current: Fingerprint = new Map()
  let last: Promise<unknown> = Promise.resolve()

  async function reload(folder: string): Promise<Reloaded> {
    const now = await fingerprintOf(folder)
    const changes = changesBetween(current, now)
    if (changes.length === 0) return NOTHING
    const problems = await problemsWith(config, takeUp)
    if (problems.length > 0) return { ...NOTHING, problems }
    current = now
    const left = changes.flatMap(change => {
      const why = whyLeft(change)
      return why === undefined ? [] : [{ ...change, why }]
    })
    return { takenUp: changes.filter(change => whyLeft(change) === undefined), left, problems }
  }

  return {
    async begin() {
      if (project !== undefined) current = await fingerprintOf(project)
    },
    again() {
      const next = () => (project === undefined ? Promise.resolve(NOTHING) : reload(project))
      // Whoever asked for one that failed has been told.
      const reloading = last.then(next, next)
      last = reloading
      return reloading
    },
  }
}

async function problemsWith(config: Config, takeUp: () => Promise<void>): Promise<readonly string[]> {
  // It makes a host, and a host has this: only who reloads needs the two of them.
  const { checkProject } = await import('./check-project.js')
  const { problems } = await checkProject(config)
  if (problems.length > 0) return problems
  try {
    await takeUp()
    return []
  } catch (error) {
    if (error instanceof ConfigError || error instanceof ProjectError) return error.problems
    throw error
  }
}

function whyLeft({ file, became }: Change): string | undefined {
  if (isConfigFile(file)) return 'the configuration is read when a host starts'
  if (became === 'removed' && file.startsWith('workflows')) return 'what it registered can still be started'
  if (became !== 'added' && /^goals[/\\]/.test(file))
    return 'a goal is made once; change it with PATCH /v1/goals/{goalId}, or end it with `assay goals abandon`'
  return undefined
}
