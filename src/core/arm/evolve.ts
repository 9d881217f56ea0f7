import type { ArmTick } from './arm.js'
import type { ArmFact } from './events.js'
import type { ArmPhase, ArmState } from './state.js'

export function evolveArm(state: ArmState, fact: ArmFact): ArmState {
  switch (fact.type) {
    case 'assay.arm.armed': {
      const { arm } = fact.secret
      const { after } = fact.payload
      const at: ArmPhase = arm.kind === 'manual' ? { phase: 'spent' } : { phase: 'seeking', after }
      return { ...moved(state, at), arm, anchor: after, holds: null }
    }
    case 'assay.arm.set':
      return moved(state, { phase: 'set', ...fact.payload })
    case 'assay.arm.ticked': {
      const { payload } = fact
      if ('hand' in payload) return { ...state, owed: [...state.owed, { hand: payload.hand }], hands: payload.hand }
      return { ...state, owed: [...state.owed, ...payload.ticks.map(tick => ({ tick }))] }
    }
    case 'assay.arm.skipped': {
      const { from, before } = fact.payload
      const isGone = (one: ArmTick) => 'tick' in one && one.tick >= from && one.tick < before
      return { ...state, owed: state.owed.filter(one => !isGone(one)) }
    }
    case 'assay.arm.paused':
      return moved(state, { phase: 'paused', tick: state.at.phase === 'set' ? state.at.tick : null })
    case 'assay.arm.resumed':
      return moved(state, { phase: 'seeking', after: fact.payload.after })
    case 'assay.arm.spent':
      return moved(state, { phase: 'spent' })
    case 'assay.arm.disarmed':
      return { ...moved(state, { phase: 'disarmed' }), owed: [] }
    case 'heartbeat.evaluated':
      return fact.secret.holds === null ? state : { ...state, holds: fact.secret.holds }
    case 'heartbeat.stateChanged':
      return state
  }
}

/** The stream has started the run of this tick. */
export const armBegan = (state: ArmState, begun: ArmTick): ArmState => ({
  ...state,
  owed: state.owed.filter(one => !isSameTick(one, begun)),
})

const isSameTick = (one: ArmTick, other: ArmTick): boolean =>
  'tick' in one ? 'tick' in other && one.tick === other.tick : 'hand' in other && one.hand === other.hand

const moved = (state: ArmState, at: ArmPhase): ArmState => ({ ...state, at, round: state.round + 1 })
