import type { RunEngine } from '../engine/api.js'
import type { ToolLacking } from '../engine/ports/agents.js'
import type { Log } from '../engine/ports/log.js'
import { fillSteps, type StepContracts } from './fill-steps.js'
import { type CompileWorkflow, loadProject, type ProjectWorkflow } from './load-project.js'
import { loadStandards, type ProjectStandard } from './standards.js'

/** What a project is registered with. */
export type Registrar = {
  readonly engine: Pick<RunEngine, 'putWorkflow' | 'checkWorkflow'>
  /** The project's own agents, and what they may use. */
  readonly agents: readonly { readonly agentId: string; readonly toolAllowlist: readonly string[] }[]
  /** Which of these are no tools, and why. */
  readonly toolsLacking: (toolIds: readonly string[]) => Promise<readonly ToolLacking[]>
  /** What the steps of the project say of themselves, and what is wrong with them. */
  readonly steps: () => Promise<{ readonly contracts: StepContracts; readonly problems: readonly string[] }>
  /** What files of TypeScript in `workflows/` make. */
  readonly compile: CompileWorkflow
  readonly share: (standards: readonly ProjectStandard[]) => Promise<readonly string[]>
  readonly log: Log
}

/** Registers the workflows and standards of a project; everything that keeps the host from starting with it, by file. */
export async function registerProject(dir: string, registrar: Registrar): Promise<string[]> {
  const { engine, share, log } = registrar
  const { workflows, problems } = await withSteps((await loadProject(dir, registrar.compile)).workflows, registrar)
  if (problems.length > 0) return problems
  for (const { file, definition } of workflows) {
    const answer = await engine.putWorkflow(null, definition)
    if (!answer.ok && 'refusal' in answer) problems.push(`${file}: ${answer.refusal.message}`)
    else if (answer.ok)
      for (const warning of answer.value.warnings) log.warn({ file, warning }, 'a workflow may be mistaken')
  }
  // Once all are there: they may name each other.
  if (problems.length === 0) problems.push(...(await unknownNames(workflows, registrar)))
  // After the workflows, which gates must fit.
  if (problems.length === 0) problems.push(...(await share(await loadStandards(dir))))
  return problems
}

async function withSteps(
  given: readonly ProjectWorkflow[],
  { steps }: Registrar,
): Promise<{ readonly workflows: readonly ProjectWorkflow[]; readonly problems: string[] }> {
  const { contracts, problems: unusable } = await steps()
  const problems = [...unusable]
  const workflows = given.map(workflow => {
    const filled = fillSteps(workflow.definition, contracts)
    problems.push(...filled.problems.map(problem => `${workflow.file}: ${problem}`))
    return { ...workflow, definition: filled.definition }
  })
  return { workflows, problems }
}

/** What a project names and nobody has. A tool whose server does not answer is not unknown. */
async function unknownNames(
  workflows: readonly ProjectWorkflow[],
  { engine, agents, toolsLacking }: Registrar,
): Promise<string[]> {
  const problems: string[] = []
  for (const { file, definition } of workflows) {
    const answer = await engine.checkWorkflow(null, definition)
    if (answer.ok) problems.push(...answer.value.unknown.map(problem => `${file}: ${problem}`))
  }
  const lacking = await toolsLacking(agents.flatMap(({ toolAllowlist }) => toolAllowlist))
  for (const { toolId, close } of lacking.filter(({ why }) => why === 'unknown')) {
    const fix = close === undefined ? 'remove it, or see that it is there' : `did you mean ${close}?`
    for (const { agentId } of agents.filter(({ toolAllowlist }) => toolAllowlist.includes(toolId)))
      problems.push(
        `agent ${agentId}: toolAllowlist names ${JSON.stringify(toolId)}, and there is no such tool here; ${fix}`,
      )
  }
  return problems
}
