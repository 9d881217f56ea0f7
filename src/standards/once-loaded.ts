import type { Standards } from '../engine/ports/verification.js'

/**
 * Standards of which no run is told before they are all there: a host that takes requests while it still reads its
 * project must not start a run that goes unchecked.
 */
export function onceLoaded(standards: Standards): Standards & { readonly loaded: () => void } {
  let isLoaded = false
  let open: () => void = () => undefined
  const opening = new Promise<void>(resolve => {
    open = resolve
  })
  return {
    async gatesFor(tenant, workflowId, of) {
      await opening
      return standards.gatesFor(tenant, workflowId, of)
    },
    knownFor: (tenant, workflowId) => (isLoaded ? standards.knownFor(tenant, workflowId) : undefined),
    async gate(tenant, gateId) {
      await opening
      return standards.gate(tenant, gateId)
    },
    loaded: () => {
      isLoaded = true
      open()
    },
  }
}
