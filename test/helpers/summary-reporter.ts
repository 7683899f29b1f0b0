import type { Reporter, TestModule } from 'vitest/node';

/** Closes a run with one plain line: how many tests passed and failed. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0;
    let failed = unhandledErrors.length;
    let skipped = 0;
    for (const module of modules) {
      // A file that could not be loaded has no tests to count.
      if (module.errors().length > 0) failed++;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed++;
        else if (state === 'failed') failed++;
        else skipped++;
      }
    }
    // Printed after the summary of the default reporter, which comes when all reporters have been called.
    process.on('exit', () => console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`));
  }
}
