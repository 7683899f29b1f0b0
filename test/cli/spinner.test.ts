import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { toCounted, withStatus } from '../../src/cli/messages/status-line.ts';
import type { Context } from '../../src/context.ts';

/** A context with a terminal, and a clock that only the test moves. */
function createWaiting() {
  const stream = new PassThrough();
  let text = '';
  stream.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  let now = 0;
  const pending = new Set<() => void>();
  const context = {
    stderr: { stream, isTerminal: true, columns: 80 },
    clock: {
      monotonic: () => now,
      after(_ms: number, callback: () => void) {
        pending.add(callback);
        return () => pending.delete(callback);
      },
    },
    env: {},
    run: {},
  } as unknown as Context;
  return {
    context,
    waiting: () => pending.size,
    moveTo(ms: number) {
      now = ms;
      const due = [...pending];
      pending.clear();
      for (const callback of due) callback();
    },
    async shows(words: string) {
      while (!text.includes(words)) await new Promise((resolve) => setImmediate(resolve));
    },
    text: () => text,
  };
}

const toText = (seconds: number): string => toCounted(undefined, 0, 'researching', seconds);

describe('waiting for an answer', () => {
  it('says how long, on a terminal, and takes the line away at the end', async () => {
    const waiting = createWaiting();
    let answer = (_text: string): void => {};
    const done = withStatus(waiting.context, { color: false }, toText, () => {
      return new Promise<string>((resolve) => {
        answer = resolve;
      });
    });
    // It is not shown before.
    expect(waiting.text()).toBe('');
    waiting.moveTo(300);
    await waiting.shows('researching');
    waiting.moveTo(42_000);
    await waiting.shows('researching · 42 s');
    waiting.moveTo(905_000);
    await waiting.shows('researching · 15 min 5 s');
    answer('x');
    expect(await done).toBe('x');
    expect(waiting.text().endsWith('\r\u001b[K')).toBe(true);
    expect(waiting.waiting()).toBe(0);
  });

  it('shows nothing for what is over sooner', async () => {
    const waiting = createWaiting();
    await withStatus(waiting.context, { color: false }, toText, async () => {
      expect(waiting.waiting()).toBe(1);
    });
    expect(waiting.waiting()).toBe(0);
    expect(waiting.text()).toBe('');
  });

  it('keeps nothing running after a failure', async () => {
    const waiting = createWaiting();
    const failing = withStatus(waiting.context, { color: false, quiet: true }, toText, () =>
      Promise.reject(new Error('no')),
    );
    await expect(failing).rejects.toThrow('no');
    expect(waiting.waiting()).toBe(0);
    expect(waiting.text()).toBe('');
  });
});

it.each([
  [30, 5, 'task running, 10 ready', 12, '5 of 30 leads · task running, 10 ready · 12 s'],
  [1, 1, 'searching', 0, '1 of 1 leads · searching'],
  [undefined, 1, 'waiting', 65, '1 lead · waiting · 1 min 5 s'],
  // The service sent more than it was asked for.
  [3, 5, 'searching', 3, '5 leads · searching · 3 s'],
] as const)('%j wanted, %d of them while %s for %d s', (limit, count, label, seconds, text) => {
  expect(toCounted(limit, count, label, seconds)).toBe(text);
});
