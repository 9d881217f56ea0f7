import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'

const delay = (ms: number) => ({ type: 'core.delay', config: { ms } })

describe('timers that are due at the same instant', () => {
  it('are told in the order in which the workflow names their nodes, whichever began first', () => {
    const workflow = {
      nodes: { late: delay(100), long: delay(200), early: delay(100), also: delay(200) },
      edges: ['early > late'],
    }
    const run = given(workflow).start().after(100)
    const from = run.log.length
    const ends = ['node.completed late', 'node.completed long', 'node.completed also', 'run.completed']
    expect(run.after(100).told(from)).toEqual(ends)
  })

  it('keep that order for a host that looks late, after all that was due before', () => {
    const run = given({ nodes: { last: delay(300), one: delay(200), two: delay(200), first: delay(100) } }).start()
    const from = run.log.length
    const ends = ['first', 'one', 'two', 'last'].map(node => `node.completed ${node}`)
    expect(run.after(9_000).told(from)).toEqual([...ends, 'run.completed'])
  })
})
