import { configDefaults, defineConfig } from 'vitest/config';
import { leftOutOn } from './test/helpers/platforms.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...leftOutOn(process.platform)],
    globalSetup: ['test/helpers/temporary-root.ts', 'test/helpers/build.ts'],
    setupFiles: ['test/helpers/string-width.ts', 'test/helpers/ending.ts'],
    reporters: ['default', './test/helpers/summary-reporter.ts'],
    // Most files wait for one process at a time: four of them keep two cores busy.
    maxWorkers: 4,
    // For what hangs, and not for what is slow beside other work.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
