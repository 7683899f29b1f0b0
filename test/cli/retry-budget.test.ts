import { expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
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

it('a service that names a time is to be asked again after it', async () => {
  const until = new Date(Date.now() + 30 * 86_400_000);
  until.setUTCMinutes(58, 30);
  const after = `Retry-After: ${until.toUTCString()}`;
  const at = await machineWith(errorAnswer('429 Too Many Requests', 'concurrency_limit', 'no', [after]));
  const says = `Run it again after ${until.toISOString().slice(0, 16).replace('T', ' ')} UTC.`;
  expect(await at.leadpipe('contact email x')).toMatchObject(ending(75, says));
  at.write('rows.txt', 'x\n');
  expect(await at.leadpipe('contact email --input rows.txt')).toMatchObject(
    ending(75, `To resume after ${says.slice('Run it again after '.length, -1)}, run`),
  );
});
