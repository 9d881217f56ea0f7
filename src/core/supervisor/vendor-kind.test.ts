import fs from 'node:fs'
import { expect, it } from 'vitest'
import { rulesFor, Scenario } from '../../testing/given-when-then.js'
import { next, payloads, scripted } from '../../testing/orchestration.js'
import { statusOf } from '../run/state.js'

const GUIDE = fs.readFileSync('docs/guides/orchestrator.md', 'utf8')
/** The mapping document of a vendor kind, by its rows. */
const DOCUMENT = new Map(
  [
    ...(GUIDE.split('### A vendor kind of question')[1]?.split('###')[0] ?? '').matchAll(/^\| (.+?) \| (.+?) \|$/gm),
  ].map(([, name, value]) => [name, value]),
)

it('R-CONF-10: the document of a vendor kind names its canonical kind, the status of the run and who consumes it', () => {
  expect(['`clarification`', '`approval`']).toContain(DOCUMENT.get('corresponds to the canonical kind'))
  expect(DOCUMENT.get('downstream consumers')).toMatch(/\w/)
  const confidence = { floor: 0.5, interruptKind: 'x-host-acme-review' }
  const run = new Scenario(rulesFor(scripted([{ ...next('a'), confidence: 0.3 }]), [], { confidence })).start()
  expect(DOCUMENT.get('resulting status of the run')).toBe(`\`${statusOf(run.state)}\``)
  const [escalated] = payloads(run, 'core.workflowChain.confidence-escalated')
  expect(DOCUMENT.get('`escalationKind` in the log')).toBe(`\`${escalated?.escalationKind}\``)
  const [asked] = payloads(run, 'interrupt.requested')
  expect(DOCUMENT.get('carried by')).toContain(`\`interrupt.kind: ${asked?.kind}\``)
  // What an approval takes for an answer, it takes.
  for (const action of ['accept', 'reject', 'edit-accept']) expect(DOCUMENT.get('answers')).toContain(action)
})
