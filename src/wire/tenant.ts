import { type Static, Type } from 'typebox'
import { OneOf } from '../core/schema/kinds.js'
import { Timestamp } from './ids.js'

export const EraseTenantBody = Type.Object(
  { tenant: Type.String({ minLength: 1, maxLength: 64, description: 'The name of the tenant once more' }) },
  { additionalProperties: false },
)

export const TenantAnswer = Type.Object({
  tenant: Type.String(),
  state: OneOf(['active', 'erasing', 'erased'], {
    description: '`erasing`: its keys are destroyed, nothing is made for it, and its content is being deleted',
  }),
  askedAt: Type.Optional(Timestamp),
  erasedAt: Type.Optional(Timestamp),
})
export type TenantAnswer = Static<typeof TenantAnswer>
