import { FAILURES, PROBLEMS } from '../../core/problem.js'

/** `docs/reference/errors.md`; a test compares the two. */
export function describeErrors(): string {
  const problems = Object.entries(PROBLEMS).map(
    ([code, { status, retryable, title }]) => `| ${status} | \`${code}\` | ${retryable ? 'yes' : 'no'} | ${title} |`,
  )
  const failures = Object.entries(FAILURES).map(([code, title]) => `| \`${code}\` | ${title} |`)
  return `# Errors

This page is generated from \`src/core/problem.ts\`; a test fails when the two differ.

## Refused requests

Every refusal has the same closed body, and nothing else at the top level:

\`\`\`json
{ "error": "validation_error", "message": "body.workflowId is required; add it.", "details": { "field": "body.workflowId" } }
\`\`\`

\`details\` depends on the code: \`field\` and \`limit\` for what was wrong with the request, \`scopeRequired\` for a missing scope,
\`runStatus\` for a run in the wrong state, \`retryAfter\` (seconds) or \`retryAfterMs\` where waiting helps — the header
\`Retry-After\` then says the same — and \`correlationId\` for a fault of the host, to be looked up in its log.

"Again" tells whether the same request, unchanged, may succeed later.

| Status | Code | Again | Meaning |
|---|---|---|---|
${problems.join('\n')}

## Failed runs and nodes

These appear as \`error.code\` in \`run.failed\`, \`node.failed\` and in a run's snapshot, never as an answer to a request. Effects
may bring codes of their own.

| Code | Meaning |
|---|---|
${failures.join('\n')}
`
}
