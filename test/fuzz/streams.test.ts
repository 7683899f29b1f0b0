import { describe, expect, it } from 'vitest';
import { damages } from './damage.ts';
import { faultOf, toReport } from './reading.ts';
import { type BodyEnd, readPlainly } from './reference.ts';
import { makeStream, type Stream } from './streams.ts';

/** `npm run soak` reads many more, from another seed each time. */
const count = Number(process.env.FUZZ_STREAMS ?? 5000);
const seed = Number(process.env.FUZZ_SEED ?? 1);

async function expectNoFault(stream: Stream): Promise<void> {
  const fault = await faultOf(stream);
  if (fault !== undefined) expect.fail(toReport(stream, fault));
}

it(
  `${count} streams from seed ${seed} on are read as the plain reader reads them`,
  async () => {
    for (let n = 0; n < count; n++) {
      await expectNoFault(makeStream(seed + n));
      if (n > 0 && n % 50_000 === 0) console.log(`${n} of ${count} streams`);
    }
  },
  60_000 + 50 * count,
);

describe('the streams', () => {
  const some = Array.from({ length: 2000 }, (_, index) => makeStream(index));

  it('are damaged in every way', () => {
    expect([...new Set(some.flatMap(({ damage }) => damage))].sort()).toEqual([...damages].sort());
  });

  it('are whole and are not, and some can be read to the end as tasks', () => {
    const endings = some.map(({ pieces, task }) => {
      const body = Buffer.concat(pieces);
      const { doubts } = readPlainly(body);
      return doubts.length === 0
        ? 'whole'
        : readPlainly(body, task).doubts.length === 0
          ? 'recovered'
          : 'partial';
    });
    for (const ending of ['whole', 'recovered', 'partial']) {
      expect(endings.filter((one) => one === ending).length).toBeGreaterThan(20);
    }
  });
});

describe('a whole stream', () => {
  const whole = makeWhole();

  it.each(['whole', 'error', 'unproven'] as const)('that breaks off at any byte, its end %s', async (end) => {
    for (let at = 0; at <= whole.length; at++) await expectNoFault(streamOf([whole.subarray(0, at)], end));
  });

  it('that is split at any byte', async () => {
    expect(readPlainly(whole).doubts).toEqual([]);
    for (let at = 0; at <= whole.length; at++) {
      await expectNoFault(streamOf([whole.subarray(0, at), whole.subarray(at)], 'whole'));
    }
  });

  function makeWhole(): Buffer {
    const found = Array.from({ length: 500 }, (_, index) => makeStream(index)).find(
      ({ damage, due, end }) => damage.length === 0 && due.length > 5 && end === 'whole',
    );
    return Buffer.concat(found?.pieces ?? []);
  }

  function streamOf(pieces: readonly Buffer[], end: BodyEnd): Stream {
    return { seed: 0, damage: [], pieces, end, task: undefined, due: [] };
  }
});
