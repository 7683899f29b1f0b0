import { expect, it } from 'vitest';
import { errorAnswer } from '../helpers/fault-server.ts';
import { machineWith } from '../helpers/machine.ts';
import { writeSettings } from '../helpers/settings.ts';

const busy = errorAnswer('429 Too Many Requests', 'concurrency_limit', 'no', ['Retry-After: 2']);

it.each([
  ['a purchase', 'contact email x'],
  ['a row of a list', 'contact email --input rows.txt'],
  ['a creation', 'task create company x'],
  ['a search', 'search company x'],
  ['a free read', 'balance'],
])('the waits of %s take as long as the budget all together, and not each', async (_, line) => {
  const at = await machineWith((socket) => void socket.write(busy));
  writeSettings(at.env, { 'retry.budget': 5 });
  at.write('rows.txt', 'x\n');
  expect((await at.leadpipe(line, { toWait: (ms) => (ms === 2000 ? 1 : ms) })).code).toBe(75);
  // Two waits of two seconds, and no third one.
  expect(at.requests).toHaveLength(3);
});
