import { defineConfig } from 'vitest/config'

// What programs print is compared as text; a terminal, or `CI`, would have them colour it.
const env = { NO_COLOR: '1' }

export default defineConfig({
  test: {
    // Once, whichever projects run.
    globalSetup: 'scripts/current-build.mjs',
    projects: [
      {
        test: { name: 'unit', include: ['src/**/*.test.ts', 'test/unit/**/*.test.ts'], env, testTimeout: 20_000 },
      },
      {
        test: {
          name: 'system',
          include: ['test/**/*.test.ts'],
          exclude: ['test/unit/**'],
          env,
          testTimeout: process.env.ASSAY_TEST_THOROUGH === undefined ? 600_000 : 3 * 3_600_000,
          hookTimeout: 300_000,
          // Most of them wait for processes that they have started: two at a time keep two cores busy.
          pool: 'forks',
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      { test: { name: 'record', include: ['test/histories/*.record.ts'], testTimeout: 120_000 } },
      { test: { name: 'bench', include: ['bench/**/*.bench.ts'], testTimeout: 600_000, hookTimeout: 120_000 } },
    ],
  },
})
