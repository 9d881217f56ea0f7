import type { Json, JsonObject } from '../../core/json.js'

/**
 * Checks values against schemas that users wrote, away from the main thread and under limits. `tenant` is for whom it is
 * done: where checks have to wait, tenants take turns. Null for what is the host's own.
 */
export interface SchemaChecker {
  /** Undefined when the schema itself is acceptable, else what is wrong with it. */
  inspect(schema: JsonObject, tenant: string | null): Promise<string | undefined>
  /** Undefined when the value conforms, else what is wrong with it. */
  check(schema: JsonObject, value: Json, tenant: string | null): Promise<string | undefined>
  /** The same, with the place and the rule apart. */
  violation(schema: JsonObject, value: Json, tenant: string | null): Promise<Violation | undefined>
  close(): Promise<void>
}

/** `problem` is one sentence; `steps` lead from the root of the value to what breaks `rule`. */
export type Violation = { readonly problem: string; readonly steps: readonly string[]; readonly rule: string }
