/**
 * What a snapshot shows and public events alone do not tell, with the reason; `*` stands for one name or position.
 * `viewSnapshot` leaves these out wherever it cannot be sure, and nothing else ever.
 */
export const UNTOLD: { readonly [path: string]: string } = {
  eventLogSchemaVersion: 'a fact about the host, not about the run',
  childRuns: 'how children stand is in their own logs',
  forkedFrom: 'no event says that a run is a replay, nor how long its source was; given with `About`',
  agent: 'which agent a node is meant for is in the definition',
  runOrchestrator: 'before the first decision it is whoever the definition names',
  'runOrchestrator.*': 'all but the id is in the definition',
  'nodeStates.*':
    'without `About.nodeIds`, nodes that nothing was told of; nodes that a loop or rework may have set back, and nodes of a type that is not known to outlast a pause',
  'nodeStates.*.workers': 'before the first hand-off, which workers are meant',
  'loop.phase': 'while the supervisor may have been set back, or a dispatch has handed nothing over yet',
  'loop.decision': 'what a person made of a decision, where it is masked',
  convergence: 'while `loop.decision` is untold',
  'variables.*': 'defaults are in the definition; of channels, see there',
  channels: 'see `channels.*`',
  'channels.*': 'defaults, and how much of a list is kept, are in the definition',
  metrics: 'what children have spent, and calls that an earlier attempt has paid for',
  assay: 'see `assay.spend`',
  'assay.spend': 'as `metrics`',
  'assay.held': 'as `metrics`',
  'assay.gates.*.blocking': 'criteria that were not met by their score alone are in the artifact of the verdict',
  'assay.gates.*.cost': 'as `metrics`',
  'assay.gates.*.attemptCosts': 'as `metrics`',
  'interrupt.expiresAt': 'the time limit of the node is in the definition',
  'interrupt.shownHash': 'SHA-256 of the kind and the data, which the core does not compute',
  'interrupt.interruptToken': 'signed for the reader who asks',
  'interrupt.callbackUrl': 'signed for the reader who asks',
}
