import { setImmediate as othersTurn } from 'node:timers/promises'
import type { Probe } from '../core/verification/gate.js'
import type { Inspector } from '../engine/ports/verification.js'
import { SEARCH_PATH } from '../processes/search-path.js'
import { FairQueue } from '../timing/fair-queue.js'
import { createSemaphore } from '../timing/semaphore.js'
import { probeCommand } from './command.js'
import { probeFile } from './file.js'
import { probeHttp } from './http.js'
import { probeJsonSchema } from './json-schema.js'
import { type Means, type ProbeFinding, type ProbeSubject, probeUnavailable } from './probe.js'

export type InspectorDeps = Omit<Means, 'searchPath' | 'commands'> & {
  /** Where commands are looked for; where absent, in the system's own folders and beside this program. */
  readonly searchPath?: string
}

/** Probes of one inspection at a time, and commands of all inspections. */
const AT_A_TIME = 4

/**
 * Runs what needs no judgement before anybody is asked to judge (DWS Spec 8).
 *
 *  I1  Nothing is thrown: a probe that breaks has found nothing out.
 *  I2  What could not be found out is `unavailable`, never `held`: it settles nothing.
 *  I3  Results stand in the order of the criteria and of their probes, whichever is done first.
 */
export function createInspector({ searchPath = SEARCH_PATH, ...deps }: InspectorDeps): Inspector {
  // One place is left to whoever comes next, however long the commands of one tenant take.
  const share = () => ({ weight: 1, atOnce: AT_A_TIME - 1 })
  const means: Means = { ...deps, searchPath, commands: new FairQueue(AT_A_TIME, share) }

  async function attempt(probe: Probe, subject: ProbeSubject, runId: string): Promise<ProbeFinding> {
    // A short search keeps the processor to itself (long ones go to the pool); many in a row would stop everything else.
    await othersTurn()
    if (subject.signal.aborted) return probeUnavailable(probe.probe_id, CALLED_OFF)
    try {
      return await run(probe, subject, means)
    } catch (error) {
      if (subject.signal.aborted) return probeUnavailable(probe.probe_id, CALLED_OFF)
      // Its message may repeat what is looked at; what kind of error it is tells enough.
      const kind = kindOf(error)
      deps.log.warn({ runId, probe: probe.probe_id, type: probe.type, kind }, 'a probe has failed to find out')
      return probeUnavailable(probe.probe_id, kind)
    }
  }

  return {
    inspect({ tenant, runId, bound, dimensions, output, hidden, context = [], files, traceparent, signal }) {
      const trace = traceparent === undefined ? {} : { traceparent }
      const shown: ProbeSubject = { tenant, output, knowledge: bound.knowledge, context, files, ...trace, signal }
      const look = async (probe: Probe): Promise<ProbeFinding> => {
        if (hidden === undefined || LEAVES_HOST.has(probe.type)) return attempt(probe, shown, runId)
        return unquoted(await attempt(probe, { ...shown, output: hidden }, runId))
      }
      const slots = createSemaphore(AT_A_TIME)
      const probes = bound.gate.evaluation_criteria
        .filter(({ dimension }) => dimensions.includes(dimension))
        .flatMap(({ dimension, probes }) => probes.map(probe => ({ dimension, probe })))
      return Promise.all(
        probes.map(async ({ dimension, probe }) => ({
          probeId: probe.probe_id,
          dimension,
          ...(await slots(() => look(probe))),
        })),
      )
    },
  }
}

const CALLED_OFF = 'was called off'

/** What must not be shown is not given to programs, nor to other hosts. */
const LEAVES_HOST: ReadonlySet<Probe['type']> = new Set(['http', 'command', 'file'])

const unquoted = ({ outcome, evidence, ...lasting }: ProbeFinding): ProbeFinding => ({
  outcome,
  ...lasting,
  evidence: evidence.map(item => ({ ...item, detail: 'not shown, because the result holds what must not be seen' })),
})

function run(probe: Probe, subject: ProbeSubject, means: Means): ProbeFinding | Promise<ProbeFinding> {
  switch (probe.type) {
    case 'json-schema':
      return probeJsonSchema(probe, subject, means)
    case 'regex':
    case 'equals':
    case 'numeric':
    case 'citation':
      return means.pure.run(probe, subject)
    case 'file':
      return probeFile(probe, subject, means)
    case 'http':
      return probeHttp(probe, subject, means)
    case 'command':
      return probeCommand(probe, subject, means)
  }
}

function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'probe_error'
  return (error as NodeJS.ErrnoException).code ?? error.name
}
