/** `assay/testing`: hosts and clocks for tests of workflows. See docs/guides/embedding.md. */
export { ManualClock } from './manual-clock.js'
export { startTestHost, type TestHost, type TestHostOptions } from './test-host.js'
