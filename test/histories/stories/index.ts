import { readdirSync } from 'node:fs'
import path from 'node:path'
import { loadProject } from '../../../src/project/load-project.js'
import { type OpenWorld, projectWorld, start, untilOver, type World } from '../world.js'
import { agents } from './agents.js'
import { flow } from './flow.js'
import { forks } from './forks.js'
import { gates } from './gates.js'
import { interrupts } from './interrupts.js'
import { journals } from './journals.js'
import { prompts } from './prompts.js'
import { stops } from './stops.js'
import { supervisors } from './supervisors.js'

/** How a history comes about: the world it happens in, and what happens. The recorder sees to it that all runs end. */
export type Story = {
  readonly open: OpenWorld
  tell(world: World): Promise<void>
}

const EXAMPLES = path.join(import.meta.dirname, '../../../examples')

/** What whoever tries an example may do. */
const SCOPES = ['workspace:read', 'workspace:write']

/** Every workflow of an example, one after the other. */
const example = (name: string): Story => {
  const project = path.join(EXAMPLES, name)
  return {
    open: projectWorld(project),
    async tell(world) {
      for (const { definition } of (await loadProject(project)).workflows) {
        await start(world, (definition as { readonly id: string }).id, { scopes: SCOPES })
        await untilOver(world)
      }
    },
  }
}

const examples = readdirSync(EXAMPLES, { withFileTypes: true }).filter(entry => entry.isDirectory())

export const STORIES: { readonly [name: string]: Story } = {
  ...Object.fromEntries(examples.map(({ name }) => [`example-${name}`, example(name)])),
  agents,
  flow,
  forks,
  gates,
  interrupts,
  journals,
  prompts,
  stops,
  supervisors,
}
