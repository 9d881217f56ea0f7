import type { Clock } from '../engine/ports/clock.js'
import { probeCitation } from './citation.js'
import { probeEquals } from './equals.js'
import { probeNumeric } from './numeric.js'
import type { ProbeFinding, ProbeSubject, PureProbe } from './probe.js'
import { probeRegex } from './regex.js'

/** In whichever thread it is called. */
export function runPure(probe: PureProbe, subject: ProbeSubject, clock: Pick<Clock, 'monotonic'>): ProbeFinding {
  switch (probe.type) {
    case 'regex':
      return probeRegex(probe, subject)
    case 'equals':
      return probeEquals(probe, subject)
    case 'numeric':
      return probeNumeric(probe, subject)
    case 'citation':
      return probeCitation(probe, subject, { clock })
  }
}
