/** Definitions: by name for new runs, by digest for ever. */
export interface WorkflowStore {
  putWorkflow(record: WorkflowRecord): Promise<void>
  /** The tenant's own workflow of that id, else the shared one. */
  getWorkflow(tenant: string, workflowId: string): Promise<WorkflowRecord | undefined>
  listWorkflows(tenant: string): Promise<WorkflowRecord[]>
  /** A definition by its digest: what a running run was started with. */
  getDefinition(digest: string): Promise<string | undefined>
}

/** `tenant: null` is shared with every tenant (loaded from the project folder). */
export type WorkflowRecord = {
  readonly tenant: string | null
  readonly workflowId: string
  readonly digest: string
  /** The definition, verbatim JSON. */
  readonly definition: string
  readonly updatedAt: number
}
