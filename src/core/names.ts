/**
 * The one pattern of every id and name, without its ends. Each is checked where it enters: the wire, node configurations,
 * project files, what a model says, and rows that are read back. Ids under which something is looked up are printable
 * ASCII, so that no database, file system or JSON library takes one of them for another: what runs is what was asked
 * for, under the gates of that name. Names that people choose may have any letters, and no control characters.
 */

/** No C0, DEL or C1, and none of the two separators that some readers take for the end of a line. */
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029'

const line = (most: number): string => `[^${CONTROL}]{1,${most}}`

/** Given out by the host. */
const GIVEN_ID = '[A-Za-z0-9_-]{1,128}'

/** Of gates, intents and knowledge. */
const STANDARD_ID = '[A-Za-z0-9][A-Za-z0-9._-]{0,127}'

const WORKFLOW_ID = '[a-z][a-z0-9_-]{0,127}'

/** Of another host that this one works with, as its configuration calls it. */
const PEER_NAME = '[a-z][a-z0-9-]{0,31}'

/** Agent ids have a dot, workflow ids have none: where one may be named, both can be. */
const AGENT_ID = '[A-Za-z0-9:_-]*\\.[A-Za-z0-9:._-]{1,255}'

export const NAMES = {
  workflowId: WORKFLOW_ID,
  agentId: AGENT_ID,
  /** Of agents and packs that are installed: tier, organisation and names. */
  packageName: '(core|vendor|community|private|local)\\.[a-z][a-z0-9_-]*(\\.[a-z][a-zA-Z0-9_-]*)+',
  /** Of whoever acts in a node, here or on another host. */
  actorId: '[A-Za-z0-9:._-]{3,256}',
  /** Of a workflow, or of an agent, whose run is then meant. */
  workId: `(${WORKFLOW_ID}|${AGENT_ID})`,
  peerName: PEER_NAME,
  /** Whom work can be handed to: the same, or a workflow of a peer. Nothing else has a slash. */
  workerId: `(${WORKFLOW_ID}|${AGENT_ID}|peer:${PEER_NAME}/${WORKFLOW_ID})`,
  nodeType: '[a-z][a-zA-Z0-9._-]{0,255}',
  runId: GIVEN_ID,
  keyId: GIVEN_ID,
  webhookId: GIVEN_ID,
  artifactId: 'art-(?:0|[1-9][0-9]{0,14})',
  gateId: STANDARD_ID,
  intentId: STANDARD_ID,
  entryId: STANDARD_ID,
  /** R-DWS-32: of dimensions and success criteria, which appear on the wire. */
  criterion: '[a-z0-9][a-z0-9._-]{0,63}',
  probeId: '[a-z0-9][a-z0-9._-]{0,79}',
  tenant: '[A-Za-z0-9][A-Za-z0-9_.-]{0,63}',
  principal: '[A-Za-z0-9][A-Za-z0-9_.-]{0,63}',
  hostName: '[A-Za-z0-9._:-]{1,128}',
  /** R-CAP-6: of a host, as others know it: a domain name, or one with a path. */
  hostId: '[A-Za-z0-9](?:[A-Za-z0-9._:/-]{0,253}[A-Za-z0-9])?',
  /** Of an event of another host: the protocol says no more of it than how long it may be. */
  foreignEventId: '[A-Za-z0-9._:~-]{1,128}',
  toolServer: '[A-Za-z0-9_-]{1,64}',
  /** R-TOOL-2: of a tool within its server or module, as protocols and file systems agree on it. */
  toolName: '[A-Za-z0-9_./-]{1,128}',
  promptId: '[a-z0-9][a-z0-9._-]{0,127}',
  /** R-WS-1: of a file in the workspace, as file systems agree on it. */
  filePath: '(?!.*(?:\\.\\.|//|/\\./|/$))[A-Za-z0-9][A-Za-z0-9._/-]{0,255}',
  /** Of an entry of memory, under its reference. */
  memoryId: line(1500),
  memoryRef: line(256),
  /** Of a file: type and subtype, and one parameter at most; it goes out as a header. */
  contentType:
    '(?=.{3,256}$)[A-Za-z0-9!#$&^_.+-]{1,64}/[A-Za-z0-9!#$&^_.+-]{1,64}( *; *[A-Za-z0-9-]{1,32}=[A-Za-z0-9._-]{1,64})?',
  idempotencyKey: '[\\u0021-\\u007e]{1,255}',
  nodeId: line(128),
  /** Of variables, channels, ports, groups and edges. */
  part: line(256),
  tag: line(256),
  scopeId: line(256),
  /** Of memory, as a request names it; `run:` and `fork:` are of single runs. */
  memoryScope: `(?!(?:run|fork):)${line(256)}`,
  toolId: line(512),
  /** Whoever answers or is to answer, by whatever they are called where they come from. */
  person: line(128),
} as const

export type Named = keyof typeof NAMES

/** The pattern of a text that is this name and nothing else, as JSON Schema takes it. */
export const patternOf = (name: Named): string => `^${NAMES[name]}$`

/** No name is longer; the others' patterns say so themselves. */
export const LONGEST_AGENT_ID = 256

const LONGEST: { readonly [Name in Named]?: number } = {
  agentId: LONGEST_AGENT_ID,
  packageName: LONGEST_AGENT_ID,
  workId: LONGEST_AGENT_ID,
  workerId: LONGEST_AGENT_ID,
}

const patterns = new Map<Named, RegExp>()

export function isNamed(name: Named, text: string): boolean {
  const pattern = patterns.get(name) ?? new RegExp(patternOf(name))
  patterns.set(name, pattern)
  return pattern.test(text) && text.length <= (LONGEST[name] ?? text.length)
}

/** Whom work can be handed to, and nothing else. */
export const WORKER_ID = patternOf('workerId')

/** What a refusal says of a text that names none. */
export const WORKER_ID_RULE =
  'the id of a workflow (a-z, 0-9, _ and -, first a letter) or of an agent (with a dot), or peer:NAME/WORKFLOW'

export const isWorkflowId = (text: string): boolean => isNamed('workflowId', text)

export const isAgentId = (text: string): boolean => isNamed('agentId', text)

/** Of a workflow, or of an agent, whose run is then meant. */
export const isWorkId = (text: string): boolean => isNamed('workId', text)
