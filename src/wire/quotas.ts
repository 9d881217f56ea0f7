import { Type } from 'typebox'

const Count = Type.Integer({ minimum: 0 })

export const QuotasAnswer = Type.Object({
  tenant: Type.String(),
  quotas: Type.Object({
    requestsInFlight: Count,
    streams: Count,
    activeRuns: Count,
    childrenPerRoot: Count,
    childDepth: Count,
    storedBytes: Count,
    effectsAtOnce: Count,
    schedules: Count,
    goals: Count,
    weight: Count,
  }),
  used: Type.Object({
    streams: Type.Integer({ minimum: 0, description: 'On the host that answers' }),
    activeRuns: Count,
    storedBytes: Count,
  }),
})
