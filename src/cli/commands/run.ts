import type { Command } from 'commander'
import type { AssayClient } from '../../client/assay-client.js'
import { AssayError } from '../../client/assay-error.js'
import type { CreatedRun } from '../../client/wire-shapes.js'
import { closestName } from '../../core/schema/suggest.js'
import { unknownInputs } from '../../core/workflow/unknown-inputs.js'
import type { Cli } from '../cli.js'
import { UsageError } from '../terminal/usage-error.js'
import { connect } from './connect.js'
import { readRunInputs } from './inputs.js'
import { collectOption } from './options.js'
import { addStartOptions, configurableOf, type StartOptions, seeThrough } from './starting.js'

type Options = StartOptions & {
  readonly agent?: string
  readonly input: readonly string[]
  readonly tag: readonly string[]
  readonly scope?: string
  readonly memoryScope?: string
  readonly allowUnknown?: true
}

export function addRun(program: Command, cli: Cli): void {
  const run = program
    .command('run')
    .description('start a run of a workflow, or of an agent')
    .argument('[workflow]', 'workflow id')
    .option('--agent <id>', 'in place of a workflow: the agent that is to do the task')
    .option(
      '-i, --input <name=value|name=@file|@file|->',
      'an input; values are JSON if they read as JSON, else text; name=@file sends a file',
      collectOption,
      [],
    )
    .option('--allow-unknown', 'also inputs that nothing in the workflow takes')
    .option('--tag <tag>', 'label the run', collectOption, [])
    .option('--scope <id>', 'scope the run belongs to')
    .option('--memory-scope <name>', 'where the run remembers; its scope where left out')
  addStartOptions(run).action(async (workflowId: string | undefined, _options, command: Command) => {
    const options = command.optsWithGlobals<Options>()
    const what = whatToRun(workflowId, options.agent)
    const client = await connect(options)
    const created = await start(client, what, options, cli).catch(error => explained(client, what, error))
    await seeThrough(cli, client, created, workflowId ?? String(options.agent), options)
  })
}

type What = { readonly workflowId: string } | { readonly agentId: string }

function whatToRun(workflowId: string | undefined, agentId: string | undefined): What {
  if (workflowId !== undefined && agentId === undefined) return { workflowId }
  if (workflowId === undefined && agentId !== undefined) return { agentId }
  throw new UsageError('name what to run: either a workflow, or an agent with --agent')
}

/** The server names its own interface as the way to register what it does not know; who types has more often mistyped. */
async function explained(client: AssayClient, what: What, error: unknown): Promise<never> {
  if (!(error instanceof AssayError) || error.code !== 'unknown_workflow' || !('workflowId' in what)) throw error
  // A key that may not see them is told what the server said.
  const { workflows } = await client.listWorkflows().catch(() => Promise.reject(error))
  const known = workflows.map(({ workflowId }) => workflowId)
  const close = closestName(what.workflowId, known)
  const hint = close === undefined ? 'assay workflows list shows those there are' : `did you mean ${close}?`
  throw new UsageError(`there is no workflow ${JSON.stringify(what.workflowId)}; ${hint}`)
}

async function start(client: AssayClient, what: What, options: Options, { terminal }: Cli): Promise<CreatedRun> {
  const { inputs, files } = await readRunInputs(options.input, terminal.readStdin)
  if (!options.allowUnknown) await refuseUnknown(client, what, [...Object.keys(inputs), ...Object.keys(files)])
  return client.createRun(
    {
      ...what,
      inputs,
      ...(await configurableOf(options, terminal)),
      ...(options.tag.length > 0 && { tags: [...options.tag] }),
      ...(options.scope !== undefined && { scopeId: options.scope }),
      ...(options.memoryScope !== undefined && { assay: { memoryScope: options.memoryScope } }),
    },
    options.idempotencyKey,
    files,
  )
}

/** Before anything is started: the run would cost the same, and come to something else. */
async function refuseUnknown(client: AssayClient, what: What, names: readonly string[]): Promise<void> {
  if (!('workflowId' in what) || names.length === 0) return
  // A key that may not see the definition, and a workflow that is not there, are for the server to speak of.
  const definition = await client.getWorkflow(what.workflowId).catch(error => {
    if (error instanceof AssayError) return undefined
    throw error
  })
  const { nodes, variables } = (definition ?? {}) as Partial<Parameters<typeof unknownInputs>[0]>
  if (nodes === undefined || variables === undefined) return
  const [unknown] = unknownInputs({ nodes, variables }, names)
  if (unknown === undefined) return
  const known = variables.map(({ name }) => name)
  const close = closestName(unknown, known)
  const there = known.length === 0 ? 'it takes none' : `it takes ${known.join(', ')}`
  const hint = close === undefined ? there : `did you mean ${close}?`
  throw new UsageError(
    `--input ${unknown}: nothing in the workflow ${JSON.stringify(what.workflowId)} takes it; ${hint} (--allow-unknown sends it all the same)`,
  )
}
