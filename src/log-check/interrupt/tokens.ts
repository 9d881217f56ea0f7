import { eachRun, type Rule } from '../checked.js'
import { get } from '../json.js'

/** Links that let their holder answer are handed out, never written down. */
export const tokenRules: readonly Rule[] = [
  {
    id: 'L28i',
    title: 'No payload carries a token with which an interrupt can be answered',
    source: 'core §7.5',
    checks: eachRun((run, say) => {
      for (const event of run.events) {
        if (carriesToken(JSON.stringify(event.raw.payload) ?? '')) say(`${event.type} carries a token`, event)
      }
    }),
  },
]

/** `base64url(payload).mac`. Cut at every other character first, so that a long text costs linear time. */
const carriesToken = (text: string): boolean =>
  text.split(/[^A-Za-z0-9_.-]+/).some(word => {
    const parts = word.split('.')
    return parts.some((part, i) => isTokenPayload(part) && (parts[i + 1] ?? '') !== '')
  })

function isTokenPayload(part: string): boolean {
  // Every JSON object begins so in base64.
  if (!part.startsWith('e') || part.length < 20) return false
  try {
    return get(JSON.parse(Buffer.from(part, 'base64url').toString()), 'interruptId') !== undefined
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
}
