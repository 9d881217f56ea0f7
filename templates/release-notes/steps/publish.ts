import { defineStep, StepError } from 'assay/steps'

/**
 * Publishes the notes that were approved: at the address that the run was given, else as a file of the workspace. The request
 * carries an Idempotency-Key that is the same however often it is sent, so that a receiver which knows such keys publishes once.
 */
export default defineStep({
  input: {
    type: 'object',
    properties: { notes: { type: 'string' }, to: { type: 'string' } },
    required: ['notes', 'to'],
  },
  output: { type: 'object', properties: { where: { type: 'string' } }, required: ['where'] },
  repeat: 'keyed',
  // secrets: { token: { env: 'RELEASES_TOKEN' } }, // then `secrets.token` is there for a header
  async run({ input, fetch, workspace }) {
    if (input.to === '') {
      await workspace.write('release-notes.md', input.notes, { contentType: 'text/markdown' })
      return { where: 'release-notes.md in the workspace' }
    }
    const answer = await fetch(input.to, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ notes: input.notes }),
    })
    if (!answer.ok) throw new StepError(`${input.to} answered with ${answer.status}`, answer.status >= 500)
    return { where: input.to }
  },
})
