import type { TrustedKeys } from '../audit/signing-key.js'
import { isUnread, judgeStatement, readStatement } from '../audit/statement.js'
import { schemaProblems } from '../core/schema/problems.js'
import {
  CERTIFICATE_KIND,
  certificateContradictions,
  GoalCertificate,
  MAX_CERTIFICATE_BYTES,
} from './goal-certificate.js'
import type { ReceiptFault } from './verify-receipt.js'

export type VerifiedCertificate =
  | { readonly ok: true; readonly certificate: GoalCertificate; readonly keyId: string }
  | { readonly ok: false; readonly why: ReceiptFault | 'other-goal'; readonly message: string }

/**
 * Whether a certificate is one: signed by a key that is trusted, in agreement with itself, and of the goal that is asked for.
 * Knows no server and no clock; takes untrusted text.
 */
export function verifyCertificate(
  text: string,
  keys: TrustedKeys,
  { goalId, tenant }: { readonly goalId?: string; readonly tenant?: string } = {},
): VerifiedCertificate {
  const brought = readStatement(CERTIFICATE_KIND, text, MAX_CERTIFICATE_BYTES)
  if (isUnread(brought)) return refused(brought.why, brought.message)
  const { keyId, statement } = brought
  const fault = judgeStatement(brought, keys)
  if (fault === 'key-unknown') return refused(fault, `it is signed with key ${keyId}, which is not among those given`)
  if (fault !== undefined) return refused(fault, `it does not bear a signature of key ${keyId}`)
  const [problem] = schemaProblems(GoalCertificate, statement.predicate, 'predicate')
  if (problem !== undefined) return refused('malformed', problem)
  const certificate = statement.predicate as GoalCertificate
  const [contradiction] = certificateContradictions(certificate, statement.subject)
  if (contradiction !== undefined) return refused('contradicts-itself', contradiction)
  const { goal } = certificate
  if (goalId !== undefined && goal.goalId !== goalId) return refused('other-goal', `it is of goal ${goal.goalId}`)
  if (tenant !== undefined && goal.tenant !== tenant) return refused('other-tenant', `it is of tenant ${goal.tenant}`)
  return { ok: true, certificate, keyId }
}

const refused = (why: ReceiptFault | 'other-goal', message: string): VerifiedCertificate => ({
  ok: false,
  why,
  message,
})
