import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { leftOutOn } from './test/helpers/platforms.ts';

/** Files with few lines whose tests take long. The largest files come first, so these would end alone. */
const long = [
  'nodes',
  'soak/soak',
  'hostile/bombs',
  'chaos/chaos',
  'durability/only-new',
  'cli/flood',
  'fuzz/streams',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const bySize = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      long.some((name) => moduleId.endsWith(`/test/${name}.test.ts`));
    return [...bySize.filter(isLong), ...bySize.filter((one) => !isLong(one))];
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...leftOutOn(process.platform)],
    globalSetup: ['test/helpers/temporary-root.ts', 'test/helpers/build.ts'],
    setupFiles: ['test/helpers/string-width.ts', 'test/helpers/ending.ts'],
    reporters: ['default', './test/helpers/summary-reporter.ts'],
    sequence: { sequencer: LongestFirst },
    // Most files wait for one process at a time: four of them keep two cores busy.
    maxWorkers: 4,
    // For what hangs, and not for what is slow beside other work.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
