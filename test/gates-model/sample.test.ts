import fc from 'fast-check'
import { it } from 'vitest'
import { counts, countTold } from './counts.js'
import { brokenLaws } from './laws.js'
import { unforeseen } from './model.js'
import { moves, setup } from './setup.js'
import { Story } from './story.js'
it('sample', { timeout: 300_000 }, () => {
  const seen = counts()
  const problems = new Map<string, { n: number; first: string }>()
  const note = (what: string, more: string) => {
    const key = what.replace(/\d+/g, 'N').slice(0, 160)
    const known = problems.get(key)
    if (known) { known.n += 1; if (more.length < known.first.length) known.first = `${what}\n${more}` }
    else problems.set(key, { n: 1, first: `${what}\n${more}` })
  }
  const show = (log: readonly { sequence: number; type: string; nodeId?: string; payload: unknown }[]) => log.filter(e => !/prompt|reasoned|usage|requested$/.test(e.type) || /interrupt/.test(e.type)).map(e => `${e.sequence} ${e.type} ${e.nodeId ?? ''} ${JSON.stringify(e.payload).slice(0, 200)}`).join('\n')
  for (const [given, happenings, cut] of fc.sample(fc.tuple(setup, moves, fc.nat()), { numRuns: Number(process.env.N ?? 300), seed: Number(process.env.S ?? 1) })) {
    const story = new Story(given, seen)
    const tell = () => `${JSON.stringify(given)}\n${show(story.log as never)}`
    try {
      story.tell(happenings)
      countTold(seen, story.log)
      for (const p of [...brokenLaws(given, story.log), ...unforeseen(given, story.log)]) note(p, tell())
      const fromSeq = cut % story.log.length
      story.checkReplay(fromSeq)
      if (fromSeq > 0) {
        const b = story.branch(fromSeq)
        for (const p of [...brokenLaws(given, b.log), ...unforeseen(given, b.log)]) note(`branch ${fromSeq}: ${p}`, `${JSON.stringify(given)}\n${show(b.log as never)}`)
      }
    } catch (error) {
      note(String(error), tell())
    }
  }
  for (const [key, { n, first }] of problems) console.log(`### ${n} × ${key}\n${first.slice(0, 9000)}`)
  console.log(JSON.stringify(seen))
})
