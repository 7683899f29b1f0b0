import { afterAll, afterEach, beforeEach } from 'vitest';

/** Closes the resources of a test at its end, and those of a file at the end of the file. */
interface Open {
  close(): unknown;
}

const opened = { byTests: [] as Open[], byFile: [] as Open[] };
let testsUnderWay = 0;

beforeEach(() => void testsUnderWay++);
afterEach(async () => {
  if (--testsUnderWay === 0) await closeAll(opened.byTests);
});
afterAll(() => closeAll(opened.byFile));

/** As above; also closes by itself, but only once. */
export function closing<T extends Open>(one: T): T {
  const close = one.close.bind(one);
  let closed: unknown;
  Object.assign(one, {
    close: () => {
      closed ??= close() ?? true;
      return closed;
    },
  });
  (testsUnderWay > 0 ? opened.byTests : opened.byFile).push(one);
  return one;
}

/** The last one first. */
async function closeAll(all: Open[]): Promise<void> {
  for (let one = all.pop(); one !== undefined; one = all.pop()) await one.close();
}
