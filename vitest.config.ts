import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        test: { name: 'unit', include: ['src/**/*.test.ts', 'test/unit/**/*.test.ts'], testTimeout: 20_000 },
      },
      {
        test: {
          name: 'system',
          include: ['test/**/*.test.ts'],
          exclude: ['test/unit/**'],
          testTimeout: 600_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          pool: 'forks',
        },
      },
      { test: { name: 'bench', include: ['bench/**/*.bench.ts'], testTimeout: 600_000, hookTimeout: 120_000 } },
    ],
  },
})
