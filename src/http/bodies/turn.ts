import type { TurnTaking } from '../../timing/turns.js'

/** What it takes to read a byte of a body and to look at what it says, in steps. */
const STEPS_PER_BYTE = 1.5
/** Shorter bodies are read at once. */
const SHORT_BODY = 16 * 1024

export async function takeTurn(turns: TurnTaking, tenant: string, bytes: number): Promise<void> {
  if (bytes < SHORT_BODY) return
  await turns.room(tenant)
  turns.spent(tenant, bytes * STEPS_PER_BYTE)
}
